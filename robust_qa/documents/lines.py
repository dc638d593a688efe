"""Read the lines of a stream as they arrive."""

from __future__ import annotations

import asyncio
import os
import queue
import select
import threading
from collections import deque

from ..errors import InputError

LONGEST = 256 * 1024 * 1024  # bytes of a line; the rest is dropped
_CHUNK = 256 * 1024


class Lines:
    """The lines of a file descriptor, without line ends.

    A thread reads the stream, so that a slow pipe does not block the event loop.
    `number`: that of the last line that `next` returned, from 1.
    """

    def __init__(self, descriptor: int) -> None:
        self.number = 0
        self._descriptor = descriptor
        self._whole: deque[bytes] = deque()
        self._parts: list[bytes] = []  # of the incomplete last line
        self._length = 0  # of those parts, including dropped bytes
        self._ended = False
        self._wanted: queue.SimpleQueue[asyncio.Future[bytes]] = queue.SimpleQueue()
        self._chunk: asyncio.Future[bytes] | None = None

    async def peek(self) -> bytes | None:
        """Return the next line without consuming it, None at the end."""
        while not self._whole and not self._ended:
            self._split(await self._read())
        return self._whole[0] if self._whole else None

    async def next(self) -> bytes | None:
        """Return the next line, None at the end or after `close`. Only one caller at a time."""
        if not self._whole and await Lines.peek(self) is None:  # a subclass may peek at more than a line
            return None
        self.number += 1
        return self._whole.popleft()

    def close(self) -> None:
        """Stop. A waiting caller gets None."""
        self._ended = True
        self._whole.clear()
        self._parts.clear()
        self._length = 0
        if self._chunk is not None and not self._chunk.done():
            self._chunk.set_result(b"")

    async def _read(self) -> bytes:
        if self._chunk is None:
            # A daemon thread, because a read may never return.
            threading.Thread(target=self._pump, name="rqa-lines", daemon=True).start()
        self._chunk = asyncio.get_running_loop().create_future()
        self._wanted.put(self._chunk)
        return await self._chunk

    def _pump(self) -> None:
        while True:
            future = self._wanted.get()
            chunk: bytes | OSError
            try:
                chunk = _read(self._descriptor)
            except OSError as error:
                chunk = error
            try:
                future.get_loop().call_soon_threadsafe(_deliver, future, chunk)
            except RuntimeError:
                return  # the event loop is closed
            if not chunk or isinstance(chunk, OSError):
                return

    def _split(self, chunk: bytes) -> None:
        if not chunk:
            self._ended = True
            if self._length:
                self._whole.append(b"".join(self._parts))
            self._parts.clear()
            return
        *whole, rest = chunk.split(b"\n")
        if whole:
            self._keep(whole[0])
            whole[0] = b"".join(self._parts)
            self._whole.extend(whole)
            self._parts.clear()
            self._length = 0
        self._keep(rest)

    def _keep(self, part: bytes) -> None:
        if self._length <= LONGEST:
            self._parts.append(part)
        self._length += len(part)


def _read(descriptor: int) -> bytes:
    while True:
        try:
            return os.read(descriptor, _CHUNK)
        except BlockingIOError:  # another process made the shared stream non-blocking
            select.select([descriptor], [], [])


def _deliver(future: asyncio.Future[bytes], chunk: bytes | OSError) -> None:
    if future.done():
        return
    if isinstance(chunk, OSError):
        future.set_exception(InputError(f"Cannot read the input: {chunk.strerror}."))
    else:
        future.set_result(chunk)
