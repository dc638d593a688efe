"""What an endpoint answered: a completion, or an error of rqa's that says what to do about it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import msgspec

from robust_qa import (
    CallError,
    Completion,
    ContextError,
    RefusedError,
    ReplyError,
    RqaError,
    UnavailableError,
    Usage,
    printable,
    retry_after,
    without_thoughts,
)

_READ, _EXCERPT = 10_000, 200  # characters of a provider's own words that are read, and shown
_OVERFLOW = re.compile(
    r"context.(length|window|size)|maximum model length|(prompt|input|request) (is )?too (long|large)"
    r"|token count .*exceeds|too large for model|max_new_tokens. must be|reduce the length",
    re.IGNORECASE,
)
_FLAGGED = re.compile(r"flagged|moderation|polic(y|ies)|safety", re.IGNORECASE)  # what was asked, and not who asks


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a model is asked, in words for errors; `key` is the key's name."""

    model: str
    address: str
    key: str | None
    secret: str = field(repr=False)

    def __str__(self) -> str:
        return f"{self.model!r} at {self.address}"

    def excerpt(self, text: str) -> str:
        """The start of a provider's `text`, on one line, harmless to a terminal and without the key."""
        shown = " ".join(printable(text[:_READ]).split())
        return (shown.replace(self.secret, "***") if self.secret else shown)[:_EXCERPT]


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP response, read whole; `headers` has no regard for case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why there is no completion; `codes` are the provider's type, code and parameter."""

    status: int
    message: str
    codes: frozenset[str] = frozenset()

    def mentions(self, pattern: re.Pattern[str]) -> bool:
        return any(map(pattern.search, (self.message, *self.codes)))

    def names(self, name: str) -> bool:
        """Whether the refusal is about the request's field `name`."""
        return name in self.codes or re.search(rf"\b{name}\b", self.message) is not None

    @property
    def overflows(self) -> bool:
        """Whether the prompt was too long, so that no other wording of the request helps."""
        return self.status == 413 or (self.status in {400, 422} and self.mentions(_OVERFLOW))


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


