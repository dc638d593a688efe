"""Errors of HTTP clients: which error to raise if a server refuses a call or cannot be reached."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from robust_qa import CallError, CallTimeout, ContextError, RefusedError, RqaError, UnavailableError
from robust_qa.kit import single_line

from .bodies import retry_after

FILTERED = "The provider's content filter rejected this. Rephrase the question, or use other passages or another model."

_READ = 10_000  # characters of a server's message that are searched
_RETRYABLE = {200, 408, 409, 425, 429}  # and from 500 on; 200: a gateway's body may be an error
# A length and its limit, in either order. rqa asks for at least one token, so "got -812" means no room for a reply.
_OVERFLOW = re.compile(
    r"(?<![a-z])(?:context|sequence|prompt|input|model|token)s?[\s_](?:length|window|size|limit|count)"
    r"|\b(?:prompt|inputs?|messages?|request|string|text)\b[^.]{0,40}\btoo (?:long|large|big)|reduce the length"
    r"|\b(?:prompt|input)s? exceed|(?:exceed|too many|longer|larger|greater|less|maximum|limit)\b[^.]{0,40}\btokens\b"
    r"|\btokens\b[^.]{0,40}(?:exceed|longer|larger|greater|>|<=)|tokens\b.{0,80}?(?:(?<![\w.])-(?!1\b)\d|\bgot:? 0\b)",
    re.IGNORECASE,
)
# One request above the tokens per minute. "Limit 30000, Used 29000, Requested 2000" passes after a wait.
_PER_MINUTE = re.compile(r"Limit (\d{1,15}), Requested (\d{1,15})")
# Some servers report a wrong key, or an account without credit, with status 400 or 422.
_KEY = re.compile(
    r"api.?key.{0,9} (?:not|invalid|expired)|(?:invalid|incorrect) (?:\w+ )?api.?key|API_KEY_INVALID"
    r"|SUBSCRIPTION_TOKEN_INVALID",
    re.IGNORECASE,
)
_CREDIT = re.compile(
    r"credit balance|not enough credits|billing.(?:hard|limit|details)|insufficient.(?:balance|funds)", re.IGNORECASE
)
# `max_tokens` is above the model's maximum output, whatever the prompt.
_MAX_OUTPUT = re.compile(
    r"max_(?:completion_)?tokens\W{0,3} must be (?:less|at most|between)|valid range of max_tokens"
    r"|(?:at most|maximum)[^.,]{0,30} (?:completion|output) tokens",
    re.IGNORECASE,
)
_FLAGGED = re.compile(
    r"flagged|moderation|filtered|content.{0,12}(?:filter|polic)"
    r"|\b(?:use|usage|safety) (?:polic|guideline|system|filter|setting|reason)|\bsafety_check",
    re.IGNORECASE,
)
_WANTS_TLS = re.compile(r"HTTP request.{0,20} HTTPS (?:server|port)", re.IGNORECASE)  # Go, nginx
_NO_TLS = ("wrong version number", "record layer failure", "packet length too long")  # OpenSSL's, for plain text
# Fields that hold the error message, and how deep they may be nested.
_MESSAGE_FIELDS = (
    "message", "msg", "error_msg", "error_message", "description", "detail", "info", "error", "errors",
)  # fmt: skip
_MAX_DEPTH = 5


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error reply of a server.

    `message` is "" if the reply has no known message field: other fields may quote the prompt. `codes` are the error's
    type, code and parameter. `headers` must ignore case.
    """

    status: int
    message: str = ""
    codes: frozenset[str] = frozenset()
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, status: int, body: bytes | dict[str, Any], headers: Mapping[str, str]) -> Refusal:
        """Return the refusal in a reply. A `body` that is no JSON object is the message."""
        error = json_object(body) if isinstance(body, bytes) else body
        messages, codes = _messages_and_codes(error)
        plain = body.decode("utf-8", "replace") if isinstance(body, bytes) and not error else ""
        return cls(status, (": ".join(messages) or plain)[:_READ], frozenset(codes), headers)

    def mentions(self, pattern: re.Pattern[str]) -> bool:
        """Return whether the message or a code matches."""
        return any(map(pattern.search, (self.message, *self.codes)))

    @property
    def overflows(self) -> bool:
        """Whether the prompt exceeds the context window."""
        if self.status == 429:
            match = _PER_MINUTE.search(self.message)
            return match is not None and int(match[2]) > int(match[1])
        if self.status in {200, 400, 422, 500}:  # 200: in a stream; 500: llama-server, llama-cpp-python, Ollama
            return self.mentions(_OVERFLOW) and not self.mentions(_MAX_OUTPUT)
        return self.status == 413

    @property
    def cause(self) -> int:
        """The status, or 401 or 402 if the refusal is really about the key or the credit."""
        if self.status in {400, 422} and self.mentions(_KEY):
            return 401
        no_credit = self.status in {400, 422} and self.mentions(_CREDIT)
        plan_used_up = self.status in {432, 433}  # Tavily
        return 402 if no_credit or plan_used_up or "insufficient_quota" in self.codes else self.status

    @property
    def retryable(self) -> bool:
        """Whether the same call may succeed later."""
        return self.cause in _RETRYABLE or (self.cause >= 500 and self.cause != 501)  # 501: never implemented

    @property
    def names_cause(self) -> bool:
        """Whether the message names a cause other than the request's optional fields."""
        return self.overflows or self.cause != self.status or self.mentions(_FLAGGED) or self.mentions(_MAX_OUTPUT)

    def error(
        self,
        failed: str,
        *,
        hint: str = "",
        hints: Mapping[int, str] | None = None,
        window: str = "",
        final: bool = False,
        general: bool = False,
    ) -> RqaError:
        """Return the error to raise, with the message `failed`.

        `hints` are the hints by cause: 401 also for 403, 300 for every redirect; `hint` is for the others. `window` is
        the hint if the prompt exceeds the context window, for servers that have one. `final`: do not retry, whatever
        the status. `general`: every call will fail, as with a wrong key, a wrong address or a redirect.
        """
        cause = 300 if 300 <= self.cause < 400 else self.cause
        hints = hints or {}
        hint = hints.get(cause) or (hints.get(401) if cause == 403 else "") or hint
        if window and self.overflows:
            return ContextError(f"The prompt exceeds the context window. {failed}", hint=window)
        if self.retryable and not final:
            wait = retry_after(self.headers)
            return UnavailableError(failed, hint=hint, retry_after=wait, limited=self.status == 429)
        if cause in {400, 403} and self.mentions(_FLAGGED):
            return RefusedError(failed, hint=FILTERED)
        if self.mentions(_WANTS_TLS):
            return RefusedError(failed, hint="It speaks https: write https:// in its address.", general=True)
        if self.mentions(_MAX_OUTPUT):
            return RefusedError(failed, hint="Lower the reader's `max_tokens`.", general=True)
        if cause == 402:
            hint = "The account has no credit left. See its billing page."
        return RefusedError(failed, hint=hint, general=general or cause in {300, 401, 402, 403, 404})


