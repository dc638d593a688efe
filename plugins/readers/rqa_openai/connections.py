"""HTTP connections to one endpoint, kept alive between calls."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping, Sequence
from io import BytesIO
from urllib.request import getproxies, proxy_bypass

import aiohttp
import certifi
from multidict import CIMultiDict
from yarl import URL

from robust_qa import CallTimeout, ConfigError, __version__
from robust_qa.kit import is_loopback
from rqa_http import connection_error, read_body

from .replies import Endpoint, Reply, too_long
from .streams import Stream

CONNECT_SECONDS = 10.0  # timeout for connecting; the host limits the whole call
IDLE_SECONDS = 30.0  # unused connections are closed after this time
_MOST_BYTES = 16 << 20  # of a reply: log-probabilities, vectors and events take many bytes
_MOST_BYTES_OF_TEXT = 4 << 20  # of a chat completion: answer and reasoning, all of their characters escaped
# The commands of the servers that listen on these ports by default.
_START_COMMANDS = {
    1234: "lms server start",
    8000: "vllm serve MODEL",
    8080: "llama-server -m MODEL.gguf",
    11434: "ollama serve",
}


class Connections:
    """Sends POST requests to one URL. There is a connection for each call in flight; the host limits the calls."""

    def __init__(self, url: str, headers: Sequence[Mapping[str, str]], endpoint: Endpoint) -> None:
        try:
            self._url = URL(url)
        except ValueError as cause:
            raise ConfigError(f"The address of {endpoint} is not valid: {cause}.") from cause
        self._headers = CIMultiDict(
            {
                "Content-Type": "application/json",
                "Accept": "application/json",
                "Accept-Encoding": "gzip",
                "User-Agent": f"robust-qa/{__version__}",
            }
        )
        for extra in headers:
            self._headers.update(extra)
        self._endpoint = endpoint
        self._most = _MOST_BYTES_OF_TEXT if self._url.path.endswith("/chat/completions") else _MOST_BYTES
        self._session: aiohttp.ClientSession | None = None

    async def post(self, content: bytes, stream: Stream) -> Reply:
        """Return the reply, whatever its status. Redirects are not followed.

        `stream` gets server-sent events when they are there: some endpoints send them unasked. The reply is then what
        the endpoint would have sent at once.

        Raises CallTimeout or UnavailableError if there is no reply, CallError if no server runs on this machine,
        RefusedError if the reply is too long. A long error is cut.
        """
        session = self._session = self._session or self._open()
        data = BytesIO(content)  # aiohttp sends a file in parts, and warns of long bytes
        try:
            async with session.post(self._url, data=data, allow_redirects=False) as response:
                streams = response.headers.get("Content-Type", "").startswith("text/event-stream")
                body = await read_body(
                    response,
                    _MOST_BYTES if streams else self._most,
                    server=str(self._endpoint),
                    on_cut=self._refuse if response.ok else lambda: None,
                    on_part=stream.add if streams else None,
                )
                return Reply(response.status, response.headers, stream.reply() if streams else body)
        except aiohttp.ServerTimeoutError as cause:
            raise CallTimeout(
                f"No connection to {self._endpoint} within {CONNECT_SECONDS:g} s.",
                hint="Check `base_url` and your network connection.",
                general=True,
            ) from cause
        except aiohttp.ClientConnectorError as cause:
            local = is_loopback(self._url.host or "")
            hint = "Check that the server is running and that `base_url` is correct."
            if local:
                command = _START_COMMANDS.get(self._url.port or 0)
                start = f"Start the server, for example with `{command}`" if command else "Start the server"
                hint = f"{start}, or correct `base_url`."
            reason = self._reason(cause.__cause__ or cause)
            raise connection_error(str(self._endpoint), reason, local=local, hint=hint) from cause
        except aiohttp.ClientError as cause:
            reason = self._reason(cause)
            if isinstance(cause, aiohttp.ClientResponseError):  # its text may hold a proxy's password
                reason = f"status {cause.status}: {self._endpoint.excerpt(cause.message)}"
            raise connection_error(str(self._endpoint), reason, reached=True) from cause

    def _refuse(self) -> None:
        raise too_long(self._endpoint, f"{self._most >> 20} MiB")

    def _reason(self, error: BaseException) -> str:
        return self._endpoint.excerpt(str(error)) or type(error).__name__

    def _open(self) -> aiohttp.ClientSession:
        try:
            proxy = _proxy(self._url)
            tls = _tls() if "https" in (self._url.scheme, proxy and proxy.scheme) else True
        except (ValueError, OSError) as cause:
            raise ConfigError(
                f"Cannot call {self._endpoint}: a proxy or certificate setting in the environment is wrong: {cause}",
                hint="Check HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, SSL_CERT_FILE and SSL_CERT_DIR.",
            ) from cause
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=IDLE_SECONDS, ssl=tls),
            headers=self._headers,
            proxy=proxy,
            timeout=aiohttp.ClientTimeout(total=None, connect=CONNECT_SECONDS),
            auto_decompress=False,  # read_body counts bytes while it decompresses
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    async def close(self) -> None:
        """Close every connection. Calls in flight fail."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()


def _proxy(url: URL) -> URL | None:
    """Return the proxy that the environment sets for `url`. Servers on this machine have none. Raises ValueError."""
    host = url.host or ""
    if is_loopback(host) or proxy_bypass(f"{host}:{url.port}"):
        return None
    proxies = getproxies()
    address = proxies.get(url.scheme) or proxies.get("all")
    if not address:
        return None
    proxy = URL(address if "://" in address else f"http://{address}")
    if proxy.scheme not in ("http", "https"):
        raise ValueError(f"a proxy of the scheme {proxy.scheme!r} is not supported, only http and https")
    return proxy


def _tls() -> ssl.SSLContext:
    """Return a context that trusts the certificates which the environment names, or those of the package certifi."""
    file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    if file or not folder:
        return ssl.create_default_context(cafile=file or certifi.where())
    return ssl.create_default_context(capath=folder)
