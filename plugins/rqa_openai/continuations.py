"""What an endpoint wrote after a text: the reply of /completions with the log-probabilities of its tokens.

The wire format is OpenAI's "Create completion" (https://platform.openai.com/docs/api-reference/completions/create);
llama-server tells the log-probabilities as chat completions do.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from robust_qa import Continuation, RefusedError, Token

from .replies import Endpoint, Reply, cut, decoded, finish_in, not_understood, usage_in


class _Alternative(msgspec.Struct):
    token: str
    logprob: float


class _Entry(_Alternative):
    top_logprobs: list[_Alternative] | None = None


class _Logprobs(msgspec.Struct):
    tokens: list[str] | None = None
    token_logprobs: list[float] | None = None
    top_logprobs: list[dict[str, float] | None] | None = None
    content: list[_Entry] | None = None  # in place of the others, from llama-server


class _Choice(msgspec.Struct):
    text: str
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None


class _Body(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: object = None


_decoder = msgspec.json.Decoder(_Body)


def continuation_in(reply: Reply, endpoint: Endpoint, stops: Sequence[str] = ()) -> Continuation:
    """The continuation in `reply`, its text cut at the first of `stops`. Raises what `finish_in` raises."""
    body = decoded(_decoder, "completion", reply, endpoint)
    if not body.choices:
        raise not_understood("no choices", reply, endpoint)
    choice = body.choices[0]
    finish = finish_in(choice.finish_reason, endpoint)
    tokens = _tokens(choice.logprobs) if choice.logprobs else ()
    if choice.text and not tokens:
        raise RefusedError(
            f"{endpoint} does not tell the log-probabilities of what it writes.",
            hint="vLLM and llama-server do.",
        )
    return Continuation(cut(choice.text, stops), tokens, usage_in(body.usage), finish)


def _tokens(told: _Logprobs) -> tuple[Token, ...]:
    if told.content is not None:
        return tuple(Token(entry.token, entry.logprob, _by_text(entry.top_logprobs or ())) for entry in told.content)
    texts, logprobs = told.tokens or [], told.token_logprobs or []
    tops = told.top_logprobs or [None] * len(texts)
    return tuple(Token(text, logprob, top or {}) for text, logprob, top in zip(texts, logprobs, tops, strict=False))


def _by_text(alternatives: Sequence[_Alternative]) -> dict[str, float]:
    """By their texts; of several with one text (halves of a character) the likeliest counts, which is told first."""
    return {one.token: one.logprob for one in reversed(alternatives)}
