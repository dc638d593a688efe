"""HTTP connections to one endpoint, kept alive between calls."""

from __future__ import annotations

import ssl
from collections.abc import Mapping, Sequence

import httpx

from robust_qa import CallTimeout, ConfigError, UnavailableError, __version__
from robust_qa.kit import is_loopback, read_body

from .replies import Endpoint, Reply
from .streams import Stream

CONNECT_SECONDS = 10.0  # timeout for connecting; the host limits the whole call
IDLE_SECONDS = 30.0  # unused connections are closed after this time
BODY_BYTES = 16 << 20  # maximum size of a reply


class Connections:
    """Sends POST requests to one URL.

    Each call uses an httpx client with a single connection, the most recently used one first. httpx's own pool
    checks all of its connections on each call: with 64 calls in flight, a call costs four times as much.
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
        for extra in headers:
            self._headers.update(extra)
        self._endpoint = endpoint
        self._clients: list[httpx.AsyncClient] = []
        self._idle: list[httpx.AsyncClient] = []
        self._tls: ssl.SSLContext | None = None

    async def post(self, content: bytes, stream: Stream | None = None) -> Reply:
        """Return the reply, whatever its status. Redirects are not followed.

        `stream` gets server-sent events when they are there. The reply is then what the endpoint would have sent at
        once.

        Raises CallTimeout or UnavailableError if there is no reply, ReplyError if it is too long.
        """
        client = self._idle.pop() if self._idle else self._new_client()
        try:
            return await self._send(client, content, stream)
        except httpx.TimeoutException as cause:
            raise CallTimeout(
                f"No connection to {self._endpoint} within {CONNECT_SECONDS:g} s.",
                hint="Check `base_url` and your network connection.",
                general=True,
            ) from cause
        except httpx.TransportError as cause:
            reason = self._endpoint.excerpt(str(cause)) or type(cause).__name__
            if isinstance(cause, httpx.ConnectError):
                raise UnavailableError(
                    f"No connection to {self._endpoint}: {reason}",
                    hint="Check that the server is running and that `base_url` is correct.",
                    general=True,
                ) from cause
            raise UnavailableError(f"Lost the connection to {self._endpoint}: {reason}") from cause
        finally:
            if not client.is_closed:
                self._idle.append(client)

    def _new_client(self) -> httpx.AsyncClient:
        try:
            # All clients share one TLS context: creating one reads the certificates from disk.
            self._tls = self._tls or httpx.create_ssl_context()
            client = httpx.AsyncClient(
                verify=self._tls,
                trust_env=not is_loopback(self._url.host),  # no proxy for servers on this machine
                timeout=httpx.Timeout(None, connect=CONNECT_SECONDS),
                limits=httpx.Limits(keepalive_expiry=IDLE_SECONDS),
            )
        except (httpx.InvalidURL, ValueError, OSError, ImportError) as cause:
            raise ConfigError(
                f"Cannot call {self._endpoint}: a proxy or certificate setting in the environment is wrong: {cause}",
                hint="Check HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, SSL_CERT_FILE and SSL_CERT_DIR.",
            ) from cause
        self._clients.append(client)
        return client

    async def _send(self, client: httpx.AsyncClient, content: bytes, stream: Stream | None) -> Reply:
        # A request built here is not merged with the client's headers, cookies and parameters on every call.
        request = httpx.Request("POST", self._url, headers=self._headers, content=content)
        response = await client.send(request, stream=True, follow_redirects=False)
        try:
            if not response.headers.get("Content-Type", "").startswith("text/event-stream"):
                stream = None  # an error, or the endpoint does not stream
            on_part = stream.add if stream else None
            body = await read_body(response, BODY_BYTES, server=str(self._endpoint), on_part=on_part)
        finally:
            await response.aclose()
        return Reply(response.status_code, response.headers, stream.reply() if stream else body)

    async def close(self) -> None:
        """Close every connection. Calls in flight fail."""
        clients, self._clients, self._idle = self._clients, [], []
        for client in clients:
            await client.aclose()
