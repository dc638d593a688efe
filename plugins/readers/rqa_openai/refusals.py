"""Error replies of an endpoint, and the rqa error to raise for each."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import msgspec

from robust_qa import ContextError, RefusedError, ReplyError, RqaError, UnavailableError
from robust_qa.kit import retry_after

from .replies import CHECK_URL, FILTERED, READ, Endpoint, Reply

_OVERFLOW = re.compile(
    r"context.(length|window|size|limit)|(maximum model|prompt|input) length|model token limit|too many tokens"
    r"|(prompt|input|request) (\(\d+ tokens\) )?(is )?too (long|large|big)|token count .*exceeds|too large for model"
    r"|must have less than \d+ tokens|max_new_tokens. must be|reduce the length",
    re.IGNORECASE,
)
# One request above the tokens per minute. "Limit 30000, Used 29000, Requested 2000" passes after a wait.
_PER_MINUTE = re.compile(r"Limit (\d{1,15}), Requested (\d{1,15})")
# Some endpoints report a wrong key, or an account without credit, with status 400.
_KEY = re.compile(r"api.?key.{0,9} (?:not|invalid|expired)|(?:invalid|incorrect) (?:\w+ )?api.?key", re.IGNORECASE)
_CREDIT = re.compile(r"credit balance|billing.(?:hard|limit|details)|insufficient.(?:balance|funds)", re.IGNORECASE)
# `max_tokens` is above the model's maximum output, whatever the prompt.
_MAX_OUTPUT = re.compile(
    r"max_(?:completion_)?tokens\W{0,3} must be (?:less|at most)|at most \d+ completion tokens"
    r"|valid range of max_tokens|maximum allowed number of output tokens",
    re.IGNORECASE,
)
_FLAGGED = re.compile(
    r"flagged|moderation|filtered|content.{0,12}(?:filter|polic)"
    r"|\b(?:use|usage|safety) (?:polic|guideline|system|filter|setting|reason)|\bsafety_check",
    re.IGNORECASE,
)
# Fields that hold the error message, and how deep they may be nested.
_MESSAGE_FIELDS = ("message", "msg", "error_msg", "error_message", "description", "detail", "error", "errors")
_MAX_DEPTH = 5


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error reply. `message` is "" if the reply has no known message field: other fields may quote the prompt.

    `codes` are the error's type, code and parameter.
    """

    status: int
    message: str
    codes: frozenset[str] = frozenset()

    def mentions(self, pattern: re.Pattern[str]) -> bool:
        return any(map(pattern.search, (self.message, *self.codes)))

    def names(self, name: str) -> bool:
        """Whether the error is about the request field `name`."""
        # A server error may use "stop" or "temperature" as an ordinary word. There the name has to be quoted.
        unquoted = self.status in {400, 404, 422} or name not in {"seed", "stop", "temperature"}
        pattern = rf"\b{name}\b" if unquoted else rf"['\"`.]{name}\b"
        return name in self.codes or re.search(pattern, self.message) is not None

    @property
    def overflows(self) -> bool:
        """Whether the prompt is too long, so that neither a retry nor another dialect helps."""
        if self.status == 429:
            match = _PER_MINUTE.search(self.message)
            return match is not None and int(match[2]) > int(match[1])
        if self.status in {400, 422, 500}:  # 500: llama-server, llama-cpp-python, Ollama
            return self.mentions(_OVERFLOW) and not self.mentions(_MAX_OUTPUT)
        return self.status == 413

    @property
    def is_invalid_json(self) -> bool:
        """Whether the model wrote invalid JSON. Groq reports this as an error."""
        return "json_validate_failed" in self.codes

    @property
    def effective_status(self) -> int:
        """The status, or 401 or 402 if status 400 is really about the key or the credit."""
        if self.status == 400 and self.mentions(_KEY):
            return 401
        return 402 if self.status == 400 and self.mentions(_CREDIT) else self.status

    @property
    def has_other_cause(self) -> bool:
        """Whether the error names a cause other than the request's optional fields."""
        if self.mentions(_FLAGGED) or self.mentions(_MAX_OUTPUT):
            return True
        return self.overflows or self.is_invalid_json or self.effective_status != self.status


def refusal_in(reply: Reply) -> Refusal | None:
    """Return the error in `reply`, None if it is a completion.

    OpenRouter reports some provider failures with status 200 and an `error`, in the choice if the reply had begun.
    """
    is_ok = reply.status == 200
    if is_ok and b'"error"' not in reply.body:
        return None
    body = _parse(reply.body)
    if is_ok:
        choices = body.get("choices")
        if isinstance(choices, list) and choices:
            body = choices[0] if isinstance(choices[0], dict) else {}
        if not body.get("error"):
            return None
    messages, codes = _messages_and_codes(body)
    code = _error_in(body).get("code")
    # An error with a code, or inside a choice, is the provider's. A bare text may mean a wrong address.
    default = 502 if is_ok and (codes or "finish_reason" in body) else reply.status
    status = code if is_ok and isinstance(code, int) else default
    message = ": ".join(messages) if body else reply.text
    return Refusal(status, message[:READ], frozenset(codes))


