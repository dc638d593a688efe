"""Why an endpoint gave no completion, as an error of rqa's that says what to do about it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

import msgspec

from robust_qa import ContextError, RefusedError, ReplyError, RqaError, UnavailableError, retry_after

from .replies import READ, Endpoint, Reply

_OVERFLOW = re.compile(
    r"context.(length|window|size)|maximum model length|(prompt|input|request) (is )?too (long|large)"
    r"|token count .*exceeds|too large for model|max_new_tokens. must be|reduce the length",
    re.IGNORECASE,
)
_FLAGGED = re.compile(r"flagged|moderation|polic(y|ies)|safety", re.IGNORECASE)  # what was asked, and not who asks


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
        next(told, reply.text)[:READ],
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
