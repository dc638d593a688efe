"""Streamed replies are the replies that would have come at once, piece by piece."""

from __future__ import annotations

import pytest
from standins.openai import Fault, completion, serve, streamed

from robust_qa import Completion, CutError, Decoding, Message, RefusedError, ReplyError, UnavailableError, Usage

ASKED = [Message("user", "Where is the Louvre?")]


@pytest.fixture
def stream(connect):
    """Return the completion and the pieces of one scripted reply, and the requests."""

    async def ask(script):
        pieces: list[str] = []
        with serve(script if callable(script) else lambda request, n: script) as server:
            reply = await connect(server.url).generate_stream(ASKED, Decoding(), pieces.append)
        return reply, pieces, [request.body for request in server.requests]

    return ask


async def test_a_stream_has_pieces_text_usage_and_finish(stream):
    reply, pieces, (request,) = await stream(streamed("Par", "is", "."))
    assert reply == Completion("Paris.", Usage(1, 7, 3), "stop")
    assert pieces == ["Par", "is", "."]
    assert (request["stream"], request["stream_options"]) == (True, {"include_usage": True})


@pytest.mark.parametrize("pause", [0.0, 0.001])
async def test_a_stream_may_arrive_in_any_parts(stream, pause):
    body = "".join(streamed("Zür", "ich ist", " schön").body)
    fault = Fault(body=body.replace("\n", "\r\n"), headers={"Content-Type": "text/event-stream"}, pause=pause)
    reply, pieces, _ = await stream(fault)
    assert reply.text == "".join(pieces) == "Zürich ist schön"


async def test_an_endpoint_that_does_not_stream_replies_as_usual(stream):
    reply, pieces, _ = await stream(completion("Paris."))
    assert (reply.text, pieces) == ("Paris.", [])


@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        (streamed("Par", finish=None, done=False), UnavailableError, "broke off its reply: the stream ended early"),
        (streamed("Par", finish="content_filter"), RefusedError, "content filter"),
        (streamed(), CutError, "empty reply"),
        (
            Fault(
                body='data: {"choices": [{"delta": {"tool_calls": [{"index": 0}]}, "finish_reason": "stop"}]}\n\n',
                headers={"Content-Type": "text/event-stream"},
            ),
            RefusedError,
            "asked for a tool",
        ),
        (Fault(body="data: <html>\n\n", headers={"Content-Type": "text/event-stream"}), ReplyError, "<html>"),
        (
            Fault(body='data: {"error": {"message": "No slot."}}\n\n', headers={"Content-Type": "text/event-stream"}),
            UnavailableError,
            "No slot",
        ),
    ],
)
async def test_a_broken_stream_is_an_error(stream, fault, kind, words):
    with pytest.raises(kind, match=words):
        await stream(fault)
