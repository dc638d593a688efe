"""Replies of an endpoint, and the completions in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import msgspec

from robust_qa import Completion, Continuation, CutError, RefusedError, ReplyError, RqaError, UnavailableError, Usage
from robust_qa.kit import single_line, warn
from rqa_http import FILTERED, json_object
from rqa_prompts import without_thoughts

T = TypeVar("T")

_READ, _EXCERPT = 10_000, 200  # characters of an endpoint's message that are read, and shown
CHECK_URL = "Check `base_url`: the address without a page such as /chat/completions. It often ends in /v1."
# A text has at least so many tokens: vocabularies join no words or signs, and few Chinese or Japanese characters.
_TOKEN = re.compile(r"[\u3040-\u9fff]{1,2}|[^\W\u3040-\u9fff]+|[^\w\s]+")
_SURPLUS = 1.1  # tokens sent per token read that are no error of this count
_SMALLEST_WINDOW = 1000  # tokens
_UNCOUNTED = 8  # tokens of a reply that an endpoint may leave out of its count
# The reasons why a reply ended: complete, at a length limit, or withheld. Any other reason means it broke off.
_COMPLETE = re.compile(r"stop|eos|end|complete|tool|function", re.IGNORECASE)
_AT_LIMIT = re.compile(r"length|max_\w{0,40}tokens", re.IGNORECASE)
_FOR_TOOL = re.compile(r"tool|function", re.IGNORECASE)
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

    @property
    def streamed(self) -> bool:
        return self.headers.get("Content-Type", "").startswith("text/event-stream")


class _Part(msgspec.Struct):
    text: str | None = None


class _Message(msgspec.Struct):
    content: str | list[_Part | str] | None = None
    refusal: str | None = None
    # Only their presence matters.
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


def served_in(reply: Reply, endpoint: Endpoint) -> str:
    """Return the model that the reply names as its author, with the version of the server if it has one, or ""."""
    body = json_object(reply.body) or {}
    names = (body.get("model"), body.get("system_fingerprint"))
    return endpoint.excerpt(" ".join(name for name in names if isinstance(name, str)))


def completion_in(reply: Reply, endpoint: Endpoint, stops: Sequence[str] = ()) -> Completion:
    """Return the completion in `reply`, without reasoning, cut at the first of `stops`.

    Raises the errors of `finish_in`, RefusedError if the model declined or asked for a tool, CutError if it returned
    nothing or only reasoning, and ReplyError if there is no completion.
    """
    body = decoded(_decoder, "chat completion", reply, endpoint)
    if not body.choices:
        raise invalid_reply("no choices", reply, endpoint)
    choice = body.choices[0]
    message = choice.message
    if message.refusal:
        raise RefusedError(
            f"{endpoint} declined to answer: {endpoint.excerpt(message.refusal)}",
            hint="Rephrase the question, or use another model.",
        )
    finish = finish_in(choice.finish_reason, endpoint)
    content = message.content
    if isinstance(content, list):
        content = "".join(part if isinstance(part, str) else part.text or "" for part in content)
    content, is_empty = content or "", not (content or "").strip()
    if _is_present(message.tool_calls) or (is_empty and _FOR_TOOL.match(choice.finish_reason or "")):
        raise RefusedError(
            f"{endpoint} asked for a tool instead of answering: {endpoint.excerpt(bytes(message.tool_calls).decode())}",
            hint="Turn off the tools that the server offers to the model, or use another model.",
        )
    if is_empty and finish == "stop":  # a reply that was cut may be empty: the caller decides what to do
        if _is_present(message.reasoning_content) or _is_present(message.reasoning):
            raise CutError(
                f"{endpoint} returned reasoning but no answer.",
                hint="Raise the reader's `max_tokens`, or turn reasoning off with the endpoint's field in `body`.",
            )
        if message.content is None or not stops:
            raise CutError(
                f"{endpoint} returned an empty reply.",
                hint="The prompt may be longer than the server's context: set `window` to its length in tokens, or use "
                'fewer passages. If the model does not support JSON replies, set `structured = "none"`.',
            )
    return Completion(cut_at_stops(without_thoughts(content), stops), usage_in(body.usage), finish)


def _is_present(field: msgspec.Raw) -> bool:
    return bytes(field) not in {b"", b"null", b'""', b"[]"}


def decoded(decoder: msgspec.json.Decoder[T], kind: str, reply: Reply, endpoint: Endpoint) -> T:
    """Return the decoded body of `reply`. Raises ReplyError if it is not a `kind`, RefusedError if it is no JSON."""
    try:
        return decoder.decode(reply.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as cause:
        raise invalid_reply(f"something that is not a {kind} ({cause})", reply, endpoint) from cause


def too_long(endpoint: Endpoint, limit: str) -> RqaError:
    """Return the error for a reply of more than `limit`. It is not retryable: the same request would bring it again."""
    return RefusedError(
        f"{endpoint} replied with more than {limit}.",
        hint="Lower the reader's `max_tokens`, or check the server, which may not keep to it.",
    )


def invalid_reply(content: str, reply: Reply, endpoint: Endpoint) -> RqaError:
    """Return the error for a reply with `content` in place of a completion. A web page is not asked for again."""
    message = f"{endpoint} returned {content}: {endpoint.excerpt(reply.text) or 'an empty body'}"
    if reply.text.lstrip()[:1] in {"", "{", "["} or reply.streamed:  # broke off, or another format
        return ReplyError(message, hint=CHECK_URL)
    return RefusedError(message, hint=CHECK_URL, general=True)


def cut_at_stops(text: str, stops: Sequence[str]) -> str:
    """Return `text` up to the first of `stops`. Not every endpoint cuts there itself."""
    for stop in stops:
        text = text.partition(stop)[0]
    return text


def warn_of_overflow(reply: Completion | Continuation, texts: Iterable[str], limit: int, endpoint: Endpoint) -> None:
    """Warn if the token counts suggest that the window was too small for a prompt of `texts`.

    Ollama drops the start of a long prompt and stops when the window is full, without an error. `limit` is the
    maximum length of the reply in tokens, 0 if unknown.
    """
    read, written = reply.usage.prompt_tokens, reply.usage.completion_tokens
    if read and sum(len(_TOKEN.findall(text)) for text in texts) > _SURPLUS * max(read, _SMALLEST_WINDOW):
        fix = "set `window` to its context length in tokens, or raise that"
        warn(f"{endpoint}: the server read only {read:,} tokens of the prompt; {fix}.", shown=True)
    elif reply.finish == "length" and 0 < written < limit - _UNCOUNTED:
        warn(f"the reply ended after {written} of {limit} tokens: the endpoint's window may be full", lasting=True)


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
        if body := json_object(reply.body):
            error.usage = usage_in(body.get("usage"))
        raise
