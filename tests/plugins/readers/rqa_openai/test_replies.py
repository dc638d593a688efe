"""Replies: text, usage, finish reason and errors."""

from __future__ import annotations

import gzip
import json

import pytest
from standins.openai import MALFORMED, Fault, completion, serve, streamed

from robust_qa import (
    Completion,
    CutError,
    Decoding,
    Message,
    RefusedError,
    ReplyError,
    UnavailableError,
    Usage,
)
from robust_qa.testing import toolbox

ASKED = [Message("user", "Where is the Louvre?")]


@pytest.fixture
def replied(connect):
    """Return the completion for one scripted reply."""

    async def ask(reply, **decoding):
        with serve(lambda request, n: reply) as server:
            return await connect(server.url).generate(ASKED, Decoding(**decoding))

    return ask


async def test_a_reply_has_text_usage_and_finish(replied):
    assert await replied("Paris.") == Completion("Paris.", Usage(1, 7, 3), "stop")


@pytest.mark.parametrize("finish", ["length", "MAX_TOKENS"])
async def test_a_reply_cut_at_a_bound_says_so(replied, finish):
    assert await replied(completion("Par", finish=finish)) == Completion("Par", Usage(1, 7, 3), "length")


@pytest.mark.parametrize("finish", ["stop", "STOP", "end_turn", "", None])
async def test_a_reply_that_ends_by_itself_is_whole(replied, finish):
    assert (await replied(completion("Paris.", finish=finish))).finish == "stop"


@pytest.mark.parametrize("finish", ["abort"])
async def test_a_reply_that_ends_in_any_other_way_broke_off(replied, finish):
    with pytest.raises(UnavailableError, match=f"broke off its reply: {finish}") as raised:
        await replied(completion("Par", finish=finish))
    assert raised.value.usage == Usage(1, 7, 3)


LONG = completion("Ada Quill. " * 1_000_000)
EVENTS = b"".join(event.encode() for event in streamed("Ada Quill. " * 1000).body[:2]) * 2000
EVENT_STREAM = {"Content-Type": "text/event-stream"}
PACKED = {"Content-Encoding": "gzip"}


@pytest.mark.parametrize(
    ("reply", "limit"),
    [
        (LONG, "4 MiB"),
        (Fault(body=gzip.compress(json.dumps(LONG).encode()), headers=PACKED), "4 MiB"),
        (Fault(body=EVENTS, headers=EVENT_STREAM), "300,000 characters"),
        (Fault(body=gzip.compress(EVENTS), headers=EVENT_STREAM | PACKED), "300,000 characters"),
    ],
    ids=["whole", "packed", "stream", "packed stream"],
)
async def test_a_reply_longer_than_any_answer_is_refused(replied, reply, limit):
    with pytest.raises(RefusedError, match=f"replied with more than {limit}") as raised:
        await replied(reply)
    assert "`max_tokens`" in raised.value.hint and not raised.value.retryable


async def test_of_a_long_error_the_beginning_is_shown(replied):
    with pytest.raises(UnavailableError, match="status 500: No slot"):
        await replied(Fault(500, "No slot. " * 1_000_000))


