"""Server-sent events while an answer is being written."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any

import msgspec

from robust_qa import RqaError
from robust_qa.kit import printable, single_line

from .requests import ApiError, api_error

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from .capacity import Capacity

ALIVE = b": waiting\n\n"  # a comment, so that proxies keep the connection open
_ALIVE = 10.0  # seconds between such comments


class Growing:
    """A watcher that holds the current step and the answer so far. Another thread may tell it."""

    streaming = True

    def __init__(self) -> None:
        self.text = ""
        self.doing = ""
        self._changed = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def step(self, what: str) -> None:
        self.doing = single_line(what)
        self._tell()

    def answer(self, text: str) -> None:
        self.text = printable(text)
        self._tell()

    def _tell(self) -> None:
        with suppress(RuntimeError):  # the server has stopped
            self._loop.call_soon_threadsafe(self._changed.set)

    async def until(self, answering: asyncio.Task[Any]) -> AsyncIterator[bool]:
        """Yield True at each change, and False when there is none for a while, until `answering` is done.

        If the caller stops earlier, `answering` is cancelled.
        """
        answering.add_done_callback(lambda _: self._changed.set())
        try:
            while not answering.done():
                yield await self._change()
        finally:
            answering.cancel()
            await asyncio.gather(answering, return_exceptions=True)

    async def _change(self) -> bool:
        try:
            async with asyncio.timeout(_ALIVE):
                await self._changed.wait()
        except TimeoutError:
            return False
        self._changed.clear()
        return True


class Events:
    """A response with events, in which an error becomes the last event."""

    def __init__(self, events: AsyncIterator[bytes], capacity: Capacity) -> None:
        self._events = events
        self._capacity = capacity

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._capacity.admitted():
            await self._send_to(send)

    async def _send_to(self, send: Send) -> None:
        headers = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-cache")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        async with aclosing(self._events) as events:  # type: ignore[type-var]
            try:
                async for event in events:
                    await send({"type": "http.response.body", "body": event, "more_body": True})
            except (RqaError, ApiError) as error:
                failed = api_error(error) if isinstance(error, RqaError) else error
                await send({"type": "http.response.body", "body": as_event(failed.body), "more_body": True})
        await send({"type": "http.response.body", "body": b""})


def as_event(data: Mapping[str, Any]) -> bytes:
    """Return `data` as an event."""
    return b"data: " + msgspec.json.encode(data) + b"\n\n"