def refusal_in(reply: Reply) -> Refusal | None:
    """Why `reply` is no completion, None when its status says that it is one.

    OpenRouter reports some failures of the providers behind it with status 200 and an `error`; in the choice, where
    the reply had begun.
    """
    fine = reply.status == 200
    if fine and b'"error"' not in reply.body:
        return None
    try:
        parsed = msgspec.json.decode(reply.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        parsed = None
    if isinstance(parsed, list) and parsed:  # Gemini wraps it
        parsed = parsed[0]
    body = parsed if isinstance(parsed, dict) else {}
    said = body.get("error") or body
    if fine:
        choices = body.get("choices")
        first = choices[0] if isinstance(choices, list) and choices else None
        if isinstance(first, dict) and first.get("finish_reason") == "error":
            said = first.get("error") or "The provider broke off its reply."
        elif choices or not body.get("error"):
            return None
    if not isinstance(said, dict):
        said = {"message": said}
    told = (text for name in ("message", "detail") if isinstance(text := said.get(name), str) and text)
    code = said.get("code")
    status = (code if isinstance(code, int) else 502) if fine else reply.status
    codes = (said.get(name) for name in ("type", "code", "param"))
    return Refusal(
        status,
        next(told, reply.text)[:_READ],
        frozenset(code for code in codes if isinstance(code, str)),
    )


def error_for(refusal: Refusal, reply: Reply, endpoint: Endpoint) -> RqaError:
    """The error to raise for `refusal`."""
    status, said = refusal.status, endpoint.excerpt(refusal.message) or "no reason given"
    failed = f"Asking {endpoint} failed with status {status}: {said}"
    if "json_validate_failed" in refusal.codes:  # Groq's word for a reply of the model that is not JSON
        return ReplyError(failed)
    if refusal.overflows:
        return ContextError(
            f"The prompt overflows the window of {endpoint}: {said}",
            hint="Set the reader's `window` to the model's context length in tokens, so that passages are "
            "dropped to fit, or ask for fewer of them.",
        )
    if status in {408, 409, 429} or status >= 500:
        if "insufficient_quota" in refusal.codes:
            return RefusedError(failed, hint="The account has no credit left: see its billing page.", general=True)
        return UnavailableError(failed, retry_after=retry_after(reply.headers), limited=status == 429)
    if 300 <= status < 400:
        target = endpoint.excerpt(reply.headers.get("location", "nowhere"))
        return RefusedError(
            f"Asking {endpoint} was answered with a redirect to {target}, which is not followed.",
            hint="Set `base_url` to the endpoint's final address.",
        )
    general = status in {401, 402, 403, 404} and not refusal.mentions(_FLAGGED)
    return RefusedError(failed, hint=_advice(status, endpoint), general=general)


def _advice(status: int, endpoint: Endpoint) -> str:
    if status in {401, 403}:
        name = endpoint.key or "NAME"
        store = f"`rqa keys set {name} --host {urlsplit(endpoint.address).hostname}`"
        if endpoint.key:
            return f"Check that the key {name!r} is right and may use this model; {store} stores another."
        return f'No key was sent. Store one with {store} and set `key = "{name}"` in the reader\'s table.'
    if status == 404:
        return f"Check `model` and `base_url`; most endpoints list their models at {endpoint.address}/models."
    return ""


def completion_in(reply: Reply, endpoint: Endpoint, stops: Sequence[str] = ()) -> Completion:
    """The completion in `reply`, without a reasoning model's thoughts, cut at the first of `stops`.

    RefusedError when the model or the provider's filter declined.
    """
    try:
        body = _decoder.decode(reply.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as cause:
        raise not_understood(f"something that is no chat completion ({cause})", reply, endpoint) from cause
    if not body.choices:
        raise not_understood("no choices", reply, endpoint)
    choice = body.choices[0]
    if choice.message.refusal:
        raise RefusedError(f"{endpoint} declined to answer: {endpoint.excerpt(choice.message.refusal)}")
    check_filtered(choice.finish_reason, endpoint)
    content = choice.message.content
    if isinstance(content, list):
        content = "".join(part if isinstance(part, str) else part.text or "" for part in content)
    text = content and without_thoughts(content)
    cut = choice.finish_reason == "length"
    if cut and not text:
        raise CallError(
            f"{endpoint} used up its bound on tokens before it wrote an answer.",
            hint="Raise the reader's `max_tokens`; a model that reasons needs several thousand.",
        )
    if not content:
        _check_spoke(choice.message, endpoint)
    if text is None:
        raise not_understood("no content", reply, endpoint)
    for stop in stops:
        text = text.partition(stop)[0]
    return Completion(text, usage_in(body.usage), "length" if cut else "stop")


def check_filtered(finish_reason: str | None, endpoint: Endpoint) -> None:
    """RefusedError when the provider withheld the reply, or broke it off; Gemini says why after the reason's name."""
    if finish_reason and finish_reason.startswith("content_filter"):
        raise RefusedError(f"{endpoint} withheld its reply: the provider's content filter stopped it.")


def _check_spoke(message: _Message, endpoint: Endpoint) -> None:
    """CallError when the model did something else in place of a reply; it would do so again."""
    if _has(message.tool_calls):
        raise CallError(
            f"{endpoint} called a tool in place of an answer.",
            hint="Ask a model without tools of its own, or have `body` turn them off.",
        )
    if _has(message.reasoning_content) or _has(message.reasoning):
        raise CallError(
            f"{endpoint} thought, and gave no answer.",
            hint="Raise the reader's `max_tokens`, or turn the thinking off by the endpoint's field for it in `body`.",
        )


def _has(field: msgspec.Raw) -> bool:
    return bytes(field) not in {b"", b"null", b'""', b"[]"}


def not_understood(what: str, reply: Reply, endpoint: Endpoint) -> ReplyError:
    """The error to raise for a reply that is `what` in place of a completion."""
    excerpt = endpoint.excerpt(reply.text)
    return ReplyError(
        f"{endpoint} replied with {what}: {excerpt or 'an empty body'}",
        hint="Check `base_url`: the address without its /chat/completions; it often ends in /v1.",
    )


def usage_in(reported: Any) -> Usage:
    """Tokens as reported; what is missing, or no count, is 0."""
    counts = reported if isinstance(reported, dict) else {}
    prompt, written = (counts.get(f"{kind}_tokens") for kind in ("prompt", "completion"))
    return Usage(1, prompt if isinstance(prompt, int) else 0, written if isinstance(written, int) else 0)
