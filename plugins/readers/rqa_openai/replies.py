"""Replies of an endpoint, and the completions in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import msgspec

from robust_qa import Completion, CutError, Message, RefusedError, ReplyError, RqaError, UnavailableError, Usage
from robust_qa.kit import FILTERED, single_line, without_thoughts

T = TypeVar("T")

_READ, _EXCERPT = 10_000, 200  # characters of an endpoint's message that are read, and shown
CHECK_URL = "Check `base_url`: the address without a page such as /chat/completions. It often ends in /v1."
_CHARACTERS_PER_TOKEN = 6  # an upper bound: long texts have fewer in every vocabulary
_SMALLEST_WINDOW = 1000  # tokens
_UNCOUNTED = 8  # tokens of a reply that an endpoint may leave out of its count
# The reasons why a reply ended: complete, at a length limit, or withheld. Any other reason means it broke off.
_COMPLETE = re.compile(r"stop|eos|end|complete|tool|function", re.IGNORECASE)
_AT_LIMIT = re.compile(r"length|max_\w*tokens", re.IGNORECASE)
_WITHHELD = re.compile(r"content_?filter|safety|refusal|recitation|sensitive|prohibited", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A model at an address, as errors name it. `key` is the key's name; `secrets` are never shown."""

    model: str
    address: str
    key: str | None
    secrets: Sequence[str] = field(repr=False)

    def __str__(self) -> str:
        return f"{self.model!r} at {self.address}"

    def excerpt(self, text: str) -> str:
        """Return the start of `text` on one line, without `secrets` and safe for a terminal."""
        shown = single_line(text[:_READ])
        for secret in self.secrets:
            shown = shown.replace(secret, "***")
        return shown[:_EXCERPT]


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP response with its whole body. `headers` ignores case."""

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
    # Only their presence matters.
    reasoning_content: msgspec.Raw = msgspec.Raw()  # DeepSeek, llama-server, older vLLM
    reasoning: msgspec.Raw = msgspec.Raw()  # OpenRouter, Ollama, vLLM


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Body(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: Any = None


class _UsageOnly(msgspec.Struct):
    usage: object = None


_decoder = msgspec.json.Decoder(_Body)


def completion_in(reply: Reply, endpoint: Endpoint, stops: Sequence[str] = ()) -> Completion:
    """Return the completion in `reply`, without reasoning, cut at the first of `stops`.

    Raises the errors of `finish_in`, RefusedError if the model declined, CutError if it returned only reasoning,
    and ReplyError if there is no text or no completion.
    """
    body = decoded(_decoder, "chat completion", reply, endpoint)
    if not body.choices:
        raise invalid_reply("no choices", reply, endpoint)
    choice = body.choices[0]
    if choice.message.refusal:
        raise RefusedError(
            f"{endpoint} declined to answer: {endpoint.excerpt(choice.message.refusal)}",
            hint="Rephrase the question, or use another model.",
        )
    finish = finish_in(choice.finish_reason, endpoint)
    content = choice.message.content
    if isinstance(content, list):
        content = "".join(part if isinstance(part, str) else part.text or "" for part in content)
    if finish == "stop":  # a reply that was cut may be empty: the caller decides what to do
        if not (content or "").strip() and any(
            map(_is_present, (choice.message.reasoning_content, choice.message.reasoning))
        ):
            raise CutError(
                f"{endpoint} returned reasoning but no answer.",
                hint="Raise the reader's `max_tokens`, or turn reasoning off with the endpoint's field in `body`.",
            )
        if content is None or not (stops or content.strip()):
            raise ReplyError(
                f"{endpoint} returned an empty reply.",
                hint='If the model does not support JSON replies, set `structured = "none"` in the reader\'s table.',
            )
    text = without_thoughts(content or "")
    return Completion(cut_at_stops(text, stops), usage_in(body.usage), finish)


def _is_present(field: msgspec.Raw) -> bool:
    return bytes(field) not in {b"", b"null", b'""', b"[]"}


def decoded(decoder: msgspec.json.Decoder[T], kind: str, reply: Reply, endpoint: Endpoint) -> T:
    """Return the decoded body of `reply`. Raises ReplyError if it is not a `kind`."""
    try:
        return decoder.decode(reply.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as cause:
        raise invalid_reply(f"something that is not a {kind} ({cause})", reply, endpoint) from cause


def invalid_reply(content: str, reply: Reply, endpoint: Endpoint) -> ReplyError:
    """Return the error for a reply with `content` in place of a completion."""
    return ReplyError(
        f"{endpoint} returned {content}: {endpoint.excerpt(reply.text) or 'an empty body'}",
        hint=CHECK_URL,
    )


def cut_at_stops(text: str, stops: Sequence[str]) -> str:
    """Return `text` up to the first of `stops`. Not every endpoint cuts there itself."""
    for stop in stops:
        text = text.partition(stop)[0]
    return text


def overflow_warning(completion: Completion, messages: Sequence[Message], limit: int) -> str:
    """Return a warning if the token counts suggest that the window was too small, "" otherwise.

    Ollama drops the start of a long prompt and stops when the window is full, without an error. `limit` is the
    maximum length of the reply in tokens, 0 if unknown.
    """
    read, written = completion.usage.prompt_tokens, completion.usage.completion_tokens
    most = _CHARACTERS_PER_TOKEN * max(read, _SMALLEST_WINDOW)
    sent = sum(len(message.content) for message in messages)
    if sent > most:  # repeated spaces cost few tokens
        sent = sum(len(" ".join(message.content.split())) for message in messages)
    if read and sent > most:
        return f"the endpoint read only {read} tokens of {sent} characters: the prompt may exceed its window"
    if completion.finish == "length" and 0 < written < limit - _UNCOUNTED:
        return f"the reply ended after {written} of {limit} tokens: the endpoint's window may be full"
    return ""


def finish_in(reason: str | None, endpoint: Endpoint) -> Literal["stop", "length"]:
    """Return how a reply with this finish reason ended: complete, or at a length limit.

    Raises RefusedError if the provider withheld it, UnavailableError if it broke off.
    """
    if not reason or _COMPLETE.match(reason):
        return "stop"
    if _AT_LIMIT.search(reason):
        return "length"
    if _WITHHELD.match(reason):
        raise RefusedError(f"{endpoint} withheld its reply because of a content filter.", hint=FILTERED)
    raise UnavailableError(f"{endpoint} broke off its reply: {endpoint.excerpt(reason)}.")


def usage_in(reported: Any) -> Usage:
    """Return the reported token counts. Counts that are missing or not numbers are 0."""
    counts = reported if isinstance(reported, dict) else {}
    values = (counts.get(f"{kind}_tokens") for kind in ("prompt", "completion", "total"))
    prompt, written, total = (count if isinstance(count, int) else 0 for count in values)
    # xAI and Gemini count reasoning tokens only in the total.
    return Usage(1, prompt, max(written, total - prompt) if prompt else written)


@contextmanager
def attach_usage(reply: Reply) -> Iterator[None]:
    """Set the usage in `reply` on errors raised inside: the provider bills such replies too."""
    try:
        yield
    except RqaError as error:
        try:
            error.usage = usage_in(msgspec.json.decode(reply.body, type=_UsageOnly).usage)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            error.usage = Usage()
        raise
