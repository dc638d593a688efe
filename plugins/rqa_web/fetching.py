"""Pages from the web. Any address may stand in a search result or a redirect, so each step to a page is checked."""

from __future__ import annotations

import asyncio
import socket
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx

from robust_qa import ConfigError, ReplyError
from robust_qa.kit import printable, read_body, remark

from .addresses import resolve
from .pages import Page, read, read_markup
from .providers import host, is_web
from .robots import Robots

_LONGEST_ROBOTS = 500_000  # bytes; RFC 9309, 2.5 asks for as much
_ROBOTS_KEPT = 1000  # sites
_ADDRESSES = 3  # of a host, that are tried
_READERS = 2  # threads; reading is Python's work, so more are no faster
_LOOKUPS = 8  # threads
_LONGEST_WAIT = 60.0  # seconds for one of them; the host gives a whole search 120
_TYPES = {"", "text/html", "application/xhtml+xml", "text/plain"}


class UnreadableError(Exception):
    """A page cannot be had, or may not; the message says why, for people, and `lasting` that it will stay so."""

    def __init__(self, why: str, *, lasting: bool = False) -> None:
        super().__init__(why)
        self.lasting = lasting


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one page may take, as the options of the retriever say."""

    bytes: int
    seconds: float
    words: int
    redirects: int
    private: bool
    robots: bool


@dataclass(frozen=True, slots=True)
class _Reply:
    status: int
    location: str  # where a redirect leads, "" for any other reply
    page: Page


def client(**options: object) -> httpx.AsyncClient:
    """An HTTP client. ConfigError when the environment's proxy or certificates are no such thing."""
    try:
        return httpx.AsyncClient(**options)  # type: ignore[arg-type]
    except (httpx.InvalidURL, ValueError, OSError, ImportError) as error:
        raise ConfigError(
            f"The web cannot be searched with the proxy or certificates of the environment: {error}",
            hint="Check HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, SSL_CERT_FILE and SSL_CERT_DIR.",
        ) from error


