"""Retriever `web`: what a web search finds, each page read down to its paragraphs.

    [retriever.web]
    provider = "brave"
    key = "brave"

A provider (providers.py) lists results; the first few pages are fetched at once, within bounds (fetching.py),
and their main text is read (pages.py). A page that cannot be had is told in the trace and stands there with the
provider's snippet; a provider that cannot be asked is an error, which the host tries again.

Without the extra `[web]` (trafilatura) a page gives the paragraphs that its markup names.
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

from robust_qa import Key, Passage, Url, __version__, hookimpl
from robust_qa.kit import remark, visible

if TYPE_CHECKING:
    from robust_qa import Registry

    from .asking import Provider
    from .providers import Result
    from .static import Static

# Of a host, in any script, or its IPv6 address.
_NAME = re.compile(r"[a-z0-9_\u0080-\U0010ffff-]+(?:\.[a-z0-9_\u0080-\U0010ffff-]+)*|[0-9a-f]*:[0-9a-f]*:[0-9a-f:.]*")
_Count = Annotated[int, Meta(ge=0, le=100)]


class Web:
    """Passages from a web search: one a page, its paragraphs parted by blank lines."""

    reaches_out = True

    @dataclass
    class Options:
        # who is asked; static: a file of results, searched by the words they share with the query
        provider: Literal["serper", "brave", "tavily", "google-cse", "searxng", "mediawiki", "static"]
        key: Key | None = None  # a stored key's name; serper, brave, tavily and google-cse want one
        base_url: Url | None = None  # the provider's address, where it is not its own; searxng has none
        engine: str | None = None  # google-cse: the search engine's id (cx)
        file: Path | None = None  # static: JSON lines with title, url and text (the page) or snippet
        results: Annotated[int, Meta(ge=1, le=100)] = 10  # results asked of the provider
        pages: _Count = 5  # of which so many pages are read, the first ones; the others give their snippet
        page_words: Annotated[int, Meta(ge=1)] = 2000  # words of a page, at most; the rest is cut
        page_bytes: Annotated[int, Meta(ge=1)] = 2_000_000  # bytes of a page, at most; the rest is cut
        page_seconds: Annotated[float, Meta(gt=0)] = 10.0  # seconds for a page to come, and as many to be read
        max_age: Annotated[float, Meta(ge=0)] = 7.0  # days, at most, that a search is not made again; 0: for ever
        redirects: _Count = 5  # that are followed for a page
        prefer: list[str] = field(default_factory=lambda: ["wikipedia.org"])  # hosts put first among the `results`
        hosts: list[str] = field(default_factory=list)  # hosts whose pages are taken, and no others; empty: all
        avoid: list[str] = field(default_factory=list)  # hosts whose pages are not taken
        private: bool = False  # whether pages at private and loopback addresses are read
        robots: bool = True  # whether pages that robots.txt closes are left unread
        user_agent: str | None = None  # who asks, as providers and sites are told; by default robust-qa and its version

        def __post_init__(self) -> None:
            if self.provider in {"serper", "brave", "tavily", "google-cse"} and self.key is None:
                raise ValueError(f'needs `key` for {self.provider}: `rqa keys set NAME --host HOST`, and key = "NAME"')
            wanted = {"google-cse": "engine", "searxng": "base_url", "static": "file"}.get(self.provider)
            if wanted and getattr(self, wanted) is None:
                raise ValueError(f"needs `{wanted}` for {self.provider}")
            if self.user_agent is not None and not re.fullmatch(r"[!-~](?:[ -~]*[!-~])?", self.user_agent):
                raise ValueError("user_agent is empty, or holds characters that no HTTP header can carry")
            for name in ("prefer", "hosts", "avoid"):
                for entry, told in zip(getattr(self, name), _names(getattr(self, name)), strict=True):
                    if not told:
                        raise ValueError(
                            f"has {entry!r} in `{name}`, which is no host's name: "
                            "write example.org, which also stands for the hosts below it"
                        )

    def __init__(self, options: Options) -> None:
        """Raises MissingError, InputError or ConfigError when key or file are not there, or not as they should be."""
        from .fetching import Bounds, Fetcher

        self.options = options
        self.max_age = options.max_age * 86_400
        self._prefer, self._hosts, self._avoid = map(_names, (options.prefer, options.hosts, options.avoid))
        agent = options.user_agent or f"robust-qa/{__version__}"
        self._provider = _provider(options, agent)
        bounds = Bounds(
            options.page_bytes,
            options.page_seconds,
            options.page_words,
            options.redirects,
            options.private,
            options.robots,
        )
        self._fetcher = Fetcher(bounds, self._allows, agent)

    def fingerprint(self) -> str:
        """The content of the file; a provider's is not known."""
        return getattr(self._provider, "digest", "")

    async def retrieve(self, query: str, k: int) -> list[Passage]:
        """The pages found for `query`, preferred hosts first; no page twice, whatever its address says.

        Fewer are the first of more.

        Raises UnavailableError, CallTimeout, RefusedError or ReplyError when the provider does not answer.
        """
        import asyncio

        if not query.strip():
            return []
        found = await self._provider.search(query, max(k, self.options.results))
        ranked = enumerate(self._chosen(found), start=1)
        passages: dict[tuple[str, str], Passage] = {}  # by what people see of them
        # A page without text leaves its place to the next, and so does one that is there by another address.
        while more := list(islice(ranked, k - len(passages))):
            texts = await asyncio.gather(*(self._text(rank, result) for rank, result in more))
            for (rank, result), text in zip(more, texts, strict=True):
                if text:
                    page = Passage(text, id=result.url, title=result.title, source=result.url, score=1 / rank)
                    passages.setdefault((visible(page.title), visible(page.text)), page)
        return list(passages.values())

    def _chosen(self, found: Sequence[Result]) -> list[Result]:
        """Each page once, and each text of a file, those that may be taken, preferred hosts first.

        They are looked for among a fixed number, so that the first ones are the same however many are asked for.
        """
        results = self.options.results
        preferred = sorted(found[:results], key=lambda result: not _among(result.url, self._prefer))
        once: dict[tuple[str, str], Result] = {}
        for result in (*preferred, *found[results:]):
            if self._allows(result.url):
                once.setdefault((urldefrag(result.url).url, result.text), result)
        return list(once.values())

    def _allows(self, url: str) -> bool:
        return not _among(url, self._avoid) and (not self._hosts or _among(url, self._hosts))

    async def _text(self, rank: int, result: Result) -> str:
        """The paragraphs of one of the first `pages`, or the provider's snippet, with a remark where it stands in."""
        if result.text:
            last = next(islice(re.finditer(r"\S+", result.text), self.options.page_words - 1, None), None)
            return result.text[: last.end()] if last else result.text
        if rank > self.options.pages:
            return result.snippet
        from .fetching import UnreadableError

        try:
            return await self._fetcher.text(result.url)
        except UnreadableError as error:
            instead = "its snippet stands for it" if result.snippet else "it is left out"
            remark(f"{result.url}: {error}; {instead}", lasting=error.lasting)
            return result.snippet

    async def close(self) -> None:
        await self._fetcher.close()
        await self._provider.close()


def _provider(options: Web.Options, agent: str) -> Static | Provider:
    if options.provider == "static":
        from .static import Static

        assert options.file is not None
        return Static(options.file)
    from .asking import Provider

    return Provider(options.provider, options.base_url, options.key, options.engine, agent)


def _among(url: str, hosts: Sequence[str]) -> bool:
    """Whether the host of `url` is one of `hosts`, or below one."""
    from .providers import host

    own = f".{host(url)}"
    return any(own.endswith(f".{name}") for name in hosts)


def _names(hosts: Sequence[str]) -> list[str]:
    """Hosts that the configuration names, as `host` tells them; "" for what cannot be a host's name."""
    return [_told(name.lower().strip(".")) for name in hosts]


def _told(name: str) -> str:
    if not _NAME.fullmatch(name):
        return ""
    if name.isascii():
        return name
    from .providers import host

    return host(f"http://{name}/")


@hookimpl
def rqa_register(registry: Registry) -> None:
    registry.retriever("web", Web, summary="a web search, and the pages it finds")
