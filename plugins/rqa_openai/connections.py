"""The wire: keep-alive connections to one endpoint, and every way in which they break."""

from __future__ import annotations

import ssl
from collections.abc import Mapping, Sequence

import httpx

from robust_qa import CallTimeout, ConfigError, UnavailableError, __version__
from robust_qa.kit import is_loopback, read_body

from .replies import Endpoint, Reply

CONNECT_SECONDS = 10.0  # to a connection; how long a whole call may take is the host's to say
IDLE_SECONDS = 30.0  # after which an unused connection is not trusted any more
BODY_BYTES = 16 << 20  # no reply of a language model is longer


class Connections:
    """POSTs to one URL, each call over a client of one connection, the last used first.

    httpx's own pool looks at all of its connections on each call, and polls the idle ones: with 64 in flight a
    call costs four times what it costs alone. A stack of one-connection clients costs the same at any width.
    """

    def __init__(self, url: str, headers: Sequence[Mapping[str, str]], endpoint: Endpoint) -> None:
        try:
            self._url = httpx.URL(url)
        except httpx.InvalidURL as cause:
            raise ConfigError(f"The address of {endpoint} is not valid: {cause}.") from cause
        self._headers = httpx.Headers(
            {
                "Content-Type": "application/json",
                "Accept": "application/json",
                "Accept-Encoding": "gzip",
                "User-Agent": f"robust-qa/{__version__}",
            }
        )
        for further in headers:  # whatever the case of a name, the last one's counts
            self._headers.update(further)
        self._endpoint = endpoint
        self._clients: list[httpx.AsyncClient] = []
        self._idle: list[httpx.AsyncClient] = []
        self._tls: ssl.SSLContext | None = None

    async def post(self, content: bytes) -> Reply:
        """The reply to `content`, whatever its status; redirects are not followed.

        Raises CallTimeout or UnavailableError when there is none, ReplyError when it has no end.
        """
        client = self._idle.pop() if self._idle else self._connect()
        try:
            return await self._exchange(client, content)
        except httpx.TimeoutException as cause:
            raise CallTimeout(
                f"No connection to {self._endpoint} within {CONNECT_SECONDS:g} s.",
                hint="Check that `base_url` is right and that the network is up.",
                general=True,
            ) from cause
        except httpx.TransportError as cause:
            why = self._endpoint.excerpt(str(cause)) or type(cause).__name__
            if isinstance(cause, httpx.ConnectError):
                raise UnavailableError(
                    f"No connection to {self._endpoint}: {why}",
                    hint="Check that the server runs and that `base_url` is right.",
                    general=True,
                ) from cause
            raise UnavailableError(f"Lost the connection to {self._endpoint}: {why}") from cause
        finally:
            if not client.is_closed:
                self._idle.append(client)

    def _connect(self) -> httpx.AsyncClient:
        try:
            # One TLS context for all: making it reads the certificates from disk.
            self._tls = self._tls or httpx.create_ssl_context()
            client = httpx.AsyncClient(
                verify=self._tls,
                trust_env=not is_loopback(self._url.host),  # of which only its proxies are left to mind here
                timeout=httpx.Timeout(None, connect=CONNECT_SECONDS),
                limits=httpx.Limits(keepalive_expiry=IDLE_SECONDS),
            )
        except (httpx.InvalidURL, ValueError, OSError, ImportError) as cause:
            raise ConfigError(
                f"Cannot call {self._endpoint} with the proxy or certificates of the environment: {cause}",
                hint="Check HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, SSL_CERT_FILE and SSL_CERT_DIR.",
            ) from cause
        self._clients.append(client)
        return client

    async def _exchange(self, client: httpx.AsyncClient, content: bytes) -> Reply:
        # A request of our own making skips the merging of headers, cookies and parameters on every call.
        request = httpx.Request("POST", self._url, headers=self._headers, content=content)
        try:
            response = await client.send(request, stream=True, follow_redirects=False)
        except httpx.RemoteProtocolError as cause:
            # httpx reads where a redirect leads, although it is not to go there.
            if "in location header" not in str(cause):
                raise
            return Reply(307, {"location": "what is no address"}, b"")
        try:
            body = await read_body(response, BODY_BYTES, server=str(self._endpoint))
        finally:
            await response.aclose()
        return Reply(response.status_code, response.headers, body)

    async def close(self) -> None:
        """Close every connection; a call in flight fails."""
        clients, self._clients, self._idle = self._clients, [], []
        for client in clients:
            await client.aclose()
