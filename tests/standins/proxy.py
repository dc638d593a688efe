"""A stand-in for an HTTP proxy that tunnels CONNECT requests, on loopback.

with tunnel(server_port) as proxy:
    ...  # set HTTPS_PROXY to proxy.url
    assert proxy.heads == ["CONNECT models.invalid:443 HTTP/1.1\\r\\n..."]
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Tunnel:
    """Connects every CONNECT request to `port` on this machine, or answers it with `refusal`."""

    def __init__(self, port: int, refusal: str) -> None:
        self.url = ""
        self.heads: list[str] = []
        self._port = port
        self._refusal = refusal
        self._writers: list[asyncio.StreamWriter] = []

    async def run(self, ready: threading.Event) -> None:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        loop, stopped = asyncio.get_running_loop(), asyncio.Event()
        self.stop = lambda: loop.call_soon_threadsafe(stopped.set)
        ready.set()
        await stopped.wait()
        server.close()
        for writer in self._writers:
            writer.transport.abort()
        await asyncio.sleep(0.01)  # the transports close

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        self.heads.append((await reader.readuntil(b"\r\n\r\n")).decode("latin-1"))
        if self._refusal:
            writer.write(f"HTTP/1.1 {self._refusal}\r\nContent-Length: 0\r\n\r\n".encode())
            writer.close()
            return
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._port)
        self._writers.append(far_writer)
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await asyncio.gather(_copy(reader, far_writer), _copy(far_reader, writer))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(1 << 16):
            writer.write(data)
    writer.close()


@contextmanager
def tunnel(port: int, *, refusal: str = "") -> Iterator[Tunnel]:
    """A running proxy. With `refusal`, such as "403 Forbidden", it tunnels nothing."""
    proxy, ready = Tunnel(port, refusal), threading.Event()
    thread = threading.Thread(target=lambda: asyncio.run(proxy.run(ready)), daemon=True)
    thread.start()
    ready.wait(10)
    try:
        yield proxy
    finally:
        proxy.stop()
        thread.join()