class Fetcher:
    """Fetches pages within `bounds`, from addresses that `allows` lets through, redirects included."""

    def __init__(self, bounds: Bounds, allows: Callable[[str], bool], user_agent: str) -> None:
        self._bounds = bounds
        self._allows = allows
        self._agent = user_agent
        self._robots: dict[str, Robots] = {}
        # So named, none that works on keeps rqa from ending.
        self._readers = ThreadPoolExecutor(_READERS, "rqa_web")
        self._given_up: set[Future[str]] = set()  # of those that still work
        self._lookups = ThreadPoolExecutor(_LOOKUPS, "rqa_web_lookup")
        self._asking: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        headers = {"User-Agent": user_agent, "Accept": ", ".join(sorted(_TYPES - {""})), "Accept-Encoding": "gzip"}
        # Connections are made to addresses: one that was kept would serve another host of that address, whose
        # certificate nobody has seen.
        limits = httpx.Limits(max_keepalive_connections=0)
        cookies = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
        # No timeout: that of a whole page is kept in text().
        self._client = client(headers=headers, cookies=cookies, timeout=None, limits=limits)
        self._direct = self._client
        if getproxies():  # with its own transport httpx asks none
            direct = httpx.AsyncHTTPTransport(limits=limits)
            self._direct = client(headers=headers, cookies=cookies, timeout=None, transport=direct)

    async def text(self, url: str) -> str:
        """The paragraphs of the page at `url`, parted by blank lines. UnreadableError says why there are none."""
        bounds = self._bounds
        try:
            async with asyncio.timeout(bounds.seconds):
                reply = await self._follow(url, bounds.bytes, robots=bounds.robots)
        except TimeoutError as error:
            raise UnreadableError(f"it was not there within {bounds.seconds:g} s") from error
        if reply.status != 200:
            lasting = 400 <= reply.status < 500 and reply.status not in {408, 425, 429}
            raise UnreadableError(f"the site answered {reply.status}", lasting=lasting)
        if reply.page.type not in _TYPES:
            raise UnreadableError(f"it is {printable(reply.page.type)}, which is not read", lasting=True)
        try:
            text = await self._read(reply.page)
        except TimeoutError as error:
            text = await asyncio.to_thread(read_markup, reply.page, bounds.words)
            if not text:
                raise UnreadableError(str(error)) from error
            remark(f"{url}: {error}; what its markup calls paragraphs stands for it")
        if text:
            return text
        raise UnreadableError("no text was found in it", lasting=True)

    async def _read(self, page: Page) -> str:
        """The paragraphs of `page`, in a thread; its time begins when the thread does.

        TimeoutError says how long it took, or that pages which were given up hold every thread.
        """
        if len(self._given_up) >= _READERS:
            raise TimeoutError("it was there, and no thread is free to read it")
        loop, begun = asyncio.get_running_loop(), asyncio.Event()

        def work() -> str:
            loop.call_soon_threadsafe(begun.set)
            return read(page, self._bounds.words)

        future = self._readers.submit(work)
        try:
            async with asyncio.timeout(_LONGEST_WAIT):
                await begun.wait()
            async with asyncio.timeout(self._bounds.seconds):
                return await asyncio.wrap_future(future)
        except TimeoutError as error:
            within = self._bounds.seconds if begun.is_set() else _LONGEST_WAIT
            if begun.is_set():
                self._given_up.add(future)
                future.add_done_callback(self._given_up.discard)
            raise TimeoutError(f"it was there, and not read within {within:g} s") from error
        except Exception as error:  # any markup may come
            raise UnreadableError(f"it cannot be read: {type(error).__name__}") from error
        finally:
            future.cancel()

    async def close(self) -> None:
        """Close the connections; what is still being read or looked up is for nobody."""
        for threads in (self._readers, self._lookups):
            threads.shutdown(wait=False, cancel_futures=True)
        await self._client.aclose()
        await self._direct.aclose()

    async def _follow(self, url: str, size: int, *, robots: bool) -> _Reply:
        for _ in range(self._bounds.redirects + 1):
            if not is_web(url):
                raise UnreadableError(f"it leads to {printable(url)[:100]}, which is no web address", lasting=True)
            if not self._allows(url):
                raise UnreadableError(f"{host(url)} is not among the hosts that are read", lasting=True)
            if robots and not (rules := await self._rules(url)).allow(url):
                raise UnreadableError("the site's robots.txt closes it to robots", lasting=rules.known)
            reply = await self._get(url, size)
            if not reply.location:
                return reply
            url = reply.location
        raise UnreadableError(f"it was redirected more than {self._bounds.redirects} times")

    async def _rules(self, url: str) -> Robots:
        """The robots.txt of the site of `url`, asked for once."""
        parts = urlsplit(url)
        site = f"{parts.scheme}://{parts.netloc}"
        try:
            async with self._asking[site]:
                if site not in self._robots:
                    reply = await self._follow(f"{site}/robots.txt", _LONGEST_ROBOTS, robots=False)
                    if len(self._robots) >= _ROBOTS_KEPT:
                        self._robots.clear()
                    self._robots[site] = Robots(reply.status, reply.page.decoded(), self._agent)
                return self._robots[site]
        finally:
            self._asking.pop(site, None)

    async def _get(self, url: str, size: int) -> _Reply:
        try:
            target = httpx.URL(url)
            name = target.raw_host.decode("ascii")
            port = target.port or (443 if target.scheme == "https" else 80)
            part = self._bounds.seconds / 4
            lookup = resolve(name, port, private=self._bounds.private, threads=self._lookups)
            if _proxied(target):
                # The proxy looks names up itself, and may be the only one who can. What is known here is checked here.
                with suppress(socket.gaierror, TimeoutError):
                    async with asyncio.timeout(part):
                        await lookup
                return await self._exchange(target, size)
            *others, last = (await lookup)[:_ADDRESSES]
            for address in others:
                with suppress(httpx.ConnectError, httpx.ConnectTimeout):
                    return await self._exchange(target, size, address, connect=part)
            return await self._exchange(target, size, last)
        except PermissionError as error:
            raise UnreadableError(str(error), lasting=True) from error
        except (OSError, UnicodeError) as error:
            raise UnreadableError("its host is not known") from error
        except (httpx.HTTPError, httpx.InvalidURL, ReplyError) as error:
            raise UnreadableError(printable(str(error))[:200] or type(error).__name__) from error

    async def _exchange(self, target: httpx.URL, size: int, address: str = "", connect: float | None = None) -> _Reply:
        """One request for `target`, made of the host at `address`, of the proxy where there is none.

        The reply has the first `size` bytes of the page. `connect` is how many seconds a connection may take.
        """
        through, url, named = self._client, target, dict[str, Any]()
        if address:
            through, url = self._direct, target.copy_with(host=f"[{address}]" if ":" in address else address)
            named = {
                "headers": {"Host": target.netloc.decode("ascii")},
                "extensions": {"sni_hostname": target.raw_host.decode("ascii")},
            }
        timeout = httpx.Timeout(None, connect=connect)
        async with through.stream("GET", url, timeout=timeout, follow_redirects=False, **named) as response:
            kind, charset = _content_type(response.headers.get("Content-Type", ""))
            if response.has_redirect_location:
                location = str(target.join(response.headers["Location"]))
                return _Reply(response.status_code, location, Page(b"", kind, charset))

            def cut() -> None:
                remark(f"{target}: cut at {size} bytes", lasting=True)

            body = await read_body(response, size, server=target.host, on_cut=cut)
            return _Reply(response.status_code, "", Page(body, kind, charset))


def _proxied(target: httpx.URL) -> bool:
    """Whether the environment has a proxy for `target`."""
    proxies = getproxies()
    return (target.scheme in proxies or "all" in proxies) and not proxy_bypass(target.netloc.decode("ascii"))


def _content_type(header: str) -> tuple[str, str]:
    """The media type and the charset of a Content-Type, "" for what it does not say."""
    kind, _, parameters = header.partition(";")
    named = [part.partition("=") for part in parameters.split(";")]
    charset = next((value for name, _, value in named if name.strip().lower() == "charset"), "")
    return kind.strip().lower(), charset.strip(" \"'")