def json_object(body: bytes | str) -> dict[str, Any]:
    """Return the JSON object in `body`, or the first of a list (Gemini). Returns {} if there is none."""
    import msgspec

    try:
        parsed = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    if isinstance(parsed, list) and parsed:
        parsed = parsed[0]
    return parsed if isinstance(parsed, dict) else {}


def _messages_and_codes(body: dict[str, Any]) -> tuple[list[str], set[str]]:
    """Return the messages and codes in `body`, including those that OpenRouter forwards from a provider."""
    error = body.get("error") or body
    error = error if isinstance(error, dict) else {"message": error}
    messages = _messages(error, _MAX_DEPTH)
    codes = {code for name in ("type", "code", "param") if isinstance(code := error.get(name), str)}
    metadata = error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    if isinstance(raw, str):
        inner_messages, inner_codes = _messages_and_codes(json_object(raw))
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


def connection_error(
    server: str, reason: str, *, reached: bool = False, local: bool = False, hint: str = ""
) -> CallError:
    """Return the error for a connection that failed. `reached`: it was open. `local`: a retry fails too."""
    reason_words = reason.lower().replace("_", " ")
    if "certificate verify failed" in reason_words:
        hint, local = "Set SSL_CERT_FILE to the certificate of the authority that signed the server's.", True
    if any(words in reason_words for words in _NO_TLS):
        hint, local = "It speaks http: write http:// in its address, not https://.", True
    if reached:
        return UnavailableError(f"Lost the connection to {server}: {reason}", hint=hint)
    kind = CallError if local else UnavailableError  # a retry does not start a server on this machine
    hint = hint or "Check that the server is running and that its address is right."
    return kind(f"No connection to {server}: {reason}", hint=hint, general=True)


@contextmanager
def httpx_errors(
    server: str, seconds: float, *, local: bool = False, hint: str = "", shown: Callable[[str], str] | None = None
) -> Iterator[None]:
    """Turn errors of httpx in the block into rqa's.

    `seconds` is the client's timeout, `hint` the help if there is no connection. `shown` removes secrets from messages.
    """
    import httpx

    try:
        yield
    except httpx.TimeoutException as error:
        if isinstance(error, httpx.ConnectTimeout):
            raise CallTimeout(f"No connection to {server} within {seconds:g} s.", hint=hint, general=True) from error
        raise CallTimeout(f"{server} did not answer within {seconds:g} s.") from error
    except httpx.HTTPError as error:
        reason = (shown or single_line)(str(error)) or type(error).__name__
        wrong = (httpx.UnsupportedProtocol, httpx.LocalProtocolError, httpx.ProxyError)  # of the configuration
        reached = not isinstance(error, (httpx.ConnectError, *wrong))
        local = local or isinstance(error, wrong)
        raise connection_error(server, reason, reached=reached, local=local, hint=hint) from error
