"""Replies of /completions: a continuation of a text, with log-probabilities of its tokens.

The wire format is OpenAI's "Create completion" (https://platform.openai.com/docs/api-reference/completions/create).
llama-server returns log-probabilities in the format of chat completions.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from robust_qa import Continuation, RefusedError, Token

from .replies import Endpoint, Reply, cut_at_stops, decoded, finish_in, invalid_reply, usage_in


class _Alternative(msgspec.Struct):
    token: str
    logprob: float


class _Entry(_Alternative):
    top_logprobs: list[_Alternative] | None = None


class _Logprobs(msgspec.Struct):
    tokens: list[str] | None = None
    token_logprobs: list[float] | None = None
    top_logprobs: list[dict[str, float] | None] | None = None
    content: list[_Entry] | None = None  # llama-server returns this one instead


class _Choice(msgspec.Struct):
    text: str
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None


class _Body(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: object = None


_decoder = msgspec.json.Decoder(_Body)


def continuation_in(reply: Reply, endpoint: Endpoint, stops: Sequence[str] = ()) -> Continuation:
    """Return the continuation in `reply`, cut at the first of `stops`. Raises the errors of `finish_in`."""
    body = decoded(_decoder, "completion", reply, endpoint)
    if not body.choices:
        raise invalid_reply("no choices", reply, endpoint)
    choice = body.choices[0]
    finish = finish_in(choice.finish_reason, endpoint)
    tokens = _tokens(choice.logprobs) if choice.logprobs else ()
    if choice.text and not tokens:
        raise RefusedError(
            f"{endpoint} returned no log-probabilities.",
            hint="Use a server that returns them, such as vLLM or llama-server.",
        )
    return Continuation(cut_at_stops(choice.text, stops), tokens, usage_in(body.usage), finish)


def _tokens(logprobs: _Logprobs) -> tuple[Token, ...]:
    if logprobs.content is not None:
        return tuple(
            Token(entry.token, entry.logprob, _by_text(entry.top_logprobs or ())) for entry in logprobs.content
        )
    texts, values = logprobs.tokens or [], logprobs.token_logprobs or []
    tops = logprobs.top_logprobs or [None] * len(texts)
    return tuple(Token(text, value, top or {}) for text, value, top in zip(texts, values, tops, strict=False))


def _by_text(alternatives: Sequence[_Alternative]) -> dict[str, float]:
    """Return log-probabilities by text. Tokens may share a text; the likeliest comes first and is kept."""
    return {one.token: one.logprob for one in reversed(alternatives)}
