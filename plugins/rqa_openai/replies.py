"""What an endpoint answered: a reply, and the completion in it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import msgspec

from robust_qa import CallError, Completion, CutError, Message, RefusedError, ReplyError, UnavailableError, Usage
from robust_qa.kit import flat, without_thoughts

T = TypeVar("T")

READ, _EXCERPT = 10_000, 200  # characters of a provider's own words that are read, and shown
FILTERED = "A filter of the provider's stands before the model: ask in other words, of other passages, or elsewhere."
CHECK_URL = "Check `base_url`: the address without its /chat/completions; it often ends in /v1."
_DENSEST = 6  # characters in a token: no vocabulary packs a long text as tight, in any language
_SMALLEST = 1000  # tokens; every window holds more
_UNCOUNTED = 8  # tokens that an endpoint may leave out when it counts a reply
# How providers say that a reply is whole, was cut at a bound, or was withheld; with any other reason it broke off.
_WHOLE = re.compile(r"stop|eos|end|complete|tool|function", re.IGNORECASE)
_BOUND = re.compile(r"length|max_\w*tokens", re.IGNORECASE)
_WITHHELD = re.compile(r"content_?filter|safety|refusal|recitation|sensitive|prohibited", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a model is asked, in words for errors; `key` is the key's name, `secrets` are not to be shown."""

    model: str
    address: str
    key: str | None
    secrets: Sequence[str] = field(repr=False)

    def __str__(self) -> str:
        return f"{self.model!r} at {self.address}"

    def excerpt(self, text: str) -> str:
        """The start of a provider's `text`, on one line, harmless to a terminal and without `secrets`."""
        shown = flat(text[:READ])
        for secret in self.secrets:
            shown = shown.replace(secret, "***")
        return shown[:_EXCERPT]


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP response, read whole; `headers` has no regard for case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")


class _Part(msgspec.Struct):
    text: str | None = None


class _Message(msgspec.Struct):
    content: str | list[_Part | str] | None = None
    refusal: str | None = None
    # Only whether they are there matters; what is in them is not read.
    reasoning_content: msgspec.Raw = msgspec.Raw()  # DeepSeek, llama-server, older vLLM
    reasoning: msgspec.Raw = msgspec.Raw()  # OpenRouter, Ollama, vLLM
    tool_calls: msgspec.Raw = msgspec.Raw()


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Body(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: Any = None


_decoder = msgspec.json.Decoder(_Body)


def completion_in(reply: Reply, endpoint: Endpoint, stops: Sequence[str] = ()) -> Completion:
    """The completion in `reply`, without a reasoning model's thoughts, cut at the first of `stops`.

    Raises what `finish_in` raises, and RefusedError when the model declined.
    """
    body = decoded(_decoder, "chat completion", reply, endpoint)
    if not body.choices:
        raise not_understood("no choices", reply, endpoint)
    choice = body.choices[0]
    if choice.message.refusal:
        raise RefusedError(
            f"{endpoint} declined to answer: {endpoint.excerpt(choice.message.refusal)}",
            hint="Ask in other words, or another model.",
        )
    finish = finish_in(choice.finish_reason, endpoint)
    content = choice.message.content
    if isinstance(content, list):
        content = "".join(part if isinstance(part, str) else part.text or "" for part in content)
    if finish == "stop":  # what was cut may have come to nothing, which is for who asked to judge
        if not (content or "").strip():
            _check_spoke(choice.message, endpoint)
        if content is None or not (stops or content.strip()):
            raise ReplyError(
                f"{endpoint} replied with no text.",
                hint="The model may give none to this, or to requests for JSON: see `structured` of the reader.",
            )
    text = without_thoughts(content or "")
    return Completion(cut(text, stops), usage_in(body.usage), finish)


def decoded(decoder: msgspec.json.Decoder[T], what: str, reply: Reply, endpoint: Endpoint) -> T:
    """The body of `reply`, which is a `what`. Raises CallError where it is none."""
    try:
        return decoder.decode(reply.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as cause:
        raise not_understood(f"something that is no {what} ({cause})", reply, endpoint) from cause


def cut(text: str, stops: Sequence[str]) -> str:
    """`text` up to the first of `stops`, which not every endpoint heeds."""
    for stop in stops:
        text = text.partition(stop)[0]
    return text


def overrun_in(completion: Completion, messages: Sequence[Message], bound: int) -> str:
    """What the counts of tokens tell of a window that was too small for `messages` and a reply of `bound`, or "".

    Ollama drops the beginning of what its window does not hold, and ends a reply where that is full, in silence.
    A `bound` of 0 is not known.
    """
    read, written = completion.usage.prompt_tokens, completion.usage.completion_tokens
    asked = sum(len(" ".join(message.content.split())) for message in messages)
    if read and asked > _DENSEST * max(read, _SMALLEST):
        return f"the endpoint read {read} tokens of {asked} characters: its window may have lost the beginning"
    if completion.finish == "length" and 0 < written < bound - _UNCOUNTED:
        return f"the reply ended after {written} tokens of {bound}: the endpoint's window may be full"
    return ""


def finish_in(reason: str | None, endpoint: Endpoint) -> Literal["stop", "length"]:
    """How a reply ended that gives this reason: by itself, or at a bound on its tokens.

    RefusedError when the provider withheld it, UnavailableError when it broke off in some other way.
    """
    if not reason or _WHOLE.match(reason):
        return "stop"
    if _BOUND.search(reason):
        return "length"
    if _WITHHELD.match(reason):  # Gemini says why after the reason's name
        raise RefusedError(f"{endpoint} withheld its reply: the provider's content filter stopped it.", hint=FILTERED)
    raise UnavailableError(f"{endpoint} broke off its reply: {endpoint.excerpt(reason)}.")


def _check_spoke(message: _Message, endpoint: Endpoint) -> None:
    """CallError when the model did something else in place of a reply, CutError when it only thought."""
    if _has(message.tool_calls):
        raise CallError(
            f"{endpoint} called a tool in place of an answer.",
            hint="Ask a model without tools of its own, or have `body` turn them off.",
        )
    if _has(message.reasoning_content) or _has(message.reasoning):
        raise CutError(
            f"{endpoint} thought, and gave no answer.",
            hint="Raise the reader's `max_tokens`, or turn the thinking off by the endpoint's field for it in `body`.",
        )


def _has(field: msgspec.Raw) -> bool:
    return bytes(field) not in {b"", b"null", b'""', b"[]"}


def not_understood(what: str, reply: Reply, endpoint: Endpoint) -> CallError:
    """The error to raise for a reply that is `what` in place of a completion."""
    if reply.headers.get("content-type", "").startswith("text/event-stream"):
        return CallError(
            f"{endpoint} replied with a stream, and rqa reads replies whole.",
            hint="Set `body = {stream = false}` in the reader's table.",
        )
    excerpt = endpoint.excerpt(reply.text)
    return ReplyError(
        f"{endpoint} replied with {what}: {excerpt or 'an empty body'}",
        hint=CHECK_URL,
    )


def usage_in(reported: Any) -> Usage:
    """Tokens as reported; what is missing, or no count, is 0."""
    counts = reported if isinstance(reported, dict) else {}
    told = (counts.get(f"{kind}_tokens") for kind in ("prompt", "completion", "total"))
    prompt, written, total = (count if isinstance(count, int) else 0 for count in told)
    # xAI and Gemini count a model's thoughts in the total alone.
    return Usage(1, prompt, max(written, total - prompt) if prompt else written)
