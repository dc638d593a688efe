"""Serve an application over HTTP: the options of the address, who may ask, and stopping in order.

It needs starlette and uvicorn, which are in the extras of the plugins that serve.
"""

from __future__ import annotations

import asyncio
import hmac
import socket
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from contextlib import suppress
from typing import Any, TypeVar
from urllib.parse import urlsplit

import click

from robust_qa import ConfigError, Key
from robust_qa.answering import in_daemon
from robust_qa.cli import StoredKey, with_options
from robust_qa.kit import is_loopback

_READING_ON = 2.0  # seconds, for a request that was refused

F = TypeVar("F", bound=Callable[..., Any])
Messages = MutableMapping[str, Any]
App = Callable[[Messages, Callable[[], Awaitable[Messages]], Callable[[Messages], Awaitable[None]]], Awaitable[None]]


def address_options(port: int | None = 8765) -> Callable[[F], F]:
    """Add the options --host, --port and --token. `token` is a Key or None.

    `port`: the default port. None: the command serves over HTTP only if --port is given.
    """
    options = (
        click.option("--host", metavar="ADDRESS", default="127.0.0.1", show_default=True, help="Address to listen on."),
        click.option(
            "--port",
            metavar="N",
            type=click.IntRange(0, 65_535),
            default=port,
            show_default=True,
            help="Port to listen on. 0: a free port."
            if port is not None
            else "Serve over HTTP at this port instead of standard input and output. 0: a free port.",
        ),
        click.option(
            "--token",
            metavar="NAME",
            type=StoredKey(),
            help="Require the stored key NAME as bearer token. Needed for addresses beyond this machine.",
        ),
    )
    return with_options(*options)


class Address:
    """A listening socket. `url` is its address, and `secret` the token that requests need, or "".

    Raises ConfigError if other machines can reach it and there is no token, or if it cannot be used.
    """

    def __init__(self, host: str, port: int, token: Key | None) -> None:
        if token is None and not is_loopback(host):
            raise ConfigError(
                f"{host} can be reached from other machines, so requests need a token.",
                hint="Store one with `rqa keys set serve`, and add `--token serve`.",
            )
        server = f"http://{f'[{host}]' if ':' in host else host}"
        self.secret = token.reveal(f"{server}:{port}") if token else ""
        self.socket = _listening(host, port)
        self.url = f"{server}:{self.socket.getsockname()[1]}"

    async def serve(
        self,
        app: App,
        say: Callable[[str], object],
        *,
        seconds: float,
        unguarded: Collection[str] = (),
        in_thread: bool = False,
    ) -> None:
        """Serve until Ctrl-C or SIGTERM, then give the requests in progress `seconds`. A second Ctrl-C cancels them.

        The pages `unguarded` need no token. `in_thread`: run `app` in an event loop and thread of its own, so that it
        replies while work on a long text holds this one. `say` prints what happens at the end.
        """
        from .connections import Server

        server = Server(_Access(app, self.secret, unguarded), seconds, say)
        server.handle_signals()
        if in_thread:
            await asyncio.wrap_future(in_daemon(asyncio.run, server.serve([self.socket])))
        else:
            await server.serve([self.socket])


def _listening(host: str, port: int) -> socket.socket:
    try:
        family, *_, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server((str(place[0]), port), family=family, backlog=1024)
    except (OSError, UnicodeError) as error:
        raise ConfigError(
            f"Cannot listen on {host} port {port}: {getattr(error, 'strerror', None) or error}.",
            hint="Choose another one with --host and --port.",
        ) from error


class _Access:
    """Lets in requests with the token. Without a token: requests that name this machine.

    A web page can point a name of its own at this machine and read the replies. Its requests name that name.
    """

    def __init__(self, app: App, secret: str, unguarded: Collection[str]) -> None:
        self._app = app
        self._expected = f"Bearer {secret}".encode() if secret else b""
        self._unguarded = frozenset(unguarded)
        if secret:
            self._refusal = _refusal(401, "The bearer token is missing or wrong.", "authentication_error")
        else:
            message = "Without a token, this server answers only requests to localhost."
            self._refusal = _refusal(403, message, "forbidden")

    async def __call__(self, scope: Messages, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        exchange = _Exchange(receive, send, has_body=bool({b"content-length", b"transfer-encoding"} & headers.keys()))
        app = self._app
        if scope["path"] not in self._unguarded and not self._lets_in(headers):
            app = self._refusal
        await exchange.run(app, scope)

    def _lets_in(self, headers: dict[bytes, bytes]) -> bool:
        if self._expected:
            return hmac.compare_digest(headers.get(b"authorization", b""), self._expected)
        return _is_of_this_machine(b"//" + headers.get(b"host", b""))


class _Exchange:
    """A request and its response. A response to half a request ends the connection."""

    def __init__(self, receive: Any, send: Any, *, has_body: bool) -> None:
        self._receive = receive
        self._send = send
        self._received = not has_body  # the whole request
        self._read = asyncio.Event()  # set when the application has read the whole request

    async def run(self, app: App, scope: Messages) -> None:
        """Let `app` answer. Cancel it if the client leaves."""
        answering = asyncio.ensure_future(app(scope, self.receive, self.send))
        leaving = asyncio.create_task(self._leave())
        try:
            await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if answering.done():
                answering.result()
        finally:
            answering.cancel()
            leaving.cancel()
            await asyncio.gather(answering, leaving, return_exceptions=True)

    async def receive(self) -> Messages:
        message: Messages = await self._receive()
        self._received = self._received or not message.get("more_body", False)
        if self._received:
            self._read.set()
        if message["type"] == "http.disconnect":
            await asyncio.Event().wait()  # `run` cancels the application, which would log the disconnect
        return message

    async def _leave(self) -> None:
        """Return when the client has left."""
        await self._read.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def send(self, message: Messages) -> None:
        if message["type"] == "http.response.start" and not self._received:
            message = {**message, "headers": [*message.get("headers", []), (b"connection", b"close")]}
        if message["type"] == "http.response.body" and not message.get("more_body", False) and not self._received:
            await self._send({**message, "more_body": True})
            await self._read_on()
            message = {"type": "http.response.body", "body": b""}
        await self._send(message)

    async def _read_on(self) -> None:
        """Read the rest of the request for a while. If we closed now, a client that sends would lose the response."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_READING_ON):
                while not self._received:
                    self._received = not (await self._receive()).get("more_body", False)


def _is_of_this_machine(url: bytes) -> bool:
    try:
        return is_loopback(urlsplit(url.decode("latin-1")).hostname or "")
    except ValueError:  # such as "//[::1"
        return False


def _refusal(status: int, message: str, kind: str) -> Any:
    from starlette.responses import JSONResponse

    body = {"error": {"message": message, "type": kind, "param": None, "code": kind}}
    return JSONResponse(body, status, {"WWW-Authenticate": "Bearer"} if status == 401 else None)
