"""Continuations, through /completions."""

from __future__ import annotations

import pytest
from standins.openai import continuation, error, serve, unsupported

from robust_qa import Decoding, RefusedError, ReplyError, Token, UnavailableError

GREEDY = Decoding(max_tokens=5)
PARIS = (("[Relevant]", -0.5, {"[Relevant]": -0.5, "[Irrelevant]": -1.5}), (" Paris", -0.25, {" Paris": -0.25}))


async def test_a_request_has_the_unchanged_text_and_keeps_special_tokens(connect):
    with serve(lambda request, n: continuation(*PARIS)) as server:
        await connect(server.url).continue_text(
            "[Retrieval]<paragraph>", Decoding(max_tokens=5, seed=1, stop=("\n",)), 20
        )
    assert server.requests[0].path == "/v1/completions"
    assert server.requests[0].body == {
        "model": "qwen",
        "prompt": "[Retrieval]<paragraph>",
        "temperature": 0.0,
        "max_tokens": 5,
        "seed": 1,
        "stop": ["\n"],
        "logprobs": 20,
        "skip_special_tokens": False,
        "spaces_between_special_tokens": False,
    }


async def test_tokens_have_log_probabilities_and_alternatives(connect):
    with serve(lambda request, n: continuation(*PARIS)) as server:
        found = await connect(server.url).continue_text("a", GREEDY, 2)
    assert (found.text, found.finish) == ("[Relevant] Paris", "stop")
    assert found.tokens == (
        Token("[Relevant]", -0.5, {"[Relevant]": -0.5, "[Irrelevant]": -1.5}),
        Token(" Paris", -0.25, {" Paris": -0.25}),
    )
    assert (found.usage.calls, found.usage.prompt_tokens, found.usage.completion_tokens) == (1, 7, 2)


async def test_the_log_probabilities_of_llama_server_are_read(connect):
    top = [
        {"id": 5, "token": "a", "logprob": -0.5},
        {"id": 6, "token": "b", "logprob": -1},
        {"token": "a", "logprob": -2},
    ]
    reply = continuation()
    reply["choices"][0] |= {
        "text": "a",
        "logprobs": {"content": [{"id": 5, "token": "a", "bytes": [97], "logprob": -0.5, "top_logprobs": top}]},
        "finish_reason": "length",
    }
    with serve(lambda request, n: reply) as server:
        found = await connect(server.url).continue_text("a", GREEDY, 3)
    assert found.tokens == (Token("a", -0.5, {"a": -0.5, "b": -1.0}),)
    assert found.finish == "length"


async def test_rejected_fields_are_left_out_for_the_session(connect):
    def strict(request, n):
        extra = [name for name in ("skip_special_tokens", "spaces_between_special_tokens", "stop") if name in request]
        return unsupported(extra[0]) if extra else continuation(("one, two", -1.0))

    with serve(strict) as server:
        reader = connect(server.url)
        found = [await reader.continue_text("a", Decoding(stop=(",",)), 1) for _ in range(2)]
    assert [one.text for one in found] == ["one", "one"]
    assert len(server.requests) == 4 + 1


async def test_an_endpoint_without_log_probabilities_is_an_error(connect):
    reply = continuation(("Paris", 0.0))
    reply["choices"][0]["logprobs"] = None
    with serve(lambda request, n: reply) as server, pytest.raises(RefusedError, match="log-probabilities") as raised:
        await connect(server.url).continue_text("a", GREEDY, 1)
    assert "vLLM" in raised.value.hint


@pytest.mark.parametrize(
    ("finish", "expected", "said"),
    [("content_filter", RefusedError, "content filter"), ("abort", UnavailableError, "broke off its reply: abort")],
)
async def test_a_withheld_or_broken_reply_is_an_error(connect, finish, expected, said):
    reply = continuation(*PARIS, finish=finish)
    with serve(lambda request, n: reply) as server, pytest.raises(expected, match=said):
        await connect(server.url).continue_text("a", GREEDY, 20)


async def test_an_endpoint_without_completions_says_so(connect):
    with serve(lambda request, n: error(404, "Not Found")) as server, pytest.raises(RefusedError) as raised:
        await connect(server.url).continue_text("a", GREEDY, 1)
    assert "/completions, which not every endpoint has" in raised.value.hint


@pytest.mark.parametrize(
    "choices",
    [[], [{"text": "a", "logprobs": {"tokens": ["a"], "token_logprobs": [None]}}]],
    ids=["none", "no probability"],
)
async def test_an_invalid_completion_is_a_reply_error(connect, choices):
    with serve(lambda request, n: {"object": "text_completion", "choices": choices}) as server:
        reader = connect(server.url)
        with pytest.raises(ReplyError, match=r"not a completion|no choices"):
            await reader.continue_text("a", GREEDY, 1)
