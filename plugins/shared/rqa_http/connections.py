"""The web server uvicorn, with limits on connections that have not sent a whole request."""

from __future__ import annotations

import asyncio
import math
import resource
import signal
import socket
from collections.abc import Callable
from types import FrameType
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

_MOST_CONNECTIONS = 1000
_SENDING = 30.0  # seconds for a client to send a request, or to read on
_ACCEPTED = 100  # connections that asyncio accepts before it looks at any of them


class Server(uvicorn.Server):
    """Serves `app` until Ctrl-C or SIGTERM, then gives the requests in progress `seconds`. A second Ctrl-C ends them.

    A client has as long to send a request, and to read on when it has stopped, but at most 30 s. Connections take up at
    most half of the files that the process may open. The handlers of signals are `handle_signals`.
    """

    def __init__(self, app: Any, seconds: float, say: Callable[[str], object]) -> None:
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        super().__init__(
            uvicorn.Config(
                app, http=_Connection, ws="none", log_config=None, log_level="error", access_log=False,
                server_header=False, backlog=_ACCEPTED, limit_concurrency=min(_MOST_CONNECTIONS, files // 2),
                timeout_keep_alive=math.ceil(min(seconds, _SENDING)), timeout_graceful_shutdown=math.ceil(seconds),
            )
        )  # fmt: skip
        self._reported: set[str] = set()
        self._say = say

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop, and say what becomes of the requests in progress."""
        count = len(self.server_state.tasks)
        if count and not self.should_exit:
            seconds = self.config.timeout_graceful_shutdown
            self._say(f"stopping. Requests in progress: {count}. They have {seconds} s; Ctrl-C again cancels them")
        elif not self.should_exit:
            self._say("stopped")
        super().handle_exit(sig, frame)

    def handle_signals(self) -> None:
        """Stop at signals from now on, also while the main thread works. Call it in the main thread."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self.handle_exit)

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve in the current event loop. uvicorn's own would end the process before components are closed."""
        asyncio.get_running_loop().set_exception_handler(self._report)
        await self._serve(sockets)

    def _report(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log an error once. asyncio repeats that too many files are open for as long as they are."""
        error = f"{context['message']}: {context.get('exception')!r}"
        if error not in self._reported:
            self._reported.add(error)
            loop.default_exception_handler(context)


class _Connection(H11Protocol):
    """A connection. `due` closes it, and is None from a whole request to the end of the response.

    `stalled` closes it, and is None unless the client does not read what waits for it.
    """

    due: asyncio.TimerHandle | None = None
    stalled: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        if self.limit_concurrency and len(self.connections) + 1 >= self.limit_concurrency:
            self._make_room()
        super().connection_made(transport)
        self._set_timer()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._set_timer()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._set_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._stop_timer()
        if self.stalled:
            self.stalled.cancel()

    def pause_writing(self) -> None:
        super().pause_writing()
        self.stalled = self.loop.call_later(self.timeout_keep_alive, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self.stalled:
            self.stalled.cancel()

    def _make_room(self) -> None:
        """Close the connection that has been waiting longest for a request."""
        waiting = {each.due.when(): each for each in self.connections if isinstance(each, _Connection) and each.due}
        if waiting:
            oldest = waiting[min(waiting)]
            oldest._stop_timer()
            oldest.transport.abort()

    def _set_timer(self) -> None:
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._stop_timer()
        elif self.due is None:
            self.due = self.loop.call_later(self.timeout_keep_alive, self.transport.abort)

    def _stop_timer(self) -> None:
        if self.due:
            self.due.cancel()
            self.due = None
