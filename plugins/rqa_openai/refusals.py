"""Why an endpoint gave no completion, as an error of rqa's that says what to do about it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

import msgspec

from robust_qa import ContextError, RefusedError, ReplyError, RqaError, UnavailableError
from robust_qa.kit import retry_after

from .replies import CHECK_URL, FILTERED, READ, Endpoint, Reply

_OVERFLOW = re.compile(
    r"context.(length|window|size|limit)|(maximum model|prompt|input) length|model token limit|too many tokens"
    r"|(prompt|input|request) (is )?too (long|large)|token count .*exceeds|too large for model"
    r"|must have less than \d+ tokens|max_new_tokens. must be|reduce the length",
    re.IGNORECASE,
)
# Tokens; what others used of them this minute would stand in between.
_A_MINUTE = re.compile(r"Limit (\d{1,15}), Requested (\d{1,15})")
# Some refuse a key, or an account without credit, with the status of a bad request.
_KEY = re.compile(r"api.?key.{0,9} (?:not|invalid|expired)|(?:invalid|incorrect) (?:\w+ )?api.?key", re.IGNORECASE)
_CREDIT = re.compile(r"credit balance|billing.(?:hard|limit|details)|insufficient.(?:balance|funds)", re.IGNORECASE)
# The bound on a reply is above what the model may write, whatever the prompt.
_BOUND = re.compile(
    r"max_(?:completion_)?tokens\W{0,3} must be (?:less|at most)|at most \d+ completion tokens"
    r"|valid range of max_tokens|maximum allowed number of output tokens",
    re.IGNORECASE,
)
# Where providers put their reasons, and how deep.
_REASONS = ("message", "msg", "error_msg", "error_message", "description", "detail", "error", "errors")
_DEEPEST = 5
# What was asked, and not who asks.
_FLAGGED = re.compile(
    r"flagged|moderation|filtered|content.{0,12}(?:filter|polic)"
    r"|\b(?:use|usage|safety) (?:polic|guideline|system|filter|setting|reason)|\bsafety_check",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why there is no completion; `codes` are the provider's type, code and parameter.

    `message` is "" where it is not known which of the texts in the `body` is the reason: others may quote what was
    asked.
    """

    status: int
    message: str
    codes: frozenset[str] = frozenset()
    body: str = ""

    def mentions(self, pattern: re.Pattern[str]) -> bool:
        return any(map(pattern.search, (self.message, *self.codes)))

    def names(self, name: str) -> bool:
        """Whether the refusal is about the request's field `name`."""
        # "The GPU's temperature is too high, stop" is a server's fault: there an English word has to be quoted.
        prose = self.status in {400, 404, 422} or name not in {"seed", "stop", "temperature"}
        written = rf"\b{name}\b" if prose else rf"['\"`.]{name}\b"
        return name in self.codes or re.search(written, self.message) is not None

    @property
    def overflows(self) -> bool:
        """Whether the prompt was too long, so that no other wording of the request helps, and no wait."""
        if self.status == 429:
            told = _A_MINUTE.search(self.message)
            return told is not None and int(told[2]) > int(told[1])
        if self.status in {400, 422}:
            # What is quoted may speak of windows too; it then costs the question that quotes it, and no other.
            said = self if self.message else replace(self, message=self.body)
            return said.mentions(_OVERFLOW) and not said.mentions(_BOUND)
        return self.status == 413

    @property
    def broke_form(self) -> bool:
        """Whether the model's reply was not the JSON that it had to be, in Groq's word."""
        return "json_validate_failed" in self.codes

    @property
    def means(self) -> int:
        """The status, or that of the kind of refusal which the words tell."""
        if self.status == 400 and self.mentions(_KEY):
            return 401
        return 402 if self.status == 400 and self.mentions(_CREDIT) else self.status

    @property
    def names_cause(self) -> bool:
        """Whether it says that something else is to blame than the wording of the request."""
        told = any(map(self.mentions, (_FLAGGED, _BOUND)))
        return told or self.overflows or self.broke_form or self.means != self.status


def refusal_in(reply: Reply) -> Refusal | None:
    """Why `reply` is no completion, None when its status says that it is one.

    OpenRouter reports some failures of the providers behind it with status 200 and an `error`; in the choice, where
    the reply had begun.
    """
    fine = reply.status == 200
    if fine and b'"error"' not in reply.body:
        return None
    body = _parsed(reply.body)
    if fine:
        choices = body.get("choices")
        if isinstance(choices, list) and choices:
            body = choices[0] if isinstance(choices[0], dict) else {}
        if not body.get("error"):
            return None
    words, codes = _told(body)
    code = _error_in(body).get("code")
    # What broke off, or tells its kind, came from a provider; a bare text may be of a page that is not there.
    unnamed = 502 if fine and (codes or "finish_reason" in body) else reply.status
    status = code if fine and isinstance(code, int) else unnamed
    said = ": ".join(words) if body else reply.text
    return Refusal(status, said[:READ], frozenset(codes), reply.text[:READ])


