"""Search providers: the format of their requests and replies, from their documentation.

- serper: https://serper.dev (POST /search, `organic`)
- brave: https://api-dashboard.search.brave.com/documentation (web search, `web.results`)
- tavily: https://docs.tavily.com (POST /search, `results`)
- google-cse: https://developers.google.com/custom-search/v1 (`items`)
- searxng: https://docs.searxng.org/dev/search_api.html (`results`; the instance has to allow `format=json`)
- mediawiki: https://www.mediawiki.org/wiki/API:Search, as a generator, with TextExtracts
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx

from robust_qa.kit import single_line

from .pages import unescaped

# Tags that providers use for highlighting. Other text in angle brackets is kept, such as vector<int>.
_TAG = re.compile(r"</?(?:b|br|em|i|mark|p|span|strong)(?:\s+[\w-]+=[^<>]{0,1000})?\s*/?>", re.IGNORECASE)
_BUSY = re.compile(r"maxlag|too-busy|backend-error|internal_api_error")  # temporary errors of MediaWiki
_LONGEST_SNIPPET = 5000  # characters
_LONGEST_URL = 2048  # characters, as in sitemaps.org


@dataclass(frozen=True, slots=True)
class Result:
    """A search result. `text` is the page's text if the provider returns it."""

    url: str
    title: str = ""
    snippet: str = ""
    text: str = ""


class UnsearchedError(Exception):
    """A reply with status 200 reports an error. `status` is the equivalent HTTP status."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


@dataclass(frozen=True, slots=True)
class Query:
    """A query: words, number of results, key and search engine."""

    words: str
    results: int
    key: str = field(default="", repr=False)
    engine: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """An HTTP request: GET with parameters, or POST with JSON."""

    path: str
    parameters: Mapping[str, str] = field(default_factory=dict, repr=False)
    json: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Api:
    """A provider: its address, its requests, and the place of the results in a reply."""

    base_url: str
    request: Callable[[Query], Request]
    items: Callable[[Any], Any]
    url: str = "url"
    snippets: Sequence[str] = ("content",)

    def results(self, reply: Any) -> list[Result]:
        """Return the results in a decoded reply that have a web address.

        Raises ValueError if there is no list of results, UnsearchedError if the reply reports an error.
        """
        items = self.items(reply)
        if not isinstance(items, list):
            raise ValueError("it has no list of results")
        return [
            Result(item[self.url], _plain(item.get("title")), _plain([item.get(name) for name in self.snippets]))
            for item in items
            if isinstance(item, dict) and is_web(item.get(self.url))
        ]


def is_web(url: object) -> bool:
    """Whether `url` is a web address without credentials or characters that programs parse differently."""
    if not isinstance(url, str) or len(url) > _LONGEST_URL or not url.isprintable() or set(url) & set(' \\"<>'):
        return False
    try:
        parts = urlsplit(url)
        httpx.URL(url)
        return (
            parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0 and "@" not in parts.netloc
        )
    except (ValueError, httpx.InvalidURL):
        return False


def host(url: str) -> str:
    """Return the host of `url` as httpx parses it, in lower-case ASCII, or ""."""
    try:
        return httpx.URL(url).raw_host.decode("ascii").lower().rstrip(".")
    except httpx.InvalidURL:
        return ""


def _plain(value: object) -> str:
    """Return plain text without highlighting. The texts of a list are joined."""
    if isinstance(value, list):
        return "\n\n".join(dict.fromkeys(text for part in value if (text := _plain(part))))
    if not isinstance(value, str):
        return ""
    text = unescaped(_TAG.sub("", value[: 2 * _LONGEST_SNIPPET]))
    return single_line(text)[:_LONGEST_SNIPPET]


def _cut(words: str, *, characters: int, number: int = 1000) -> str:
    """Return the start of a query, within a provider's limits."""
    return " ".join(words[:characters].split()[:number])


def _serper(query: Query) -> Request:
    return Request("search", json={"q": query.words, "num": query.results}, headers={"X-API-KEY": query.key})


def _brave(query: Query) -> Request:
    words = _cut(query.words, characters=400, number=50)
    parameters = {"q": words, "count": str(min(query.results, 20))}
    return Request("res/v1/web/search", parameters, headers={"X-Subscription-Token": query.key})


def _tavily(query: Query) -> Request:
    json = {"query": _cut(query.words, characters=400), "max_results": min(query.results, 20)}
    return Request("search", json=json, headers={"Authorization": f"Bearer {query.key}"})


def _google_cse(query: Query) -> Request:
    parameters = {"key": query.key, "cx": query.engine, "q": query.words, "num": str(min(query.results, 10))}
    return Request("customsearch/v1", parameters)


def _searxng(query: Query) -> Request:
    bearer = {"Authorization": f"Bearer {query.key}"} if query.key else {}
    return Request("search", {"q": query.words, "format": "json"}, headers=bearer)


def _mediawiki(query: Query) -> Request:
    parameters = {
        "action": "query",
        "format": "json",
        "formatversion": "2",
        "generator": "search",
        "gsrsearch": _cut(query.words, characters=300),
        "gsrlimit": str(min(query.results, 20)),
        "prop": "info|extracts",
        "inprop": "url",
        "exintro": "1",
        "explaintext": "1",
        "exlimit": "max",
    }
    return Request("", parameters)


def _within(*names: str, empty: Sequence[str] = ()) -> Callable[[Any], Any]:
    """Return a function that follows `names` into a reply. A reply with only a field of `empty` has no results."""

    def walk(reply: Any) -> Any:
        found = reply
        for name in names:
            if not isinstance(found, dict):
                return None
            if name not in found and not reply.keys().isdisjoint(empty):
                return []
            found = found.get(name)
        return found

    return walk


def _searxng_results(reply: Any) -> Any:
    """Return the results. Raises UnsearchedError if there are none and some engines do not respond."""
    results = _within("results")(reply)
    if results == [] and isinstance(down := reply.get("unresponsive_engines"), list) and down:
        engines = (": ".join(map(str, engine)) if isinstance(engine, list) else str(engine) for engine in down)
        raise UnsearchedError(503, f"engines do not respond: {', '.join(engines)}")
    return results


def _wiki_pages(reply: Any) -> Any:
    """Return the pages in order of their `index`."""
    if isinstance(reply, dict) and isinstance(error := reply.get("error"), dict):
        code = str(error.get("code"))
        status = {"ratelimited": 429, "readapidenied": 403}.get(code, 503 if _BUSY.search(code) else 400)
        raise UnsearchedError(status, f"{code}: {error.get('info')}")
    pages = _within("query", "pages", empty=("batchcomplete", "continue"))(reply)
    if not isinstance(pages, list):
        return None
    placed = [page for page in pages if isinstance(page, dict) and isinstance(page.get("index"), int)]
    return sorted(placed, key=lambda page: page["index"])


APIS: Mapping[str, Api] = {
    "serper": Api("https://google.serper.dev", _serper, _within("organic"), "link", ("snippet",)),
    "brave": Api(
        "https://api.search.brave.com",
        _brave,
        _within("web", "results", empty=("type",)),
        snippets=("description", "extra_snippets"),
    ),
    "tavily": Api("https://api.tavily.com", _tavily, _within("results")),
    "google-cse": Api(
        "https://www.googleapis.com",
        _google_cse,
        _within("items", empty=("kind",)),
        "link",
        ("snippet",),
    ),
    "searxng": Api("", _searxng, _searxng_results),
    "mediawiki": Api("https://en.wikipedia.org/w/api.php", _mediawiki, _wiki_pages, "fullurl", ("extract",)),
}
