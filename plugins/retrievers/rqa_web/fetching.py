"""Fetches pages. Search results and redirects may have any address, so each address is checked."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx

from robust_qa import ConfigError, ReplyError, __version__
from robust_qa.kit import install_hint, printable, warn
from rqa_http import Refusal, read_body

from .pages import Page, read, read_markup
from .providers import host, is_web

_ROBOT = "robust-qa"
USER_AGENT = f"{_ROBOT}/{__version__}"
_LONGEST_PAGE = 2_000_000  # bytes; the rest is cut
_REDIRECTS = 5  # for a page
_LONGEST_ROBOTS = 500_000  # bytes (RFC 9309, 2.5)
_ROBOTS_KEPT = 1000  # sites whose rules are cached
_ADDRESSES = 3  # addresses of a host to try
_READERS = 2  # threads; extraction is Python code, so more are not faster
_LOOKUPS = 8  # threads
_LONGEST_WAIT = 60.0  # seconds for a free thread; the host's timeout for a search is 120
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_UNICAST = ipaddress.ip_network("2000::/3")  # the allocated public part of IPv6
_TYPES = {"", "text/html", "application/xhtml+xml", "text/plain"}


class UnreadableError(Exception):
    """A page cannot or must not be read. `lasting`: a retry will not help."""

    def __init__(self, reason: str, *, lasting: bool = False) -> None:
        super().__init__(reason)
        self.lasting = lasting


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits for a page, from the options of the retriever."""

    seconds: float
    words: int
    private: bool
    robots: bool


@dataclass(frozen=True, slots=True)
class _Reply:
    status: int
    location: str  # target of a redirect, "" for other replies
    page: Page


def client(**options: object) -> httpx.AsyncClient:
    """Return an HTTP client. Raises ConfigError for a wrong proxy or certificate setting in the environment."""
    try:
        return httpx.AsyncClient(**options)  # type: ignore[arg-type]
    except (httpx.InvalidURL, ValueError, OSError, ImportError) as error:
        raise ConfigError(
            f"Cannot search the web: a proxy or certificate setting in the environment is wrong: {error}",
            hint="Check HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, SSL_CERT_FILE and SSL_CERT_DIR.",
        ) from error


@dataclass(frozen=True, slots=True)
class _Robots:
    """The rules in a site's robots.txt (RFC 9309)."""

    rules: Any = None  # from protego; None: every page is allowed
    problem: str = ""  # the reason why no page may be read

    @classmethod
    def parse(cls, status: int, text: str) -> _Robots:
        """Return the rules in a reply with `status`."""
        if 400 <= status < 500:  # 2.3.1.3: no robots.txt, no rules
            return cls()
        if status != 200:  # 2.3.1.4: the site may not be read
            return cls(problem=f"the site's robots.txt has status {status}")
        try:
            from protego import Protego
        except ImportError:
            return cls(problem=f"the site has a robots.txt, and reading it needs protego: `{install_hint('web')}`")
        return cls(Protego.parse(text))

    def check(self, url: str) -> None:
        """Raise UnreadableError if `url` may not be read."""
        if self.problem:
            raise UnreadableError(self.problem)
        if self.rules and not self.rules.can_fetch(url, _ROBOT):
            raise UnreadableError("the site's robots.txt disallows it", lasting=True)


