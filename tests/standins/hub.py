"""A model hub on loopback, near enough to the real one that huggingface_hub's own client talks to it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class Hub:
    """What the hub holds, what it was asked, and how it is to misbehave."""

    url: str = ""
    repos: dict[str, dict[str, bytes]] = field(default_factory=dict)  # repository -> file -> contents
    gated: set[str] = field(default_factory=set)  # repositories whose files need a licence accepted
    stated_hash: dict[str, str] = field(default_factory=dict)  # file -> a hash to state in place of the true one
    cut_after: list[int] = field(default_factory=list)  # bytes after which each next download is cut off
    status_after_cut: int = 0  # what `status` becomes then
    status: int = 0  # answered to everything, when set
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)  # path, headers

    def downloads(self) -> list[dict[str, str]]:
        """The headers of every request for a file's contents."""
        return [headers for path, headers in self.requests if "/resolve/" in path]

    def describe(self, repo: str) -> dict[str, object]:
        """The repository as the hub's interface describes it, with the size and hash of every file."""
        siblings = [
            {
                "rfilename": name,
                "size": len(data),
                "blobId": "0" * 40,
                "lfs": {
                    "sha256": self.stated_hash.get(name, hashlib.sha256(data).hexdigest()),
                    "size": len(data),
                    "pointerSize": 134,
                },
            }
            for name, data in self.repos[repo].items()
        ]
        return {"id": repo, "sha": COMMIT, "siblings": siblings, "private": False, "tags": [], "downloads": 0}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: Hub

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.hub.requests.append((path, dict(self.headers.items())))
        about = re.fullmatch(r"/api/models/([^/]+/[^/]+)", path)
        contents = re.fullmatch(r"/([^/]+/[^/]+)/resolve/[^/]+/(.+)", path)
        repo = (about or contents or [None, ""])[1]
        if self.hub.status:
            self._answer(self.hub.status, b"{}")
        elif repo not in self.hub.repos:
            self._answer(404, b'{"error": "Repository not found"}', {"X-Error-Code": "RepoNotFound"})
        elif about:
            self._answer(200, json.dumps(self.hub.describe(repo)).encode())
        elif repo in self.hub.gated:
            self._answer(403, b'{"error": "gated"}', {"X-Error-Code": "GatedRepo"})
        else:
            assert contents
            self._send_file(self.hub.repos[repo][contents[2]])

    def _send_file(self, data: bytes) -> None:
        start = 0
        if wanted := re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", "")):
            start = int(wanted[1])
        span = {"Content-Range": f"bytes {start}-{len(data) - 1}/{len(data)}"} if start else {}
        body = data[start:]
        if self.hub.cut_after:
            cut = body[: self.hub.cut_after.pop(0)]
            self._answer(206 if start else 200, cut, {**span, "Content-Length": str(len(body))})
            self.close_connection = True
            self.hub.status = self.hub.status_after_cut
        else:
            self._answer(206 if start else 200, body, span)

    def _answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def running_hub() -> Iterator[Hub]:
    """An empty hub, serving until the block ends."""
    hub = Hub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": hub}))
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
