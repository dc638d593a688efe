"""The pages of an endpoint's batch API: upload a file, begin a batch, ask how it goes, fetch its replies.

The format is OpenAI's (https://platform.openai.com/docs/api-reference/batch).
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import IO, Any, TypeVar
from urllib.parse import quote

import httpx
import msgspec

from robust_qa import (
    Completion,
    Decoding,
    Message,
    RefusedError,
    ReplyError,
    __version__,
)
from robust_qa.kit import is_loopback
from rqa_http import body_parts, httpx_errors, json_object, read_body

from .client import Client
from .dialect import Dialect, encode
from .refusals import error_for, refusal_in
from .replies import Reply, decoded

T = TypeVar("T")

_ENDPOINT = "/v1/chat/completions"  # the page that answers the requests, as the format names it
_ENDED = {"completed", "failed", "expired", "cancelled"}
_SECONDS = 120.0  # for each part of a request or reply
_CONNECT_SECONDS = 10.0
_BODY_BYTES = 16 << 20  # of a line, and of any reply but a file
_LISTED = 100  # batches; the most that a page lists


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch at the provider. `files` have the replies when it has `ended`, `reason` is "" unless it failed.

    `queue_full`: it failed because the account has too many tokens in batches.
    """

    ended: bool
    status: str
    files: tuple[str, ...]
    reason: str
    queue_full: bool


class _Problem(msgspec.Struct):
    code: str | None = None
    message: str | None = None


class _Problems(msgspec.Struct):
    data: list[_Problem] | None = None


class _Batch(msgspec.Struct):
    id: str
    status: str = ""
    input_file_id: str = ""
    output_file_id: str | None = None
    error_file_id: str | None = None
    errors: _Problems | None = None


class _Response(msgspec.Struct):
    status_code: int = 0
    body: msgspec.Raw = msgspec.Raw(b"null")


class _Line(msgspec.Struct):
    """A line of an output file or an error file."""

    custom_id: str = ""
    response: _Response | None = None
    error: _Problem | None = None


class _File(msgspec.Struct):
    id: str


class _List(msgspec.Struct):
    data: list[_Batch]


class BatchApi:
    """Calls the pages with the address, key and headers of `client`.

    `request` returns the function that writes a request, and `completion` reads a reply. Coroutines raise
    UnavailableError or CallTimeout if the same request may work later, and another RqaError if it will not.
    """

    def __init__(
        self,
        client: Client,
        request: Callable[[list[Message], Decoding], Callable[[Dialect], dict[str, Any]]],
        completion: Callable[[Reply, Dialect, list[Message], Decoding], Completion],
    ) -> None:
        self._client = client
        self._request = request
        self._completion = completion
        self._endpoint = client.endpoint
        self._dialect = client.dialect  # for digests, which must not depend on what was learnt
        self._http: httpx.AsyncClient | None = None

    def digest(self, messages: list[Message], decoding: Decoding) -> str:
        """Return what identifies this request, also in a later run."""
        content = encode(self._client.body(self._request(messages, decoding), self._dialect))
        return hashlib.sha256(content + self._endpoint.address.encode()).hexdigest()[:32]

    def line(self, id: str, messages: list[Message], decoding: Decoding) -> bytes:
        """Return the line of a request in a file of requests."""
        body = self._client.body(self._request(messages, decoding), self._client.dialect)
        return encode({"custom_id": id, "method": "POST", "url": _ENDPOINT, "body": body}) + b"\n"

    def completion(self, reply: bytes, messages: list[Message], decoding: Decoding) -> Completion:
        """Return the completion in a reply. Raises ReplyError if there is none."""
        return self._completion(Reply(200, {}, reply), self._client.dialect, messages, decoding)

    async def check(self) -> None:
        """Raise RefusedError if the endpoint has no batch API, or rejects the key."""
        reply = await self._reply("GET", "/batches", {"limit": "1"})
        if reply.status not in {404, 405, 501}:
            self._check(reply)
        if not isinstance(json_object(reply.body).get("data"), list):
            raise RefusedError(
                f"{self._endpoint} has no batch API: its page /batches returned status {reply.status} and no list.",
                hint="Leave out --engine provider, or choose the model of a provider with OpenAI's Batch API.",
            )

    async def upload(self, content: IO[bytes]) -> str:
        """Upload a file of requests and return its id."""
        content.seek(0)
        files = {"file": ("requests.jsonl", content, "application/jsonl")}
        reply = await self._reply("POST", "/files", data={"purpose": "batch"}, files=files)
        return self._decoded(reply, _File, "file").id

    async def begin(self, file: str) -> str:
        """Begin a batch of an uploaded file and return its id.

        If one of the last 100 batches has this file, it is that one: its id was lost in an interruption.
        """
        listed = self._decoded(await self._reply("GET", "/batches", {"limit": str(_LISTED)}), _List, "list of batches")
        if earlier := next((batch for batch in listed.data if batch.input_file_id == file), None):
            return earlier.id
        request = {"input_file_id": file, "endpoint": _ENDPOINT, "completion_window": "24h"}
        return self._decoded(await self._reply("POST", "/batches", json=request), _Batch, "batch").id

    async def batch(self, id: str) -> Batch:
        """Return the batch as it is now."""
        now = self._decoded(await self._reply("GET", f"/batches/{quote(id, safe='')}"), _Batch, "batch")
        problem = ((now.errors and now.errors.data) or [_Problem()])[0]
        return Batch(
            ended=now.status in _ENDED,
            status=now.status,
            files=tuple(filter(None, (now.output_file_id, now.error_file_id))),
            reason=self._endpoint.excerpt(problem.message or ""),
            queue_full=now.status == "failed" and problem.code == "token_limit_exceeded",
        )

    async def replies(self, batch: Batch) -> AsyncIterator[tuple[str, bytes | None, str]]:
        """Yield the id of each request with its reply. Without a reply: None, and the reason or ""."""
        for file in batch.files:
            async for line in self._lines(file):
                if line.response and line.response.status_code == 200:
                    yield line.custom_id, bytes(line.response.body), ""
                else:
                    yield line.custom_id, None, self._endpoint.excerpt(_reason(line))

    async def _lines(self, file: str) -> AsyncIterator[_Line]:
        """Yield the lines of a file. Those that are not valid are empty."""
        async with self._response("GET", f"/files/{quote(file, safe='')}/content") as response:
            if not response.is_success:
                self._check(await self._whole(response))
            rest = b""
            async for part in body_parts(response, str(self._endpoint)):
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
            raise error_for(refusal, reply, self._endpoint, "the Batch API")

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


def _line(content: bytes) -> _Line:
    try:
        return msgspec.json.decode(content, type=_Line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _Line()


def _reason(line: _Line) -> str:
    if line.error:
        return line.error.message or line.error.code or ""
    refusal = refusal_in(Reply(line.response.status_code, {}, bytes(line.response.body))) if line.response else None
    return refusal.message if refusal else ""
