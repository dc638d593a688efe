"""A stand-in for an OpenAI-compatible endpoint: completions on loopback, scripted by what is asked.

    with serve(lambda request, n: "Paris") as server:
        ...  # call server.url, which ends in /v1
        assert server.requests[0].body["messages"][-1]["content"] == "Where is the Louvre?"

The script gets the request's JSON and its number (from 0) and returns the reply's text, a whole reply as a
dict, or a Fault. It runs in the server's thread. `python tests/standins/openai.py [LATENCY]` serves one fixed
answer until killed, for benchmarks that want the server in a process of its own.
"""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Fault:
    """A reply with something wrong: any status, headers and body, and the ways in which it fails to come."""

    status: int = 200
    body: str | bytes | dict[str, Any] | list[str] = b""  # a list is sent piece by piece
    headers: dict[str, str] = field(default_factory=dict)
    hang: bool = False  # no reply until the client leaves or the server stops
    reset: bool = False  # the connection is reset in place of a reply
    withheld: int = 0  # bytes that Content-Length promises and that never come
    pause: float = 0.0  # seconds between one byte, or one piece, of the body and the next


HANG = Fault(hang=True)
RESET = Fault(reset=True)
MALFORMED = Fault(body='{"choices": [{"mess')
HTML = Fault(body="<!doctype html><title>\x1b[31mLog in</title>", headers={"Content-Type": "text/html"})
TRUNCATED = Fault(body='{"choices": [', withheld=100)


def error(status: int, message: str = "", *, headers: dict[str, str] | None = None, **fields: Any) -> Fault:
    """An error as OpenAI words it; `fields` are its type, code and param."""
    return Fault(status, {"error": {"message": message or f"status {status}", **fields}}, headers or {})


def rate_limited(retry_after: str) -> Fault:
    """429, and when to come back: seconds or an HTTP date."""
    return error(429, "Rate limit reached.", code="rate_limit_exceeded", headers={"Retry-After": retry_after})


def unsupported(param: str, instead: str = "") -> Fault:
    """400 for a field that this model does not take, as OpenAI words it."""
    message = f"Unsupported parameter: '{param}' is not supported with this model."
    if instead:
        message += f" Use '{instead}' instead."
    return error(400, message, type="invalid_request_error", param=param, code="unsupported_parameter")


def completion(text: str | None, *, finish: str = "stop", **message: Any) -> dict[str, Any]:
    """A whole reply; `message` are further fields of the assistant's message."""
    said = {"role": "assistant", "content": text, **message}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "stand-in",
        "choices": [{"index": 0, "message": said, "finish_reason": finish}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
    }


def continuation(*tokens: tuple[Any, ...], finish: str = "stop", text: str | None = None) -> dict[str, Any]:
    """A whole reply of /completions; a token is its text, its log-probability, and by text those of the likeliest.

    `text` is all of them together, unless told.
    """
    texts = [token[0] for token in tokens]
    logprobs = {
        "tokens": texts,
        "token_logprobs": [token[1] for token in tokens],
        "top_logprobs": [token[2] if len(token) > 2 else None for token in tokens],
        "text_offset": [len("".join(texts[:n])) for n in range(len(texts))],
    }
    said = "".join(texts) if text is None else text
    return {
        "id": "cmpl-1",
        "object": "text_completion",
        "created": 1,
        "model": "stand-in",
        "choices": [{"index": 0, "text": said, "logprobs": logprobs, "finish_reason": finish}],
        "usage": {"prompt_tokens": 7, "completion_tokens": len(tokens), "total_tokens": 7 + len(tokens)},
    }


