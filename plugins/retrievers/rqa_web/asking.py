"""Calls to a search provider, and the errors for its refusals."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec

from robust_qa import Key, ReplyError, RqaError
from robust_qa.kit import is_loopback, single_line
from rqa_http import Refusal, httpx_errors, read_body

from .fetching import USER_AGENT, client
from .providers import APIS, Query, Request, Result, UnsearchedError

_SECONDS = 15.0  # timeout for connecting, and for each part of a reply
_LONGEST_REPLY = 8 << 20  # bytes
_EXCERPT = 200  # characters of a provider's message in errors


class Provider:
    """A search provider. Each call is one attempt; redirects are not followed."""

    def __init__(self, name: str, base_url: str | None, key: Key | None, engine: str | None) -> None:
        """Raises MissingError if the key is not stored, ConfigError if it is bound to another host."""
        self._name = name
        self._api = APIS[name]
        self._base = (base_url or self._api.base_url).rstrip("/")
        self._key = key
        self._engine = engine or ""
        self._reveal()  # raises now, not at the first question
        self._local = is_loopback(urlsplit(self._base).hostname or "")
        self._client = client(
            headers={"User-Agent": USER_AGENT, "Accept": "application/json", "Accept-Encoding": "gzip"},
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
        hint = "Start the server, or correct" if self._local else "Check your network connection and"
        with httpx_errors(
            self._name_and_host,
            _SECONDS,
            local=self._local,
            hint=f"{hint} `base_url`.",
            shown=lambda text: self._shown(text, secret),
        ):
            status, headers, body = await self._exchange(request)
        refusal = Refusal.of(status, body, headers)
        message = self._shown(refusal.message or body.decode("utf-8", "replace"), secret)
        if status != 200:
            raise self._error(refusal, f"returned status {status}: {message or 'no message'}")
        try:
            return self._api.results(msgspec.json.decode(body))
        except UnsearchedError as error:
            failed = f"did not search: {self._shown(str(error), secret)}"
            raise self._error(Refusal(error.status, headers=headers), failed) from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError) as error:
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

    def _error(self, refusal: Refusal, failed: str) -> RqaError:
        hints = {300: "The provider redirects to another address. Check `base_url`."}
        if self._name == "searxng":
            hints[403] = "Add `json` to `search.formats` in the settings of the SearXNG instance."
        elif self._key:
            hints[401] = "Check the key. Replace it with `rqa keys set NAME --host HOST`."
        return refusal.error(f"{self._name_and_host} {failed}", hints=hints)

    def _shown(self, text: str, secret: str) -> str:
        """Return the start of `text` on one line, without the key."""
        line = single_line(text[:10_000])
        return (line.replace(secret, "***") if secret else line)[:_EXCERPT]