def _parse(body: bytes | str) -> dict[str, Any]:
    """Return the JSON object in `body`, or the first of a list (Gemini). Returns {} if there is none."""
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


def _messages_and_codes(body: dict[str, Any]) -> tuple[list[str], set[str]]:
    """Return the messages and codes in `body`, including those that OpenRouter forwards from a provider."""
    error = _error_in(body)
    messages = _messages(error, _MAX_DEPTH)
    codes = {code for name in ("type", "code", "param") if isinstance(code := error.get(name), str)}
    metadata = error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    if isinstance(raw, str):
        inner_messages, inner_codes = _messages_and_codes(_parse(raw))
        return messages + (inner_messages or [raw]), codes | inner_codes
    return messages, codes


def _messages(value: object, depth: int) -> list[str]:
    """Return the texts in the known message fields. Other fields, such as pydantic's `input`, may quote the prompt."""
    if isinstance(value, str) and value:
        return [value]
    if isinstance(value, list) and depth:
        return [text for item in value if isinstance(item, dict) for text in _messages(item, depth - 1)]
    if not isinstance(value, dict) or not depth:
        return []
    texts = next(filter(None, (_messages(value.get(name), depth - 1) for name in _MESSAGE_FIELDS)), [])
    if isinstance(location := value.get("loc"), list):  # FastAPI's validation errors
        return [f"{'.'.join(map(str, location))}: {': '.join(texts)} ({value.get('type', '')})"]
    return texts


def error_for(refusal: Refusal, reply: Reply, endpoint: Endpoint, *, names_field: bool = False) -> RqaError:
    """Return the error to raise. With `names_field` it is not retryable, whatever its status."""
    status, message = refusal.status, endpoint.excerpt(refusal.message or reply.text) or "no message"
    failed = f"{endpoint} returned status {status}: {message}"
    if refusal.is_invalid_json:
        return ReplyError(
            failed,
            hint='If this happens often, set `structured = "json_object"` or `"none"` in the reader\'s table.',
        )
    if refusal.overflows:
        return ContextError(
            f"The prompt exceeds the context window of {endpoint}: {message}",
            hint="Set the reader's `window` to the model's context length in tokens. rqa then drops passages that do "
            "not fit. Or use fewer passages.",
        )
    if not names_field and (status in {200, 408, 409, 429} or (status >= 500 and status != 501)):
        if "insufficient_quota" in refusal.codes:
            return RefusedError(failed, hint=_hint(402, endpoint), general=True)
        wait = retry_after(reply.headers)
        return UnavailableError(failed, hint=_hint(status, endpoint), retry_after=wait, limited=status == 429)
    if 300 <= status < 400:
        target = endpoint.excerpt(reply.headers.get("location", "an unknown address"))
        return RefusedError(
            f"{endpoint} redirects to {target}. rqa does not follow redirects.",
            hint="Set `base_url` to the endpoint's final address.",
        )
    if status in {400, 403} and refusal.mentions(_FLAGGED):
        return RefusedError(failed, hint=FILTERED)
    if refusal.mentions(_MAX_OUTPUT):
        return RefusedError(failed, hint="Lower the reader's `max_tokens`.", general=True)
    effective = refusal.effective_status
    return RefusedError(failed, hint=_hint(effective, endpoint), general=effective in {401, 402, 403, 404})


def _hint(status: int, endpoint: Endpoint) -> str:
    if status in {401, 403}:
        name = endpoint.key or "NAME"
        parts = urlsplit(endpoint.address)
        command = f"`rqa keys set {name} --host {parts.scheme}://{parts.netloc}`"
        if endpoint.key:
            return (
                f"Check that the key {name!r} is correct and may use this model, and that `key_header` is right. "
                f"Replace the key with {command}."
            )
        sent = "rqa sent no key except in `headers`." if endpoint.secrets else "rqa sent no key."
        return f'{sent} Store one with {command} and set `key = "{name}"` in the component\'s table.'
    if status == 402:
        return "The account has no credit left. See its billing page."
    if status == 200:  # LM Studio's error for an unknown address
        return CHECK_URL
    if status == 404:
        return f"Check `model` and `base_url`. Most endpoints list their models at {endpoint.address}/models."
    return ""
