"""The lines of a stream, each as soon as it is whole."""

from __future__ import annotations

import asyncio
import os
import queue
import select
import threading
from collections import deque

from ..errors import InputError

LONGEST = 256 * 1024 * 1024  # bytes; what a line has beyond that is thrown away
_CHUNK = 256 * 1024


class Lines:
    """The lines of `descriptor`, without their ends, in memory that does not grow with the stream.

    A thread reads, so a slow pipe holds up nothing else.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._whole: deque[bytes] = deque()
        self._parts: list[bytes] = []  # of the line that is not whole yet
        self._length = 0  # of those parts, thrown-away bytes included
        self._ended = False
        self._wanted: queue.SimpleQueue[asyncio.Future[bytes]] = queue.SimpleQueue()
        self._chunk: asyncio.Future[bytes] | None = None

    async def peek(self) -> bytes | None:
        """The line that `next` will give, left where it is; None at the end."""
        while not self._whole and not self._ended:
            self._split(await self._read())
        return self._whole[0] if self._whole else None

    async def next(self) -> bytes | None:
        """The next line; None at the end, and once closed. One caller at a time."""
        if not self._whole and await self.peek() is None:
            return None
        return self._whole.popleft()

    def close(self) -> None:
        """Give out nothing more; whoever waits for a line gets None."""
        self._ended = True
        self._whole.clear()
        self._parts.clear()
        self._length = 0
        if self._chunk is not None and not self._chunk.done():
            self._chunk.set_result(b"")

    async def _read(self) -> bytes:
        if self._chunk is None:
            # A daemon: a read that never returns must not keep the process.
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
                return  # the loop is closed: the run is over
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
        except BlockingIOError:  # whoever shares the stream with us may have made it so
            select.select([descriptor], [], [])


def _deliver(future: asyncio.Future[bytes], chunk: bytes | OSError) -> None:
    if future.done():
        return
    if isinstance(chunk, OSError):
        future.set_exception(InputError(f"Reading the input failed: {chunk.strerror}."))
    else:
        future.set_result(chunk)
