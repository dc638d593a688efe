"""Listen on an address, and serve until a signal."""

from __future__ import annotations

import asyncio
import math
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import uvicorn

from robust_qa import ConfigError

if TYPE_CHECKING:
    from starlette.types import ASGIApp


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket. Raises ConfigError if the address cannot be used."""
    try:
        family, *_, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server((str(place[0]), port), family=family, backlog=1024)
    except (OSError, UnicodeError) as error:
        raise ConfigError(
            f"Cannot listen on {host} port {port}: {getattr(error, 'strerror', None) or error}.",
            hint="Choose another one with --host and --port.",
        ) from error


def address(host: str, listening: socket.socket) -> str:
    """Return the URL of the server."""
    return f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"


async def serve_until_stopped(app: ASGIApp, listening: socket.socket, seconds: float) -> None:
    """Serve until Ctrl-C or SIGTERM, then finish the requests in progress. A second signal cancels them."""
    config = uvicorn.Config(
        app,
        lifespan="off",
        ws="none",
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=math.ceil(seconds) + 1,
    )
    server = _Server(config)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, server.stop)
    await server.serve([listening])


class _Server(uvicorn.Server):
    """A server without uvicorn's signal handlers, which end the process before components are closed."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    def stop(self) -> None:
        """Stop in order at the first call, at once at the second."""
        self.force_exit, self.should_exit = self.should_exit, True
