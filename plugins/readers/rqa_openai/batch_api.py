"""The pages of an endpoint's batch API: upload a file, begin a batch, ask how it goes, fetch its replies.

The format is OpenAI's (https://platform.openai.com/docs/api-reference/batch).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import IO, Any, TypeVar
from urllib.parse import quote

import httpx
import msgspec

from robust_qa import RefusedError, ReplyError, __version__
from robust_qa.kit import httpx_errors, is_loopback, read_body

from .client import Client
from .refusals import error_for, refusal_in
from .replies import Reply, decoded

T = TypeVar("T")

ENDPOINT = "/v1/chat/completions"  # the page that answers the requests, as the format names it
_PURPOSE, _WINDOW = "batch", "24h"
_SECONDS = 120.0  # for each part of a request or reply
_CONNECT_SECONDS = 10.0
_BODY_BYTES = 16 << 20  # of a line, and of any reply but a file
_LISTED = 100  # batches; the most that a page lists
_NO_PAGE = {404, 405, 501}


class Problem(msgspec.Struct):
    """An error of a batch or of one request."""

    code: str | None = None
    message: str | None = None


class _Problems(msgspec.Struct):
    data: list[Problem] | None = None


class Batch(msgspec.Struct):
    """A batch at the provider. Its files are there when it has ended."""

    id: str
    status: str = ""
    input_file_id: str = ""
    output_file_id: str | None = None
    error_file_id: str | None = None
    errors: _Problems | None = None

    @property
    def ended(self) -> bool:
        """Whether the provider has finished with it."""
        return self.status in {"completed", "failed", "expired", "cancelled"}

    @property
    def problem(self) -> Problem:
        """Why it failed."""
        return ((self.errors and self.errors.data) or [Problem()])[0]


class Response(msgspec.Struct):
    """The reply to one request."""

    status_code: int = 0
    body: msgspec.Raw = msgspec.Raw(b"null")


class Line(msgspec.Struct):
    """A line of an output file or an error file."""

    custom_id: str = ""
    response: Response | None = None
    error: Problem | None = None


class _File(msgspec.Struct):
    id: str


class _List(msgspec.Struct):
    data: list[Batch]


class BatchApi:
    """Calls the pages with the address, key and headers of `client`.

    Every method raises UnavailableError or CallTimeout if a retry may help, RefusedError or ReplyError if not.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._endpoint = client.endpoint
        self._http: httpx.AsyncClient | None = None

    async def check(self) -> None:
        """Raise RefusedError if the endpoint has no batch API, or rejects the key."""
        reply = await self._reply("GET", "/batches", {"limit": "1"})
        if reply.status in _NO_PAGE:
            raise self._no_api(f"returned status {reply.status}")
        try:
            self._decoded(reply, _List, "list of batches")
        except ReplyError as error:
            raise self._no_api("is not a list of batches") from error

    async def upload(self, content: IO[bytes]) -> str:
        """Upload a file of requests and return its id."""
        content.seek(0)
        files = {"file": ("requests.jsonl", content, "application/jsonl")}
        reply = await self._reply("POST", "/files", data={"purpose": _PURPOSE}, files=files)
        return self._decoded(reply, _File, "file").id

    async def begin(self, file: str) -> Batch:
        """Begin a batch of an uploaded file."""
        request = {"input_file_id": file, "endpoint": ENDPOINT, "completion_window": _WINDOW}
        return self._decoded(await self._reply("POST", "/batches", json=request), Batch, "batch")

    async def find(self, file: str) -> Batch | None:
        """Return the batch of that file, if it is one of the last 100."""
        reply = await self._reply("GET", "/batches", {"limit": str(_LISTED)})
        batches = self._decoded(reply, _List, "list of batches").data
        return next((batch for batch in batches if batch.input_file_id == file), None)

    async def batch(self, id: str) -> Batch:
        """Return the batch as it is now."""
        return self._decoded(await self._reply("GET", f"/batches/{quote(id, safe='')}"), Batch, "batch")

    async def lines(self, file: str) -> AsyncIterator[Line]:
        """Yield the lines of a file. Skips those that are not valid."""
        async with self._response("GET", f"/files/{quote(file, safe='')}/content") as response:
            if not response.is_success:
                self._check(await self._whole(response))
            rest = b""
            async for part in response.aiter_bytes():
                *complete, rest = (rest + part).split(b"\n")
                if len(rest) > _BODY_BYTES:
                    raise ReplyError(f"{self._endpoint} returned a file with a line of more than 16 MiB.")
                for line in map(_line, complete):
                    yield line
            yield _line(rest)

    async def close(self) -> None:
        """Close the connections."""
        if self._http is not None:
            await self._http.aclose()

    def _decoded(self, reply: Reply, type: type[T], kind: str) -> T:
        self._check(reply)
        return decoded(msgspec.json.Decoder(type), kind, reply, self._endpoint)

    def _check(self, reply: Reply) -> None:
        """Raise the error in `reply`, if it is one."""
        if not 200 <= reply.status < 300 and (refusal := refusal_in(reply)):
            raise error_for(refusal, reply, self._endpoint)

    def _no_api(self, why: str) -> RefusedError:
        return RefusedError(
            f"{self._endpoint} has no batch API: its page /batches {why}.",
            hint="Leave out --provider-batch, or choose the model of a provider with OpenAI's Batch API.",
        )

    async def _reply(self, method: str, page: str, query: Mapping[str, str] | None = None, **content: Any) -> Reply:
        async with self._response(method, page, query, **content) as response:
            return await self._whole(response)

    async def _whole(self, response: httpx.Response) -> Reply:
        body = await read_body(response, _BODY_BYTES, server=str(self._endpoint))
        return Reply(response.status_code, response.headers, body)

    @asynccontextmanager
    async def _response(
        self, method: str, page: str, query: Mapping[str, str] | None = None, **content: Any
    ) -> AsyncIterator[httpx.Response]:
        url = httpx.URL(self._client.url(page)).copy_merge_params(query or {})
        with httpx_errors(str(self._endpoint), _SECONDS, shown=self._endpoint.excerpt):
            async with self._connected(url).stream(method, url, **content) as response:
                yield response

    def _connected(self, url: httpx.URL) -> httpx.AsyncClient:
        if self._http is None:
            headers = httpx.Headers({"Accept-Encoding": "gzip", "User-Agent": f"robust-qa/{__version__}"})
            for further in self._client.headers:
                headers.update(further)
            self._http = httpx.AsyncClient(
                headers=headers,
                trust_env=not is_loopback(url.host),  # no proxy for servers on this machine
                timeout=httpx.Timeout(_SECONDS, connect=_CONNECT_SECONDS),
            )
        return self._http


def _line(content: bytes) -> Line:
    try:
        return msgspec.json.decode(content, type=Line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Line()
