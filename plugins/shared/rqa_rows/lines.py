"""Split files into lines, and read streams as they arrive."""

from __future__ import annotations

import asyncio
import os
import queue
import select
import threading
from collections.abc import Iterator
from typing import BinaryIO

from robust_qa import InputError

LONGEST = 256 * 1024 * 1024  # bytes of a line; the rest is dropped
_CHUNK = 256 * 1024


class Splitter:
    """Splits chunks into lines without their ends. In a file without line feeds, lines end with carriage returns."""

    def __init__(self) -> None:
        self._end = b""
        self._parts: list[bytes] = []  # of the incomplete last line
        self._length = 0  # of those parts, including dropped bytes

    def add(self, chunk: bytes) -> list[bytes]:
        """The lines that end in this chunk."""
        if not self._end:
            self._end = b"\r" if b"\r" in chunk[:-1] and b"\n" not in chunk else b"\n"
        *whole, rest = chunk.split(self._end)
        if whole:
            self._keep(whole[0])
            whole[0] = b"".join(self._parts)
            self.clear()
        self._keep(rest)
        return whole

    def rest(self) -> list[bytes]:
        """The incomplete line at the end, if any."""
        line = [b"".join(self._parts)] if self._length else []
        self.clear()
        return line

    def clear(self) -> None:
        """Forget the incomplete line."""
        self._parts.clear()
        self._length = 0

    def _keep(self, part: bytes) -> None:
        if self._length <= LONGEST:
            self._parts.append(part)
        self._length += len(part)


def read_lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file, without line ends."""
    splitter = Splitter()
    while chunk := file.read(_CHUNK):
        yield from splitter.add(chunk)
    yield from splitter.rest()


class Chunks:
    """The content of a file descriptor as it arrives. A thread reads it, so that a slow pipe blocks nobody."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._closed = False
        self._wanted: queue.SimpleQueue[asyncio.Future[bytes]] = queue.SimpleQueue()
        self._chunk: asyncio.Future[bytes] | None = None

    def close(self) -> None:
        """Stop. A waiting caller gets b""."""
        self._closed = True
        if self._chunk is not None and not self._chunk.done():
            self._chunk.set_result(b"")

    async def next(self) -> bytes:
        """Return the next chunk, b"" at the end or after `close`. Only one caller at a time."""
        if self._closed:
            return b""
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
