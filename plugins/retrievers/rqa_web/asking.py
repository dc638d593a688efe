"""Calls to a search provider, and the errors for its refusals."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

import httpx
import msgspec

from robust_qa import CallError, CallTimeout, Key, RefusedError, ReplyError, UnavailableError
from robust_qa.kit import is_loopback, read_body, retry_after, single_line

from .fetching import client
from .providers import APIS, Query, Request, Result, UnsearchedError

_SECONDS = 15.0  # timeout for connecting, and for each part of a reply
_LONGEST_REPLY = 8 << 20  # bytes
# Errors about the key that have another status than 401: brave (422), google-cse and serper (400).
_KEY_ERROR = re.compile(rb"SUBSCRIPTION_TOKEN_INVALID|API_KEY_INVALID|API key not valid|Not enough credits")
_EXCERPT = 200  # characters of a provider's message in errors


class Provider:
    """A search provider. Each call is one attempt; redirects are not followed."""

    def __init__(self, name: str, base_url: str | None, key: Key | None, engine: str | None, user_agent: str) -> None:
        """Raises MissingError if the key is not stored, ConfigError if it is bound to another host."""
        self._name = name
        self._api = APIS[name]
        self._base = (base_url or self._api.base_url).rstrip("/")
        self._key = key
        self._engine = engine or ""
        self._reveal()  # raises now, not at the first question
        self._local = is_loopback(urlsplit(self._base).hostname or "")
        self._client = client(
            headers={"User-Agent": user_agent, "Accept": "application/json", "Accept-Encoding": "gzip"},
            timeout=_SECONDS,
            mounts={"http://": None, "https://": None} if self._local else None,  # ignores the environment's proxies
        )

    async def search(self, words: str, results: int) -> list[Result]:
        """Return the provider's results.

        Raises UnavailableError or CallTimeout if a retry may help, RefusedError if it will not, CallError if no server
        runs on this machine, ReplyError if the reply has an unknown format.
        """
        secret = self._reveal()
        request = self._api.request(Query(words, results, secret, self._engine))
        try:
            status, headers, body = await self._exchange(request)
        except httpx.TimeoutException as error:
            raise CallTimeout(f"{self._name_and_host} did not answer within {_SECONDS:g} s.") from error
        except httpx.HTTPError as error:
            reason = self._shown(str(error) or type(error).__name__, secret)
            failed = f"Searching with {self._name_and_host} failed: {reason}"
            if self._local and isinstance(error, httpx.ConnectError):  # a retry does not start the server
                raise CallError(failed, hint="Start the server, or correct `base_url`.", general=True) from error
            raise UnavailableError(failed, hint="Check your network connection and `base_url`.") from error
        if status != 200:
            message = f"returned status {status}: {self._shown(_message_in(body), secret) or 'no message'}"
            raise self._refusal(status, headers, message, key_error=bool(_KEY_ERROR.search(body)))
        try:
            return self._api.results(msgspec.json.decode(body))
        except UnsearchedError as error:
            message = f"did not search: {self._shown(str(error), secret)}"
            raise self._refusal(error.status, headers, message) from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError) as error:
            message = self._shown(_message_in(body), secret)
            raise ReplyError(
                f"{self._name_and_host} did not return search results: {message}",
                hint="Check `base_url`. The address may lead to a login page.",
            ) from error

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    @property
    def _name_and_host(self) -> str:
        return f"{self._name} at {urlsplit(self._base).netloc}"

    def _reveal(self) -> str:
        return self._key.reveal(self._base) if self._key else ""

    async def _exchange(self, request: Request) -> tuple[int, Mapping[str, str], bytes]:
        """Return status, headers and body. Raises ReplyError if the body is too long."""
        url = f"{self._base}/{request.path}" if request.path else self._base
        async with self._client.stream(
            "GET" if request.json is None else "POST",
            url,
            params=request.parameters or None,
            json=request.json,
            headers=request.headers,
        ) as response:
            body = await read_body(response, _LONGEST_REPLY, server=self._name_and_host)
            return response.status_code, response.headers, body

    def _refusal(self, status: int, headers: Mapping[str, str], message: str, *, key_error: bool = False) -> CallError:
        text = f"{self._name_and_host} {message}"
        if status == 429 or status >= 500:
            return UnavailableError(text, retry_after=retry_after(headers), limited=status == 429)
        if 300 <= status < 400:
            return RefusedError(text, hint="The provider redirects to another address. Check `base_url`.")
        hint = ""
        if self._name == "searxng" and status == 403:
            hint = "Add `json` to `search.formats` in the settings of the SearXNG instance."
        elif self._key and (key_error or status in {401, 403}):
            hint = "Check the key. Replace it with `rqa keys set NAME --host HOST`."
        return RefusedError(text, hint=hint, general=key_error or status in {401, 402, 403, 404, 432, 433})

    def _shown(self, text: str, secret: str) -> str:
        """Return the start of `text` on one line, without the key."""
        line = single_line(text[:10_000])
        return (line.replace(secret, "***") if secret else line)[:_EXCERPT]


def _message_in(body: bytes) -> str:
    """Return the message in an error's JSON, at any depth, or the whole text."""
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return body.decode("utf-8", "replace")
    while isinstance(found, dict):
        inner = next((found[name] for name in ("error", "detail", "message", "info") if found.get(name)), None)
        if inner is None:
            return body.decode("utf-8", "replace")
        found = inner
    return str(found)