@pytest.mark.parametrize("usage", [None, {"prompt_tokens": None, "completion_tokens": "3"}])
async def test_missing_usage_counts_one_call(replied, usage):
    assert (await replied({**completion("Paris."), "usage": usage})).usage == Usage(calls=1)


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        ({"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 910}, Usage(1, 100, 810)),
        ({"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 90}, Usage(1, 100, 10)),
        ({"completion_tokens": 10, "total_tokens": 110}, Usage(1, 0, 10)),
    ],
)
async def test_reasoning_tokens_counted_only_in_the_total_count(replied, usage, counted):
    assert (await replied({**completion("Paris."), "usage": usage})).usage == counted


@pytest.mark.parametrize("said", [None, " \n", [{"type": "text", "text": ""}]])
async def test_an_empty_reply_is_not_retried_because_the_prompt_may_be_too_long(replied, said):
    with pytest.raises(CutError, match="returned an empty reply") as raised:
        await replied(completion(said))
    assert not raised.value.retryable
    assert raised.value.usage == Usage(1, 7, 3)
    assert "longer than the server's context: set `window`" in raised.value.hint


SEARCH = {"id": "1", "type": "function", "function": {"name": "search", "arguments": "{}"}}


@pytest.mark.parametrize(
    "reply",
    [
        completion(None, finish="tool_calls", tool_calls=[SEARCH]),
        completion("Let me search.", tool_calls=[SEARCH]),
        completion("", finish="function_call"),
    ],
)
async def test_a_reply_that_asks_for_a_tool_says_so_and_is_not_retried(replied, reply):
    with pytest.raises(RefusedError, match="asked for a tool") as raised:
        await replied(reply)
    assert not raised.value.retryable


async def test_an_answer_may_end_as_a_call_of_a_tool_does(replied):
    assert (await replied(completion("Paris.", finish="tool_calls", tool_calls=[]))).text == "Paris."


async def test_a_reply_that_ends_at_once_at_a_stop_sequence_is_a_reply(replied):
    assert (await replied("", stop=("\n",))).text == ""


PROSE = "The lamp was lit every evening at dusk, and the keeper wrote down the weather in the log. "  # 20 tokens


@pytest.mark.parametrize(
    ("prompt", "finish", "usage", "told"),
    [
        (PROSE * 125, "stop", (2048, 10), "read only 2,048 tokens of the prompt; set `window`"),
        (PROSE * 125, "stop", (2500, 10), None),
        ("这座灯塔的看守人每天晚上点亮灯火。" * 500, "stop", (2048, 10), "read only 2,048 tokens"),
        ("这座灯塔的看守人每天晚上点亮灯火。" * 500, "stop", (5500, 10), None),
        ("word " + "-" * 50_000, "stop", (2048, 10), None),
        (PROSE * 20, "stop", (7, 10), None),
        (PROSE, "length", (4090, 6), "ended after 6 of 1024 tokens"),
        (PROSE, "length", (4090, 1024), None),
    ],
)
async def test_token_counts_that_suggest_a_full_window_cause_a_warning(connect, prompt, finish, usage, told):
    reply = completion("Paris.", finish=finish)
    reply["usage"] = dict(zip(("prompt_tokens", "completion_tokens"), usage, strict=True))
    with serve(lambda request, n: reply) as server:
        tools = toolbox("Where?", reader=connect(server.url))
        await tools.generate([Message("user", prompt)])
    warnings = tools.trace.steps[-1].data.get("remarks", [])
    assert (told in warnings[0]) if told else warnings == []


def test_a_prompt_that_the_server_cut_is_said_on_stderr_also_the_next_time(rqa, tmp_path):
    days = [f"## Day {day}\n\nOn day {day} of the log: {PROSE * 8}" for day in range(30)]
    (tmp_path / "log.md").write_text("\n\n".join(days))
    reply = {**completion("Ada Voss"), "usage": {"prompt_tokens": 2048, "completion_tokens": 3}}
    with serve(lambda request, n: reply) as server:
        reader = ["--reader", "openai", "-O", "reader.openai.model=m", "-O", f"reader.openai.base_url={server.url}"]
        for _ in range(2):
            ended = rqa("ask", "--docs", tmp_path, "-k", "20", "-s", "rag", *reader, "Who lit the lamp?")
            assert "the server read only 2,048 tokens of the prompt; set `window`" in ended.err
    assert server.count == 2  # such a reply is not kept in the cache


async def test_content_in_parts_is_joined(replied):
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
        {"type": "text", "text": "Par"},
        {"type": "text", "text": "is."},
    ]
    assert (await replied(completion(parts))).text == "Paris."


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("<think>\nHm.\n</think>\n\nParis.", "Paris."),
        ("<think>Hm.</think>Paris <think>not</think> London.", "Paris <think>not</think> London."),
        ("<think>Hm.", ""),
    ],
)
async def test_reasoning_is_removed_only_from_the_start(replied, said, text):
    assert (await replied(said)).text == text


@pytest.mark.parametrize("said", ["", "<think>Hm. Let me"])
async def test_a_reply_cut_during_reasoning_is_empty(replied, said):
    reply = completion(said, finish="length", reasoning_content="Hm. Let me")
    assert await replied(reply) == Completion("", Usage(1, 7, 3), "length")


@pytest.mark.parametrize(
    "reply",
    [
        MALFORMED,
        Fault(body=b'{"choices": [{"message": {"content": "\\ud800"}}]}'),
        Fault(body=b"[" * 100_000),
        {},
        {"choices": []},
        {"choices": [{"message": {"content": 7}}]},
    ],
)
async def test_an_invalid_completion_is_a_reply_error(replied, reply):
    with pytest.raises(ReplyError, match="'qwen' at http://127"):
        await replied(reply)


async def test_a_refusal_by_the_model_is_quoted_and_not_retried(replied):
    with pytest.raises(RefusedError, match=r"'qwen' at http://127.*can't help") as raised:
        await replied(completion(None, refusal="I can't help with that."))
    assert not raised.value.retryable
    assert raised.value.hint


@pytest.mark.parametrize(("text", "finish"), [(None, "content_filter: RECITATION"), ("Par", "SAFETY"), ("", "refusal")])
async def test_a_filtered_reply_is_refused(replied, text, finish):
    with pytest.raises(RefusedError, match=r"'qwen' at http://127.*content filter") as raised:
        await replied(completion(text, finish=finish))
    assert not raised.value.retryable
    assert raised.value.hint


async def test_an_error_inside_a_success_is_an_error(replied):
    with pytest.raises(UnavailableError, match="status 502: Provider went away"):
        await replied({"error": {"code": 502, "message": "Provider went away"}})


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        ({"reasoning_content": "It is in France, and so"}, "max_tokens"),
        ({"reasoning": "It is in France."}, "turn reasoning off"),
    ],
)
async def test_a_reply_with_only_reasoning_is_not_retried(replied, message, advice):
    with pytest.raises(CutError, match="returned reasoning but no answer") as raised:
        await replied(completion(None, **message))
    assert not raised.value.retryable
    assert advice in raised.value.hint
