"""Serve an OpenAI-compatible endpoint that answers at once, to measure the overhead of clients.

    python benchmarks/endpoint.py [--latency SECONDS]

Serves chat completions on a free loopback port, prints its base URL, and stops when its stdin closes. A request with a
JSON schema gets the smallest valid reply. `GET /calls` returns the number of answered requests.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import msgspec


class _Format(msgspec.Struct):
    json_schema: dict[str, Any] = {}


class _Request(msgspec.Struct):
    response_format: _Format | None = None


_decode_request = msgspec.json.Decoder(_Request).decode


def instance(schema: dict[str, Any]) -> Any:
    """Return a small value that satisfies the schema of a reply."""
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:
        return instance(schema["anyOf"][0])
    kind = schema.get("type")
    match kind[0] if isinstance(kind, list) else kind:
        case "object":
            return {name: instance(value) for name, value in schema.get("properties", {}).items()}
        case "array":
            return [instance(schema.get("items", {}))] * max(1, schema.get("minItems", 1))
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return True
        case "null":
            return None
    return "Paris"


@lru_cache
def _reply(schema: bytes) -> bytes:
    text = msgspec.json.encode(instance(msgspec.json.decode(schema))).decode() if schema else "Answer: Paris"
    message = {"role": "assistant", "content": text}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    return _http(msgspec.json.encode({"id": "x", "object": "chat.completion", "choices": choices, "usage": usage}))


def _http(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


class Endpoint(asyncio.Protocol):
    """One keep-alive connection."""

    calls = 0
    latency = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._received = bytearray()

    def data_received(self, data: bytes) -> None:
        self._received += data
        while (end := self._received.find(b"\r\n\r\n")) >= 0:
            head = bytes(self._received[:end])
            start = head.lower().find(b"content-length:")
            length = int(head[start + 15 :].split(b"\r\n", 1)[0]) if start >= 0 else 0
            if len(self._received) < end + 4 + length:
                return
            body = bytes(self._received[end + 4 : end + 4 + length])
            del self._received[: end + 4 + length]
            self._serve(head, body)

    def _serve(self, head: bytes, body: bytes) -> None:
        if head.startswith(b"GET"):
            self._transport.write(_http(str(Endpoint.calls).encode()))
            return
        Endpoint.calls += 1
        wanted = _decode_request(body).response_format
        reply = _reply(msgspec.json.encode(wanted.json_schema.get("schema", {})) if wanted else b"")
        if self.latency:
            asyncio.get_running_loop().call_later(self.latency, self._transport.write, reply)
        else:
            self._transport.write(reply)


@contextmanager
def running(latency: float = 0.0) -> Iterator[str]:
    """Run the endpoint in its own process. Yields its base URL."""
    command = [sys.executable, __file__, "--latency", str(latency)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        yield process.stdout.readline().strip()
        process.stdin.close()


def calls(base_url: str) -> int:
    """Return the number of calls that the endpoint answered."""
    with urllib.request.urlopen(base_url.removesuffix("/v1") + "/calls") as response:
        return int(response.read())


async def _main(latency: float) -> None:
    Endpoint.latency = latency
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Endpoint, "127.0.0.1", 0, backlog=1024)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Serve chat completions that cost nothing.")
    parser.add_argument("--latency", type=float, default=0.0, metavar="SECONDS")
    asyncio.run(_main(parser.parse_args().latency))
