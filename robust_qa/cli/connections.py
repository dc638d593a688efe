"""The web server uvicorn with limits: how many connections, and how long a client may take to send a request."""

from __future__ import annotations

import asyncio
import resource
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

_MOST_CONNECTIONS = 1000
_SENDING = 20.0  # seconds for a client to send a request
_LEAVING = 5.0  # seconds for requests to end after their connections
_RETRY = 0.05  # seconds
_TOO_LATE = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class Server(uvicorn.Server):
    """Serves `app` at the socket `listening` until `stop`, then gives the requests in progress `seconds`.

    uvicorn's own accept loop fails on every connection beyond the limit of open files, and logs each failure.
    """

    def __init__(self, app: Any, listening: socket.socket, seconds: float) -> None:
        super().__init__(
            uvicorn.Config(app, ws="none", log_config=None, log_level="error", access_log=False, server_header=False)
        )
        self._listening = listening
        self._seconds = seconds
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        few = files != resource.RLIM_INFINITY and files // 2 < _MOST_CONNECTIONS
        self._most = max(files // 2, 1) if few else _MOST_CONNECTIONS  # the rest is for models and files

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals alone: uvicorn's handlers end the process before components are closed."""
        yield

    def stop(self) -> None:
        """Accept no more requests. The second time, close the connections, which cancels the requests in progress."""
        if self.should_exit:
            self._close_connections()
        else:
            self.should_exit = True
            asyncio.get_running_loop().call_later(self._seconds, self._close_connections)

    async def main_loop(self) -> None:
        """Accept connections until `stop`."""
        accepting = asyncio.create_task(self._accept())
        try:
            await super().main_loop()
        finally:
            accepting.cancel()
            await asyncio.gather(accepting, return_exceptions=True)
            self._listening.close()

    def _close_connections(self) -> None:
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        asyncio.get_running_loop().call_later(_LEAVING, setattr, self, "force_exit", True)

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        self._listening.setblocking(False)
        while True:
            try:
                accepted, _ = await loop.sock_accept(self._listening)
                await self._make_room()
                await loop.connect_accepted_socket(self._connection, accepted)
            except OSError:  # the client has left, or too many files are open
                await asyncio.sleep(_RETRY)

    async def _make_room(self) -> None:
        """Close the connection that has been waiting longest for a request, if there are too many."""
        while len(self.server_state.connections) >= self._most:
            waiting = [(each.due.when(), id(each), each) for each in self._connections() if each.due]
            if waiting:
                _, _, oldest = min(waiting)
                oldest.transport.abort()
            await asyncio.sleep(0 if waiting else _RETRY)

    def _connections(self) -> list[_Connection]:
        return [each for each in self.server_state.connections if isinstance(each, _Connection)]

    def _connection(self) -> _Connection:
        return _Connection(min(self._seconds, _SENDING), self)


class _Connection(H11Protocol):
    """A connection that closes if its client takes longer than `seconds` to send a request.

    `due`: the timer, None while the request is complete and its response is not.
    """

    def __init__(self, seconds: float, server: Server) -> None:
        super().__init__(server.config, server.server_state, server.lifespan.state)
        self.due: asyncio.TimerHandle | None = None
        self._seconds = seconds

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._set_timer()

    def data_received(self, data: bytes) -> None:
        if self._is_idle():  # this is the first byte of a request
            self._stop_timer()
        super().data_received(data)
        self._set_timer()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._set_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def _set_timer(self) -> None:
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY) or self.transport.is_closing():
            self._stop_timer()
        elif self.due is None:
            self.due = self.loop.call_later(self._seconds, self._close_late)

    def _stop_timer(self) -> None:
        if self.due is not None:
            self.due.cancel()
            self.due = None

    def _is_idle(self) -> bool:
        return self.conn.their_state is h11.IDLE and not self.conn.trailing_data[0]

    def _close_late(self) -> None:
        in_body = self.conn.their_state is h11.SEND_BODY
        if not self._is_idle() and not (in_body and self.cycle.response_started):
            self.transport.write(_TOO_LATE)
        self.transport.close()
