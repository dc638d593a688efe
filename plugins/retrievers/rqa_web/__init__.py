"""Retriever `web`: searches the web and reads the main text of the pages found.

    [retriever.web]
    provider = "brave"
    key = "brave"

A provider returns results (providers.py, asking.py). The first few pages are fetched concurrently, within limits
(fetching.py), and their main text is extracted (pages.py). If a page cannot be read, the trace says so and the passage
is the provider's snippet. If the provider fails, the host retries.

Without the extra `[web]` there is no trafilatura: all paragraphs of a page are used, menus too. There is no protego
either: sites that have a robots.txt are then not read, unless `robots = false`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import urldefrag

from msgspec import Meta

from robust_qa import Key, Passage, Registry, Url, hookimpl
from robust_qa.kit import visible, warn

if TYPE_CHECKING:
    from .asking import Provider
    from .providers import Result
    from .static import Static

# A host name in any script, or an IPv6 address.
_NAME = re.compile(r"[a-z0-9_\u0080-\U0010ffff-]+(?:\.[a-z0-9_\u0080-\U0010ffff-]+)*|[0-9a-f]*:[0-9a-f]*:[0-9a-f:.]*")
_Count = Annotated[int, Meta(ge=0, le=100)]


class Web:
    """Passages from a web search, one for each page. Blank lines separate paragraphs."""

    reaches_out = True

    @dataclass
    class Options:
        # search provider; static: a file of results, ranked by the words they share with the query
        provider: Literal["serper", "brave", "tavily", "google-cse", "searxng", "mediawiki", "static"]
        key: Key | None = None  # name of a stored key; required for serper, brave, tavily and google-cse
        base_url: Url | None = None  # the provider's address; required for searxng
        engine: str | None = None  # google-cse: id of the search engine (cx)
        file: Path | None = None  # static: JSON lines with title, url and text (the page) or snippet
        results: Annotated[int, Meta(ge=1, le=100)] = 10  # results to request from the provider
        pages: _Count = 5  # results whose pages are read; the others give their snippet
        page_words: Annotated[int, Meta(ge=1)] = 2000  # maximum words of a page; the rest is cut
        page_seconds: Annotated[float, Meta(gt=0)] = (
            10.0  # timeout in seconds for fetching a page, and for extracting its text
        )
        max_age: Annotated[float, Meta(ge=0)] = 7.0  # maximum cache age of a search in days; 0: no limit
        prefer: list[str] = field(default_factory=lambda: ["wikipedia.org"])  # hosts to put first among the `results`
        hosts: list[str] = field(default_factory=list)  # use only pages of these hosts; empty: all
        private: bool = False  # read pages at private and loopback addresses
        robots: bool = True  # obey robots.txt

        def __post_init__(self) -> None:
            if self.provider in {"serper", "brave", "tavily", "google-cse"} and self.key is None:
                raise ValueError(
                    f'needs `key` for {self.provider}: run `rqa keys set NAME --host HOST`, set key = "NAME"'
                )
            required = {"google-cse": "engine", "searxng": "base_url", "static": "file"}.get(self.provider)
            if required and getattr(self, required) is None:
                raise ValueError(f"needs `{required}` for {self.provider}")
            for name in ("prefer", "hosts"):
                for entry, known in zip(getattr(self, name), _names(getattr(self, name)), strict=True):
                    if not known:
                        raise ValueError(
                            f"has {entry!r} in `{name}`, which is not a host name: "
                            "write example.org, which includes its subdomains"
                        )

    def __init__(self, options: Options) -> None:
        """Raises MissingError if the key or the file is missing, InputError or ConfigError if it is invalid."""
        from .fetching import Bounds, Fetcher

        self.options = options
        self.max_age = options.max_age * 86_400
        self._prefer, self._hosts = _names(options.prefer), _names(options.hosts)
        self._provider = _provider(options)
        bounds = Bounds(options.page_seconds, options.page_words, options.private, options.robots)
        self._fetcher = Fetcher(bounds, self._allows)

    def fingerprint(self) -> str:
        """Return a hash of the file of results, "" for other providers."""
        return getattr(self._provider, "digest", "")

    async def retrieve(self, query: str, k: int) -> list[Passage]:
        """Return the pages found for `query`, preferred hosts first, without duplicates.

        Raises UnavailableError, CallTimeout, RefusedError or ReplyError if the search fails.
        """
        import asyncio

        if not query.strip():
            return []
        found = await self._provider.search(query, max(k, self.options.results))
        ranked = enumerate(self._chosen(found), start=1)
        passages: dict[tuple[str, str], Passage] = {}  # by visible title and text
        # The next page replaces a page without text, and a duplicate at another address.
        while more := list(islice(ranked, k - len(passages))):
            texts = await asyncio.gather(*(self._text(rank, result) for rank, result in more))
            for (rank, result), text in zip(more, texts, strict=True):
                if text:
                    page = Passage(text, id=result.url, title=result.title, source=result.url, score=1 / rank)
                    passages.setdefault((visible(page.title), visible(page.text)), page)
        return list(passages.values())

    def _chosen(self, found: Sequence[Result]) -> list[Result]:
        """Return the allowed results without duplicates, preferred hosts first.

        Only the first `results` are reordered, so that the first results do not depend on `k`.
        """
        results = self.options.results
        preferred = sorted(found[:results], key=lambda result: not _among(result.url, self._prefer))
        once: dict[tuple[str, str], Result] = {}
        for result in (*preferred, *found[results:]):
            if self._allows(result.url):
                once.setdefault((urldefrag(result.url).url, result.text), result)
        return list(once.values())

    def _allows(self, url: str) -> bool:
        return not self._hosts or _among(url, self._hosts)

    async def _text(self, rank: int, result: Result) -> str:
        """Return the text of the page if it is among the first `pages`, else the snippet. Warns if the page fails."""
        if result.text:
            last = next(islice(re.finditer(r"\S+", result.text), self.options.page_words - 1, None), None)
            return result.text[: last.end()] if last else result.text
        if rank > self.options.pages:
            return result.snippet
        from .fetching import UnreadableError

        try:
            return await self._fetcher.text(result.url)
        except UnreadableError as error:
            instead = "its snippet is used" if result.snippet else "it is left out"
            warn(f"{result.url}: {error}; {instead}", lasting=error.lasting)
            return result.snippet

    async def close(self) -> None:
        await self._fetcher.close()
        await self._provider.close()


def _provider(options: Web.Options) -> Static | Provider:
    if options.provider == "static":
        from .static import Static

        assert options.file is not None
        return Static(options.file)
    from .asking import Provider

    return Provider(options.provider, options.base_url, options.key, options.engine)


def _among(url: str, hosts: Sequence[str]) -> bool:
    """Whether the host of `url` is one of `hosts` or a subdomain."""
    from .providers import host

    own = f".{host(url)}"
    return any(own.endswith(f".{name}") for name in hosts)


def _names(hosts: Sequence[str]) -> list[str]:
    """Return configured hosts in the form of `host`, "" for invalid names."""
    return [_ascii_name(name.lower().strip(".")) for name in hosts]


def _ascii_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        return ""
    if name.isascii():
        return name
    from .providers import host

    return host(f"http://{name}/")


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the plugin."""
    registry.retriever("web", "rqa_web:Web", summary="web search, and the pages it finds")