def _parsed(body: bytes | str) -> dict[str, Any]:
    """The object in `body`, or the first of a list, as Gemini wraps it; empty where there is none."""
    try:
        parsed = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    if isinstance(parsed, list) and parsed:
        parsed = parsed[0]
    return parsed if isinstance(parsed, dict) else {}


def _error_in(body: dict[str, Any]) -> dict[str, Any]:
    error = body.get("error") or body
    return error if isinstance(error, dict) else {"message": error}


def _told(body: dict[str, Any]) -> tuple[list[str], set[str]]:
    """What `body` says in words and in codes, with what OpenRouter hands on from the provider behind it."""
    error = _error_in(body)
    words = _words(error, _DEEPEST)
    codes = {code for name in ("type", "code", "param") if isinstance(code := error.get(name), str)}
    metadata = error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    if isinstance(raw, str):
        further, more = _told(_parsed(raw))
        return words + (further or [raw]), codes | more
    return words, codes


def _words(told: object, depth: int) -> list[str]:
    """The reasons that stand in `told` by a name for them: others, as pydantic's `input`, may quote the request."""
    if isinstance(told, str) and told:
        return [told]
    if isinstance(told, list) and depth:
        return [words for each in told if isinstance(each, dict) for words in _words(each, depth - 1)]
    if not isinstance(told, dict) or not depth:
        return []
    words = next(filter(None, (_words(told.get(name), depth - 1) for name in _REASONS)), [])
    if isinstance(place := told.get("loc"), list):  # what pydantic finds wrong with a request, as FastAPI tells it
        return [f"{'.'.join(map(str, place))}: {': '.join(words)} ({told.get('type', '')})"]
    return words


def error_for(refusal: Refusal, reply: Reply, endpoint: Endpoint, *, names_field: bool = False) -> RqaError:
    """The error to raise for `refusal`. One that names a field of the request is final, whatever its status."""
    status, said = refusal.status, endpoint.excerpt(refusal.message or reply.text) or "no reason given"
    failed = f"Asking {endpoint} failed with status {status}: {said}"
    if refusal.broke_form:
        return ReplyError(
            failed, hint='If that goes on, set `structured = "json_object"` or `"none"` in the reader\'s table.'
        )
    if refusal.overflows:
        return ContextError(
            f"The prompt overflows the window of {endpoint}: {said}",
            hint="Set the reader's `window` to the model's context length in tokens, or to a lower limit that is told "
            "here, so that passages are dropped to fit, or ask for fewer of them.",
        )
    if not names_field and (status in {200, 408, 409, 429} or status >= 500):
        if "insufficient_quota" in refusal.codes:
            return RefusedError(failed, hint=_advice(402, endpoint), general=True)
        wait = retry_after(reply.headers)
        return UnavailableError(failed, hint=_advice(status, endpoint), retry_after=wait, limited=status == 429)
    if 300 <= status < 400:
        target = endpoint.excerpt(reply.headers.get("location", "nowhere"))
        return RefusedError(
            f"Asking {endpoint} was answered with a redirect to {target}, which is not followed.",
            hint="Set `base_url` to the endpoint's final address.",
        )
    if status in {400, 403} and refusal.mentions(_FLAGGED):
        return RefusedError(failed, hint=FILTERED)
    if refusal.mentions(_BOUND):
        return RefusedError(failed, hint="Lower `max_tokens` of the reader.", general=True)
    meant = refusal.means
    return RefusedError(failed, hint=_advice(meant, endpoint), general=meant in {401, 402, 403, 404})


def _advice(status: int, endpoint: Endpoint) -> str:
    if status in {401, 403}:
        name = endpoint.key or "NAME"
        parts = urlsplit(endpoint.address)
        store = f"`rqa keys set {name} --host {parts.scheme}://{parts.netloc}`"
        if endpoint.key:
            return (
                f"Check that the key {name!r} is right, may use this model and goes where the endpoint looks for it "
                f"(`key_header`); {store} stores another."
            )
        sent = "No key was sent but what `headers` hold." if endpoint.secrets else "No key was sent."
        return f'{sent} Store one with {store} and set `key = "{name}"` in the reader\'s table.'
    if status == 402:
        return "The account has no credit left: see its billing page."
    if status == 200:  # and an error in place of a completion, as LM Studio has for pages that it does not know
        return CHECK_URL
    if status == 404:
        return f"Check `model` and `base_url`; most endpoints list their models at {endpoint.address}/models."
    return ""
