"""For plugins that ask servers: bodies of bounded length, and Retry-After."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from time import time
from typing import TYPE_CHECKING

from ..errors import ReplyError
from ..sanitize import single_line

if TYPE_CHECKING:
    import httpx  # slow to import, and only plugins need it

_GZIP = 16 + zlib.MAX_WBITS


async def read_body(
    response: httpx.Response,
    limit: int,
    *,
    server: str = "",
    on_cut: Callable[[], None] | None = None,
    on_part: Callable[[bytes], None] | None = None,
) -> bytes:
    """Return the body of a streamed httpx response, decompressed, at most `limit` bytes of it.

    Memory use stays near `limit`, because bytes are counted while they are decompressed. Send
    `Accept-Encoding: gzip` with the request: only gzip and uncompressed bodies are read. `server` names the server
    in errors; by default it is the host of the URL. If the body is longer than `limit`, `on_cut` is called and the
    first `limit` bytes are returned. `on_part` gets each part of the body when it is there.

    Raises ReplyError if the body is longer than `limit` and there is no `on_cut`, if it has another content coding
    or several of them, or if it does not decompress. Raises what httpx raises if the connection fails.
    """
    server = server or response.url.host
    codings = response.headers.get("Content-Encoding", "").lower().split(",")
    match [coding for text in codings if (coding := text.strip()) not in ("", "identity")]:
        case []:
            inflate = None
        case ["gzip" | "x-gzip"]:
            inflate = zlib.decompressobj(_GZIP)
        case several:
            # Two layers of gzip turn 5 kB into 3 GB within one step.
            raise ReplyError(
                f"{server} replied in the content coding {single_line(', '.join(several))[:40]!r}; only gzip is read.",
                hint="Configure the server, or the proxy in front of it, to send gzip or no coding.",
            )
    body = bytearray()
    begun = ended = False
    async for chunk in response.aiter_raw():
        begun, before = True, len(body)
        if inflate is None:
            body += chunk
        elif ended:
            break  # bytes after the end of the gzip data would pile up in the decompressor
        else:
            try:
                body += inflate.decompress(chunk, limit + 1 - len(body))
            except zlib.error as error:
                raise ReplyError(f"{server} replied with a broken compressed body: {error}") from error
            ended = inflate.eof
        if on_part:
            on_part(bytes(body[before:]))
        if len(body) > limit:
            if on_cut is None:
                raise ReplyError(f"{server} replied with more than {_size(limit)}.")
            on_cut()
            return bytes(body[:limit])
    if inflate and begun and not ended:
        raise ReplyError(f"{server} replied with a compressed body that broke off.")
    return bytes(body)


def _size(limit: int) -> str:
    return f"{limit >> 20} MiB" if limit >= 1 << 20 else f"{limit} bytes"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait by `retry-after-ms` or `Retry-After` (RFC 9110, 10.2.3), None if neither is valid.

    `headers` must ignore case, as those of httpx do.
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
