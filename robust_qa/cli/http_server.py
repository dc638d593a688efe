"""Serve an application over HTTP: the options of the address, who may ask, and stopping in order.

It needs uvicorn, which is in the extras of the plugins that serve.
"""

from __future__ import annotations

import asyncio
import hmac
import math
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any, TypeVar
from urllib.parse import urlsplit

import click
import msgspec

from ..config.keys import Key, is_loopback
from ..errors import ConfigError
from .options import StoredKey

F = TypeVar("F", bound=Callable[..., Any])
Messages = MutableMapping[str, Any]
App = Callable[[Messages, Callable[[], Awaitable[Messages]], Callable[[Messages], Awaitable[None]]], Awaitable[None]]


def address_options(command: F) -> F:
    """Add the options --host, --port and --token. `token` is a Key or None."""
    for add in (
        click.option(
            "--token",
            metavar="NAME",
            type=StoredKey(),
            help="Require the stored key NAME as bearer token. Needed for addresses beyond this machine.",
        ),
        click.option(
            "--port",
            metavar="N",
            type=click.IntRange(0, 65_535),
            default=8765,
            show_default=True,
            help="0: a free port.",
        ),
        click.option("--host", metavar="ADDRESS", default="127.0.0.1", show_default=True, help="Address to listen on."),
    ):
        command = add(command)
    return command


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
        self.socket = _listening(host, port)
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{self.socket.getsockname()[1]}"
        self.secret = token.reveal(self.url) if token else ""

    async def serve(self, app: App, *, seconds: float, unguarded: str = "") -> None:
        """Serve until Ctrl-C or SIGTERM, then give the requests in progress `seconds`. A second signal cancels them.

        The page `unguarded` needs no token.
        """
        import uvicorn

        class Server(uvicorn.Server):
            @contextmanager
            def capture_signals(self) -> Iterator[None]:
                yield  # uvicorn's own handlers end the process before components are closed

            def stop(self) -> None:
                self.force_exit, self.should_exit = self.should_exit, True

        config = uvicorn.Config(
            _Access(app, self.secret, unguarded),
            ws="none",
            log_config=None,
            log_level="error",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=math.ceil(seconds),
        )
        server = Server(config)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, server.stop)
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

    def __init__(self, app: App, secret: str, unguarded: str) -> None:
        self._app = app
        self._expected = f"Bearer {secret}".encode() if secret else b""
        self._unguarded = unguarded

    async def __call__(self, scope: Messages, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["path"] == self._unguarded or self._lets_in(dict(scope["headers"])):
            await self._app(scope, receive, send)
        elif self._expected:
            await _refuse(send, 401, "The bearer token is missing or wrong.", "authentication_error")
        else:
            await _refuse(send, 403, "Without a token, this server answers only requests to localhost.", "forbidden")

    def _lets_in(self, headers: dict[bytes, bytes]) -> bool:
        if self._expected:
            return hmac.compare_digest(headers.get(b"authorization", b""), self._expected)
        try:
            host = urlsplit("//" + headers.get(b"host", b"").decode("latin-1")).hostname
        except ValueError:  # such as "[::1"
            return False
        return is_loopback(host or "")


async def _refuse(send: Any, status: int, message: str, kind: str) -> None:
    body = msgspec.json.encode({"error": {"message": message, "type": kind, "param": None, "code": kind}})
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
