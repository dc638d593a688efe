"""A stand-in for an endpoint with OpenAI's Batch API, in the published format.

    with serve(lambda request, n: "Paris") as server:
        ...  # call server.url
        assert [len(batch.requests) for batch in server.batches] == [5, 5]

`script` answers ordinary calls and, unless `in_batch` does, the requests of batches. A Fault in a batch becomes a line
of its error file, EXPIRED a request for which the day was too short. `fate` says how the batch of that number ends.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from typing import Any

from .openai import Fault, Request, Script, Server, completion, error, running

EXPIRED = "expired"
_ENDPOINT = "/v1/chat/completions"
_STATUSES = ["validating", "in_progress", "finalizing"]  # in this order, then that of its end
_SECONDS = 0.15  # in each status


@dataclass
class Batch:
    """A batch, its requests by custom id, and how often its status was asked for."""

    id: str
    input_file: str
    requests: dict[str, Any]
    error: dict[str, Any] | None
    began: float = field(default_factory=time.monotonic)
    asked: int = 0
    ended: str = ""
    output_file: str | None = None
    error_file: str | None = None

    @property
    def steps(self) -> int:
        return int((time.monotonic() - self.began) / _SECONDS)

    def shown(self) -> dict[str, Any]:
        status = self.ended or _STATUSES[min(self.steps, len(_STATUSES) - 1)]
        total = len(self.requests)
        return {
            "id": self.id,
            "object": "batch",
            "endpoint": _ENDPOINT,
            "errors": {"object": "list", "data": [self.error]} if self.error and self.ended else None,
            "input_file_id": self.input_file,
            "completion_window": "24h",
            "status": status,
            "output_file_id": self.output_file,
            "error_file_id": self.error_file,
            "created_at": 1,
            "expires_at": 86401,
            "request_counts": {"total": total, "completed": total if self.ended else 0, "failed": 0},
            "metadata": None,
        }


Fate = Callable[[int, "Batch"], "str | dict[str, Any]"]


class BatchServer(Server):
    """`held`: numbers of batches that stay in progress, from 0.

    `ordinary` counts ordinary calls, `paid` the replies by prompt.
    """

    def __init__(self, script: Script, in_batch: Script | None, fate: Fate, latency: float) -> None:
        super().__init__(script, latency, record=True)
        self.held: set[int] = set()
        self.batches: list[Batch] = []
        self.uploads = 0
        self.ordinary = 0
        self.paid = Counter[str]()
        self._in_batch = in_batch or script
        self._fate = fate
        self._files: dict[str, bytes] = {}

    def _parsed(self, body: bytes) -> Any:
        return body

    def _reply(self, request: Request, number: int) -> Fault:
        page = request.path.partition("?")[0].removeprefix("/v1")
        match request.method, page.strip("/").split("/"):
            case "POST", ["files"]:
                return self._upload(request)
            case "GET", ["files", id, "content"] if id in self._files:
                return Fault(body=self._files[id], headers={"Content-Type": "application/octet-stream"})
            case "POST", ["batches"]:
                return self._begin(json.loads(request.body))
            case "GET", ["batches"]:
                return Fault(body={"object": "list", "data": [batch.shown() for batch in reversed(self.batches)]})
            case "GET", ["batches", id]:
                found = [batch for batch in self.batches if batch.id == id]
                return self._asked(found[0]) if found else error(404, f"No batch found with id '{id}'.")
        request.body = json.loads(request.body or b"null")
        self.ordinary += 1
        self.paid[_prompt(request.body)] += 1
        return super()._reply(request, number)

    def _upload(self, request: Request) -> Fault:
        head = f"Content-Type: {request.headers['content-type']}\r\n\r\n".encode()
        message = message_from_bytes(head + request.body)
        parts = {part.get_param("name", header="content-disposition"): part for part in message.walk()}
        if parts["purpose"].get_payload() != "batch":
            return error(400, "The purpose must be batch.")
        self.uploads += 1
        id = f"file-{self.uploads}"
        content = parts["file"].get_payload(decode=True)
        assert isinstance(content, bytes)
        self._files[id] = content
        return Fault(body={"id": id, "object": "file", "bytes": len(content), "purpose": "batch"})

    def _begin(self, request: dict[str, Any]) -> Fault:
        if (request["endpoint"], request["completion_window"]) != (_ENDPOINT, "24h"):
            return error(400, "Invalid endpoint or completion window.")
        lines = [json.loads(line) for line in self._files[request["input_file_id"]].splitlines()]
        problem = None
        if len({line["custom_id"] for line in lines}) < len(lines):
            problem = {"code": "duplicate_custom_id", "message": "A custom_id is not unique.", "line": 1, "param": None}
        if any((line["method"], line["url"]) != ("POST", _ENDPOINT) for line in lines):
            problem = {"code": "mismatched_url", "message": "A url is wrong.", "line": 1, "param": None}
        bodies = {line["custom_id"]: line["body"] for line in lines}
        self.batches.append(Batch(f"batch_{len(self.batches) + 1}", request["input_file_id"], bodies, problem))
        return Fault(body=self.batches[-1].shown())

    def _asked(self, batch: Batch) -> Fault:
        number = self.batches.index(batch)
        if not batch.ended and batch.steps >= len(_STATUSES) and number not in self.held:
            self._end(batch, number)
        batch.asked += 1
        return Fault(body=batch.shown())

    def _end(self, batch: Batch, number: int) -> None:
        fate = self._fate(number, batch)
        batch.error = fate if isinstance(fate, dict) else batch.error
        batch.ended = "failed" if batch.error else str(fate)
        if batch.error:
            return
        output, errors = [], []
        for n, (custom_id, body) in enumerate(batch.requests.items()):
            reply = self._in_batch(body, n)
            line: dict[str, Any] = {"id": f"batch_req_{n}", "custom_id": custom_id, "response": None, "error": None}
            if reply == EXPIRED:
                message = "This request could not be executed before the completion window expired."
                errors.append({**line, "error": {"code": "batch_expired", "message": message}})
            elif isinstance(reply, Fault):
                errors.append(
                    {**line, "response": {"status_code": reply.status, "request_id": "r", "body": reply.body}}
                )
            else:
                whole = reply if isinstance(reply, dict) else completion(reply)
                output.append({**line, "response": {"status_code": 200, "request_id": "r", "body": whole}})
                self.paid[_prompt(body)] += 1
        batch.output_file = self._stored(f"{batch.id}_output", output)
        batch.error_file = self._stored(f"{batch.id}_error", errors)

    def _stored(self, name: str, lines: list[dict[str, Any]]) -> str | None:
        if not lines:
            return None
        self._files[name] = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines).encode()
        return name


def _prompt(body: dict[str, Any]) -> str:
    return str(body["messages"][-1]["content"])


@contextmanager
def serve(
    script: Script,
    in_batch: Script | None = None,
    *,
    fate: Fate = lambda n, batch: "completed",
    latency: float = 0.0,
) -> Iterator[BatchServer]:
    """A stand-in, running."""
    server = BatchServer(script, in_batch, fate, latency)
    with running(server):
        yield server