def streamed(*pieces: str, pause: float = 0.0, finish: str | None = "stop", done: bool = True) -> Fault:
    """A reply as server-sent events, one for each piece of its text."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}, *({"content": piece} for piece in pieces)]
    chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    if finish:
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    chunks.append({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": len(pieces)}})  # type: ignore[dict-item]
    events = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
    return Fault(body=[*events, *(["data: [DONE]\n\n"] if done else [])], headers=_EVENTS, pause=pause)


_EVENTS = {"Content-Type": "text/event-stream"}


Script = Callable[[dict[str, Any], int], "str | dict[str, Any] | Fault"]


@dataclass
class Request:
    """What was asked; `headers` by lower-case name, times by time.monotonic(), `ended` 0 until then."""

    path: str
    headers: dict[str, str]
    body: Any
    started: float
    ended: float = 0.0
    method: str = "POST"


class Server:
    """A running stand-in; `count` and `peak` are requests so far, and in flight at most."""

    def __init__(
        self, script: Script, latency: float, record: bool, tls: ssl.SSLContext | None = None, gather: int = 0
    ) -> None:
        self.url = ""
        self.requests: list[Request] = []
        self.count = 0
        self.peak = 0
        self.connections = 0
        self._script = script
        self._latency = latency
        self._gather = gather
        self._tls = tls
        self._record = record
        self._in_flight = 0
        self._conversations: set[asyncio.Task[None]] = set()

    async def run(self, ready: threading.Event) -> None:
        server = await asyncio.start_server(self._converse, "127.0.0.1", 0, limit=1 << 24, backlog=1024, ssl=self._tls)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        loop, stopped = asyncio.get_running_loop(), asyncio.Event()
        self.stop = lambda: loop.call_soon_threadsafe(stopped.set)
        ready.set()
        await stopped.wait()
        server.close()
        await asyncio.sleep(0.01)  # connections that were just accepted begin their conversation
        for conversation in self._conversations:
            conversation.cancel()
        await asyncio.gather(*self._conversations)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        conversation = asyncio.current_task()
        assert conversation is not None
        self._conversations.add(conversation)
        conversation.add_done_callback(self._conversations.discard)
        try:
            with suppress(asyncio.IncompleteReadError, ConnectionError):
                while await self._exchange(reader, writer):
                    pass
        except asyncio.CancelledError:
            writer.transport.abort()  # close() would wait until a client that left has read the rest
        finally:
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Read one request and reply to it; whether the connection lives on."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").splitlines()
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:-1])}
        body = self._parsed(await reader.readexactly(int(headers.get("content-length", 0))))
        number, self.count = self.count, self.count + 1
        method, path, _ = head[0].split()
        request = Request(path, headers, body, time.monotonic(), method=method)
        if self._record:
            self.requests.append(request)
        self._in_flight += 1
        self.peak = max(self.peak, self._in_flight)
        try:
            while self.peak < self._gather:
                await asyncio.sleep(0.01)
            if self._latency:
                await asyncio.sleep(self._latency)
            return await _send(self._reply(request, number), reader, writer)
        finally:
            self._in_flight -= 1
            request.ended = time.monotonic()

    def _parsed(self, body: bytes) -> Any:
        return json.loads(body or b"null")

    def _reply(self, request: Request, number: int) -> Fault:
        page = request.path.partition("?")[0]
        if page not in ("/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/rerank"):
            return Fault(404, {"detail": "Not Found"})
        try:
            reply = self._script(request.body, number)
        except Exception as fault:  # told to the test through the client
            return error(500, f"the script raised {fault!r}")
        if isinstance(reply, Fault):
            return reply
        if isinstance(reply, dict):
            return Fault(body=reply)
        body = completion(reply) if page.endswith("/chat/completions") else continuation((reply, 0.0))
        if (sent := len(str(request.body))) > 2000:  # a server that read all of a long prompt
            body["usage"]["prompt_tokens"] = sent // 4
        return Fault(body=body)


async def _send(reply: Fault, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    if reply.hang:
        await reader.read()
        return False
    if reply.reset:
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()
        return False
    pieces = reply.body if isinstance(reply.body, list) else []
    body = json.dumps(reply.body) if isinstance(reply.body, dict) else "".join(pieces) or reply.body
    assert not isinstance(body, list)
    payload = body.encode() if isinstance(body, str) else body
    length = str(len(payload) + reply.withheld)
    headers = {"Content-Type": "application/json", "Content-Length": length, **reply.headers}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    head = f"HTTP/1.1 {reply.status} Scripted\r\n{lines}\r\n".encode("latin-1")
    parts = [piece.encode() for piece in pieces] or [bytes([byte]) for byte in payload]
    for piece in [head, *parts] if reply.pause else [head + payload]:
        writer.write(piece)
        await writer.drain()
        await asyncio.sleep(reply.pause)
    return not reply.withheld


@contextmanager
def running(server: Server) -> Iterator[Server]:
    """`server` in a thread of its own, stopped on leaving."""
    ready = threading.Event()
    thread = threading.Thread(target=lambda: asyncio.run(server.run(ready)), daemon=True)
    thread.start()
    ready.wait(10)
    try:
        yield server
    finally:
        server.stop()
        thread.join()


@contextmanager
def serve(
    script: Script,
    *,
    latency: float = 0.0,
    record: bool = True,
    tls: ssl.SSLContext | None = None,
    gather: int = 0,
) -> Iterator[Server]:
    """A stand-in for an endpoint, running.

    `latency` is the least time to a reply, in seconds; `record = False` keeps no requests, for long runs.
    No reply is sent before `gather` requests were in flight at once.
    """
    with running(Server(script, latency, record, tls, gather)) as server:
        yield server


if __name__ == "__main__":
    with serve(lambda request, n: "Paris.", latency=float([*sys.argv, "0"][1]), record=False) as running:
        sys.stdout.write(f"{running.url}\n")
        sys.stdout.flush()
        threading.Event().wait()
