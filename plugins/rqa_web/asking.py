"""One call of a search provider, and what its refusals mean."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

import httpx
import msgspec

from robust_qa import CallError, CallTimeout, Key, RefusedError, ReplyError, UnavailableError
from robust_qa.kit import flat, is_loopback, read_body, retry_after

from .fetching import client
from .providers import APIS, Query, Request, Result, UnsearchedError

_SECONDS = 15.0  # for a connection, and between two pieces of a reply
_LONGEST_REPLY = 8 << 20  # bytes
# What refuses every search, whatever its status: of brave (422), google-cse and serper (400).
_OF_THE_KEY = re.compile(rb"SUBSCRIPTION_TOKEN_INVALID|API_KEY_INVALID|API key not valid|Not enough credits")
_EXCERPT = 200  # characters of a provider's own words that are shown


class Provider:
    """A search provider behind HTTP: one attempt a call, redirects not followed."""

    def __init__(self, name: str, base_url: str | None, key: Key | None, engine: str | None, user_agent: str) -> None:
        """Raises MissingError or ConfigError when the key is not stored, or not for the provider's host."""
        self._name = name
        self._api = APIS[name]
        self._base = (base_url or self._api.base_url).rstrip("/")
        self._key = key
        self._engine = engine or ""
        self._reveal()  # now, not with the first question
        here = is_loopback(urlsplit(self._base).hostname or "")
        self._client = client(
            headers={"User-Agent": user_agent, "Accept": "application/json", "Accept-Encoding": "gzip"},
            timeout=_SECONDS,
            mounts={"http://": None, "https://": None} if here else None,  # in place of the environment's proxies
        )

    async def search(self, words: str, results: int) -> list[Result]:
        """What the provider finds.

        Raises UnavailableError or CallTimeout when another try may help, RefusedError when it will not, ReplyError
        when the reply is not what the provider documents.
        """
        secret = self._reveal()
        request = self._api.request(Query(words, results, secret, self._engine))
        try:
            status, headers, body = await self._exchange(request)
        except httpx.TimeoutException as error:
            raise CallTimeout(f"{self._where} did not answer within {_SECONDS:g} s.") from error
        except httpx.HTTPError as error:
            why = self._shown(str(error) or type(error).__name__, secret)
            raise UnavailableError(
                f"Searching with {self._where} failed: {why}", hint="Is the network up, and the address right?"
            ) from error
        if status != 200:
            told = f"answered {status}: {self._shown(_words_of(body), secret) or 'nothing more'}"
            raise self._refusal(status, headers, told, of_the_key=bool(_OF_THE_KEY.search(body)))
        try:
            return self._api.results(msgspec.json.decode(body))
        except UnsearchedError as error:
            told = f"did not search: {self._shown(str(error), secret)}"
            raise self._refusal(error.status, headers, told) from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError) as error:
            told = self._shown(_words_of(body), secret)
            raise ReplyError(
                f"{self._where} replied with something else than search results: {told}",
                hint="Check `base_url`; what answers there may be a page to log in at.",
            ) from error

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    @property
    def _where(self) -> str:
        return f"{self._name} at {urlsplit(self._base).netloc}"

    def _reveal(self) -> str:
        return self._key.reveal(self._base) if self._key else ""

    async def _exchange(self, request: Request) -> tuple[int, Mapping[str, str], bytes]:
        """Status, headers and body; ReplyError when the body has no end."""
        url = f"{self._base}/{request.path}" if request.path else self._base
        async with self._client.stream(
            "GET" if request.json is None else "POST",
            url,
            params=request.parameters or None,
            json=request.json,
            headers=request.headers,
        ) as response:
            body = await read_body(response, _LONGEST_REPLY, server=self._where)
            return response.status_code, response.headers, body

    def _refusal(self, status: int, headers: Mapping[str, str], told: str, *, of_the_key: bool = False) -> CallError:
        said = f"{self._where} {told}"
        if status == 429 or status >= 500:
            return UnavailableError(said, retry_after=retry_after(headers), limited=status == 429)
        if 300 <= status < 400:
            return RefusedError(said, hint="It points elsewhere: check `base_url`.")
        hint = ""
        if self._name == "searxng" and status == 403:
            hint = "An instance of SearXNG answers so when `json` is not among its search formats."
        elif self._key and (of_the_key or status in {401, 403}):
            hint = "Check the key: `rqa keys set NAME --host HOST` stores another."
        return RefusedError(said, hint=hint, general=of_the_key or status in {401, 402, 403, 404, 432, 433})

    def _shown(self, text: str, secret: str) -> str:
        """A provider's own words in a line, without the key."""
        line = flat(text[:10_000])
        return (line.replace(secret, "***") if secret else line)[:_EXCERPT]


def _words_of(body: bytes) -> str:
    """The message in an error's JSON, however the provider nests it; else the text as it is."""
    try:
        told = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return body.decode("utf-8", "replace")
    while isinstance(told, dict):
        inner = next((told[name] for name in ("error", "detail", "message", "info") if told.get(name)), None)
        if inner is None:
            return body.decode("utf-8", "replace")
        told = inner
    return str(told)
