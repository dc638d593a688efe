"""For plugins that ask servers: bodies of bounded length, and Retry-After."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, suppress
from email.utils import parsedate_to_datetime
from time import time
from typing import TYPE_CHECKING

from robust_qa import ReplyError
from robust_qa.kit import single_line

if TYPE_CHECKING:
    import aiohttp  # slow to import, and only plugins need them
    import httpx

_GZIP = 16 + zlib.MAX_WBITS
_STEP = 1 << 16  # bytes that are decompressed before other tasks, and timeouts, have their turn


async def read_body(
    response: httpx.Response | aiohttp.ClientResponse,
    limit: int,
    *,
    server: str = "",
    on_cut: Callable[[], None] | None = None,
    on_part: Callable[[bytes], None] | None = None,
) -> bytes:
    """Return the body of a streamed response of httpx or aiohttp, decompressed, at most `limit` bytes of it.

    Memory use stays near `limit`, because bytes are counted while they are decompressed. Send
    `Accept-Encoding: gzip` with the request: only gzip and uncompressed bodies are read. A session of aiohttp needs
    `auto_decompress=False`. `server` names the server in errors; by default it is the host of the URL. If the body is
    longer than `limit`, `on_cut` is called and the first `limit` bytes are returned. `on_part` gets each part of the
    body when it is there, 64 KiB at most.

    Raises ReplyError if the body is longer than `limit` and there is no `on_cut`, if it has another content coding
    or several of them, or if it does not decompress. Raises what the library raises if the connection fails.
    """
    server = server or response.url.host or ""
    body = bytearray()
    async with aclosing(body_parts(response, server)) as parts:
        async for part in parts:
            body += part
            if on_part:
                on_part(part)
            if len(body) > limit:
                if on_cut is None:
                    raise ReplyError(f"{server} replied with more than {_size(limit)}.")
                on_cut()
                return bytes(body[:limit])
            await asyncio.sleep(0)
    return bytes(body)


async def body_parts(response: httpx.Response | aiohttp.ClientResponse, server: str) -> AsyncGenerator[bytes, None]:
    """Yield the body of a response as `read_body` does, in parts of 64 KiB at most. Raises ReplyError as it does."""
    inflate = _decompressor(response.headers.get("Content-Encoding", ""), server)
    begun = False
    chunks = response.aiter_raw() if hasattr(response, "aiter_raw") else response.content.iter_any()
    async for chunk in chunks:
        if inflate is None:
            for start in range(0, len(chunk), _STEP):
                yield chunk[start : start + _STEP]
            continue
        if inflate.eof:
            break  # bytes after the end of the gzip data would pile up in the decompressor
        begun, rest = True, chunk
        while rest:
            try:
                part = inflate.decompress(rest, _STEP)
            except zlib.error as error:
                raise ReplyError(f"{server} replied with a broken compressed body: {error}") from error
            rest = inflate.unconsumed_tail
            yield part
    if inflate and begun and not inflate.eof:
        raise ReplyError(f"{server} replied with a compressed body that broke off.")


def _decompressor(coding: str, server: str) -> zlib._Decompress | None:
    match [each for text in coding.lower().split(",") if (each := text.strip()) not in ("", "identity")]:
        case []:
            return None
        case ["gzip" | "x-gzip"]:
            return zlib.decompressobj(_GZIP)
        case several:
            # Two layers of gzip turn 5 kB into 3 GB within one step.
            raise ReplyError(
                f"{server} replied in the content coding {single_line(', '.join(several))[:40]!r}; only gzip is read.",
                hint="Configure the server, or the proxy in front of it, to send gzip or no coding.",
            )


def _size(limit: int) -> str:
    return f"{limit >> 20} MiB" if limit >= 1 << 20 else f"{limit} bytes"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait by `retry-after-ms` or `Retry-After` (RFC 9110, 10.2.3), None if neither is valid.

    `headers` must ignore case, as those of httpx and aiohttp do.
    """
    value = headers.get("retry-after", "")
    parsers: tuple[Callable[[], float], ...] = (
        lambda: float(headers.get("retry-after-ms", "")) / 1000,
        lambda: float(value),
        lambda: parsedate_to_datetime(value).timestamp() - time(),
    )
    for parse in parsers:
        with suppress(ValueError, OverflowError):
            if (seconds := parse()) < float("inf"):
                return max(0.0, seconds)
    return None
