"""Ask a model server that misbehaves in thirty ways, with `rqa ask`, `rqa batch` and `rqa serve`.

    python benchmarks/hostile_replies.py [--timeout 5] [--only WORD]

Prints a table of outcomes, "answer" or the error, and the seconds until then; those of `rqa batch` are of all rows
together. No wait may be much longer than the reader's timeout, and nothing is retried. Below it are the longest wait,
the most memory of each command, and the longest wait for /health of the server meanwhile.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

RQA = [sys.executable, "-c", "from robust_qa.main import main; main()"]
GIVEN_UP = 90.0  # seconds until a command is killed
MANY = 11_000_000  # characters
Reply = Callable[[socket.socket], None]


def http(body: bytes = b"", *headers: str, status: str = "200 OK", more: int = 0) -> bytes:
    lines = [f"HTTP/1.1 {status}", *(headers or ["Content-Type: application/json"])]
    return "\r\n".join([*lines, f"Content-Length: {len(body) + more}", "Connection: close", "", ""]).encode() + body


def said(text: str | None, **fields: Any) -> bytes:
    choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop", **fields}
    return json.dumps({"choices": [choice]}).encode()


def event(text: str) -> bytes:
    return b"data: " + json.dumps({"choices": [{"delta": {"content": text}}]}).encode() + b"\n\n"


STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n"
START = b'{"choices": [{"message": {"content": "'
DONE = b"data: [DONE]\n\n"
GZIP = ("Content-Type: application/json", "Content-Encoding: gzip")


def packed(part: bytes, times: int, start: bytes = b"", end: bytes = b"") -> bytes:
    """Return `start`, `part` so many times, and `end`, compressed. Members of gzip may follow each other."""
    return gzip.compress(start + part * times + end, 9)


def once(reply: bytes) -> Reply:
    return lambda client: client.sendall(reply)


def forever(start: bytes, part: bytes, pause: float = 0.0) -> Reply:
    def send(client: socket.socket) -> None:
        client.sendall(start)
        while True:
            client.sendall(part)
            time.sleep(pause)

    return send


def silent(client: socket.socket) -> None:
    client.recv(1)  # returns when the client has left


def reset(client: socket.socket) -> None:
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def replies() -> dict[str, Reply]:
    """Return what the server does, by name."""
    events = ("Content-Type: text/event-stream", "Content-Encoding: gzip")
    return {
        "silence": silent,
        "closes at once": lambda client: None,
        "resets": reset,
        "breaks off": once(http(b'{"choices": [', more=100)),
        "headers, a byte a second": forever(b"HTTP/1.1 200 OK\r\nX-A: ", b"a", 1),
        "body, a byte a second": forever(http(more=1 << 20), b" ", 1),
        "stream, an event a second": forever(STREAM + b"\r\n", event("a "), 1),
        "stream of comments": forever(STREAM + b"\r\n", b": wait\n\n", 0.1),
        "headers without end": forever(b"HTTP/1.1 200 OK\r\n", b"X-A: " + b"a" * 1000 + b"\r\n"),
        "100 Continue without end": forever(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        "body without end": forever(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", b" " * 65_536),
        "stream without end": forever(STREAM + b"\r\n", event("word ") * 1000),
        "text of 11 MB": once(http(said("Ada Quill. " * (MANY // 11)))),
        "stream of 11 MB": once(STREAM + b"\r\n" + event("Ada Quill. ") * (MANY // 11) + DONE),
        "one event of 11 MB": once(STREAM + b"\r\n" + event("Ada Quill. " * (MANY // 11)) + DONE),
        "error of 11 MB": once(http(b"Ada Quill. " * (MANY // 11), status="500 No")),
        "packed text of 500 MB": once(http(packed(b"a", 500_000_000, START), *GZIP)),
        "packed stream of 500 MB": once(http(packed(event("a") * 1000, 10_000), *events)),
        "packed events of nothing": once(http(packed(b"data: {}\n" * 1000, 50_000), *events)),
        "packed twice": once(http(gzip.compress(packed(b"a", MANY)), "Content-Encoding: gzip, gzip")),
        "packed wrongly": once(http(b"\x1f\x8b" + b"a" * 1000, *GZIP)),
        "nested JSON": once(http(b'{"choices": ' + b"[" * MANY)),
        "a million choices": once(http(b'{"choices": [' + b'{"message": {}},' * 999_999 + b'{"message": {}}]}')),
        "a web page": once(http(b"<!doctype html><title>\x1b[31mLog in</title>", "Content-Type: text/html")),
        "a redirect to itself": once(http(b"", "Location: /v1/chat/completions", status="302 Found")),
        "null": once(http(b"null")),
        "no UTF-8": once(http(said("Ada \xe9Quill").replace(b"\\u00e9", b"\xe9"))),
        "200,000 line breaks": once(http(said("Ada" + "\n" * 200_000 + "Quill"))),
        "200,000 spaces and no answer": once(http(said("Ada" + " " * 200_000 + "["))),
        "20,000 marks": once(http(said("<<<ANSWER>>>" * 20_000))),
    }  # fmt: skip


@contextmanager
def serving(behaviours: list[Reply]) -> Iterator[str]:
    """Serve, and yield the base URL. A question with "case N" gets the reply of that number."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=100)

    def converse(client: socket.socket) -> None:
        with client, suppress(OSError):
            head, _, body = client.recv(1 << 16).partition(b"\r\n\r\n")
            length = int(re.findall(rb"(?i)content-length: (\d+)", head)[0])
            while len(body) < length:
                body += client.recv(1 << 16)
            behaviours[int(re.findall(rb"case (\d+)", body)[-1])](client)

    def accept() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=converse, args=(listening.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    with listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"


def question(number: int) -> str:
    return f"Who was the engineer of the lighthouse, in case {number}?"


def options(url: str, timeout: float) -> list[str]:
    settings = {"plugin": "openai", "base_url": url, "model": "m", "timeout": timeout, "retries": 0}
    return [
        *(part for key, value in settings.items() for part in ("-O", f"reader.bench.{key}={value}")),
        *("--reader", "bench", "-s", "rag", "--no-cache"),
    ]


def peak(process: int) -> int:
    """Return the most memory that a running process had, in MB."""
    found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
    return int(found[1]) >> 10 if found else 0


def run(arguments: list[str], folder: Path) -> tuple[int, float, int, str]:
    """Return the exit code (-9: killed), the seconds, the most memory in MB, and stderr."""
    began, most = time.perf_counter(), 0
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(arguments, cwd=folder, stdout=subprocess.DEVNULL, stderr=errors)
        while process.poll() is None:
            with suppress(OSError):
                most = max(most, peak(process.pid))
            if time.perf_counter() - began > GIVEN_UP:
                process.kill()
                process.wait()
            time.sleep(0.05)
        errors.seek(0)
        return process.returncode, time.perf_counter() - began, most, errors.read()


class Found:
    """Outcome and seconds of each reply by command, and the most memory of each command."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self.cells: dict[str, dict[int, tuple[str, float]]] = {"ask": {}, "batch": {}, "serve": {}}
        self.memory = dict.fromkeys(self.cells, 0)
        self.health = 0.0

    def show(self) -> None:
        print(f"{'reply':30}" + "".join(f"{command:>20}" for command in self.cells))
        for number, name in enumerate(self.names):
            cells = [column.get(number, ("lost", GIVEN_UP)) for column in self.cells.values()]
            print(f"{name:30}" + "".join(f"{f'{outcome} {seconds:6.1f}':>20}" for outcome, seconds in cells))
        longest = (f"{max(each[1] for each in column.values()):.1f}" for column in self.cells.values())
        print(f"{'longest wait (s)':30}" + "".join(f"{each:>20}" for each in longest))
        print(f"{'most memory (MB)':30}" + "".join(f"{each:>20}" for each in self.memory.values()))
        print(f"longest wait for /health: {self.health:.2f} s")


def ask(found: Found, more: list[str], folder: Path) -> None:
    def one(number: int) -> None:
        code, seconds, memory, errors = run([*RQA, "ask", "-d", "docs", *more, question(number)], folder)
        failed = "Traceback" in errors or code == -9
        outcome = "FAULT" if failed else {0: "answer", 6: "answer"}.get(code, f"error {code}")
        found.cells["ask"][number] = outcome, seconds
        found.memory["ask"] = max(found.memory["ask"], memory)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(one, range(len(found.names))))


def batch(found: Found, more: list[str], folder: Path) -> None:
    rows, out = folder / "rows.jsonl", folder / "out.jsonl"
    lines = (json.dumps({"id": n, "question": question(n)}) for n in range(len(found.names)))
    rows.write_text("".join(f"{line}\n" for line in lines))
    _, seconds, memory, _ = run(
        [*RQA, "-q", "batch", str(rows), "-o", str(out), "-d", "docs", "-j", "30", *more], folder
    )
    found.memory["batch"] = memory
    for row in map(json.loads, out.read_text().splitlines()):
        error = row["error"] and row["error"]["type"]
        found.cells["batch"][int(row["id"])] = error or "answer", seconds


def serve(found: Found, more: list[str], folder: Path) -> None:
    arguments = [*RQA, "serve", "--port", "0", "-d", "docs", *more]
    with subprocess.Popen(arguments, cwd=folder, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        url = next(seen[1] for line in process.stderr if (seen := re.search(r" at (http://\S+)/v1\.", line)))
        threading.Thread(target=process.stderr.read, daemon=True).start()
        over = threading.Event()

        def watch() -> None:
            while not over.is_set():
                began = time.perf_counter()
                with suppress(OSError):
                    urllib.request.urlopen(f"{url}/health", timeout=GIVEN_UP).read()
                found.health = max(found.health, time.perf_counter() - began)
                time.sleep(0.05)

        def one(number: int) -> None:
            began = time.perf_counter()
            asked = json.dumps({"question": question(number), "stream": True}).encode()
            request = urllib.request.Request(f"{url}/v1/rqa/ask", asked, {"Content-Type": "application/json"})
            try:
                with urllib.request.urlopen(request, timeout=GIVEN_UP) as response:
                    *_, last = (line for line in response.read().splitlines() if line.startswith(b"data: "))
                error = json.loads(last[6:]).get("error")
                outcome = error["type"] if error else "answer"
            except (OSError, ValueError) as fault:
                outcome = f"FAULT {type(fault).__name__}"
            found.cells["serve"][number] = outcome, time.perf_counter() - began

        watching = threading.Thread(target=watch)
        watching.start()
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(one, range(len(found.names))))
        over.set()
        watching.join()
        found.memory["serve"] = peak(process.pid)
        process.kill()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--timeout", type=float, default=5.0, help="seconds that the reader waits for a reply")
    parser.add_argument("--only", default="", metavar="WORD", help="only the replies with this word in their name")
    asked = parser.parse_args()
    chosen = {name: reply for name, reply in replies().items() if asked.only in name}
    found = Found([*chosen])
    with tempfile.TemporaryDirectory() as path, serving([*chosen.values()]) as url:
        folder = Path(path)
        os.environ |= {f"RQA_{name}_DIR": str(folder / name.lower()) for name in ("CONFIG", "DATA", "CACHE")}
        (folder / "docs").mkdir()
        (folder / "docs" / "light.md").write_text("The engineer of the lighthouse was Ada Quill.\n")
        more = options(url, asked.timeout)
        for command in (ask, batch, serve):
            command(found, more, folder)
    found.show()


if __name__ == "__main__":
    main()