class Fetcher:
    """Fetches pages within `bounds`. `allows` decides which addresses are fetched, including redirects."""

    def __init__(self, bounds: Bounds, allows: Callable[[str], bool]) -> None:
        self._bounds = bounds
        self._allows = allows
        self._robots: dict[str, _Robots] = {}  # by site
        # The prefix lets rqa exit while one of these threads still runs.
        self._readers = ThreadPoolExecutor(_READERS, "rqa_web")
        self._given_up: set[Future[str]] = set()  # timed out, but still running
        self._lookups = ThreadPoolExecutor(_LOOKUPS, "rqa_web_lookup")
        self._asking: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        headers = {"User-Agent": USER_AGENT, "Accept": ", ".join(sorted(_TYPES - {""})), "Accept-Encoding": "gzip"}
        # Connections are made to IP addresses. A kept connection could be reused for another host at the same address
        # without a check of its certificate.
        limits = httpx.Limits(max_keepalive_connections=0)
        cookies = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
        # text() has the timeout for the whole page.
        self._client = client(headers=headers, cookies=cookies, timeout=None, limits=limits)
        self._direct = self._client
        if getproxies():  # httpx uses no proxy with an explicit transport
            direct = httpx.AsyncHTTPTransport(limits=limits)
            self._direct = client(headers=headers, cookies=cookies, timeout=None, transport=direct)

    async def text(self, url: str) -> str:
        """Return the paragraphs of the page, separated by blank lines. Raises UnreadableError."""
        bounds = self._bounds
        try:
            async with asyncio.timeout(bounds.seconds):
                reply = await self._follow(url, _LONGEST_PAGE, robots=bounds.robots)
        except TimeoutError as error:
            raise UnreadableError(f"it did not arrive within {bounds.seconds:g} s") from error
        if reply.status != 200:
            lasting = not Refusal(reply.status).retryable
            raise UnreadableError(f"the site returned status {reply.status}", lasting=lasting)
        if reply.page.type not in _TYPES:
            raise UnreadableError(f"its type {printable(reply.page.type)} is not supported", lasting=True)
        try:
            text = await self._read(reply.page)
        except TimeoutError as error:
            text = await asyncio.to_thread(read_markup, reply.page, bounds.words)
            if not text:
                raise UnreadableError(str(error)) from error
            warn(f"{url}: {error}; all paragraphs of its markup are used")
        if text:
            return text
        raise UnreadableError("it contains no text", lasting=True)

    async def _read(self, page: Page) -> str:
        """Return the paragraphs of `page`, extracted in a worker thread. The timeout starts with the thread.

        Raises TimeoutError after the timeout, or if earlier pages that timed out still use every thread.
        """
        if len(self._given_up) >= _READERS:
            raise TimeoutError("no worker thread is free to extract its text")
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
            raise TimeoutError(f"its text was not extracted within {within:g} s") from error
        except Exception as error:  # a page may contain any markup
            raise UnreadableError(f"its text cannot be extracted: {type(error).__name__}") from error
        finally:
            future.cancel()

    async def close(self) -> None:
        """Close the connections. Cancels waiting work."""
        for threads in (self._readers, self._lookups):
            threads.shutdown(wait=False, cancel_futures=True)
        await self._client.aclose()
        await self._direct.aclose()

    async def _follow(self, url: str, size: int, *, robots: bool) -> _Reply:
        for _ in range(_REDIRECTS + 1):
            if not is_web(url):
                raise UnreadableError(f"it leads to {printable(url)[:100]}, which is not a web address", lasting=True)
            if not self._allows(url):
                raise UnreadableError(f"{host(url)} is not an allowed host", lasting=True)
            if robots:
                (await self._rules(url)).check(url)
            reply = await self._get(url, size)
            if not reply.location:
                return reply
            url = reply.location
        raise UnreadableError(f"it has more than {_REDIRECTS} redirects")

    async def _rules(self, url: str) -> _Robots:
        """Return the rules of the site of `url`. Each robots.txt is fetched once."""
        parts = urlsplit(url)
        site = f"{parts.scheme}://{parts.netloc}"
        try:
            async with self._asking[site]:
                if site not in self._robots:
                    reply = await self._follow(f"{site}/robots.txt", _LONGEST_ROBOTS, robots=False)
                    if len(self._robots) >= _ROBOTS_KEPT:
                        self._robots.clear()
                    self._robots[site] = _Robots.parse(reply.status, reply.page.decoded())
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
                # The proxy resolves names itself. The address is checked only if this machine can resolve the name too.
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
            raise UnreadableError("its host name cannot be resolved") from error
        except (httpx.HTTPError, httpx.InvalidURL, ReplyError) as error:
            raise UnreadableError(printable(str(error))[:200] or type(error).__name__) from error

    async def _exchange(self, target: httpx.URL, size: int, address: str = "", connect: float | None = None) -> _Reply:
        """Request `target` from `address`, or through the proxy if `address` is "".

        Returns the first `size` bytes of the page. `connect` is the timeout for connecting, in seconds.
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
            kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
            charset = response.charset_encoding or ""
            if response.has_redirect_location:
                location = str(target.join(response.headers["Location"]))
                return _Reply(response.status_code, location, Page(b"", kind, charset))

            def cut() -> None:
                warn(f"{target}: cut at {size} bytes", lasting=True)

            body = await read_body(response, size, server=target.host, on_cut=cut)
            return _Reply(response.status_code, "", Page(body, kind, charset))


def _proxied(target: httpx.URL) -> bool:
    """Whether the environment sets a proxy for `target`."""
    proxies = getproxies()
    return (target.scheme in proxies or "all" in proxies) and not proxy_bypass(target.netloc.decode("ascii"))


async def resolve(host: str, port: int, *, private: bool, threads: Executor | None = None) -> list[str]:
    """Return the addresses of `host`. Connect to them, not to the name, so that the checked address is used.

    The lookup runs in `threads`: the event loop's own threads would delay its end. Raises OSError if there is no
    address, PermissionError if one is not public and `private` is not set.
    """
    look_up = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    found = await asyncio.get_running_loop().run_in_executor(threads, look_up)
    addresses = [str(address[0]) for *_, address in found]
    inner = next((address for address in addresses if not private and not is_public(address)), None)
    if inner:
        raise PermissionError(f"{host} has the address {inner}, which is not public")
    return addresses


def is_public(address: str) -> bool:
    """Whether an IP address is public, including an IPv4 address embedded in IPv6."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF) if ip in _NAT64 else ip.ipv4_mapped or ip.sixtofour
        if inner is not None:
            return is_public(str(inner))
        if ip not in _UNICAST:
            return False
    return ip.is_global and not ip.is_multicast
