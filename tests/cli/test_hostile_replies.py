"""A model's server that misbehaves: `rqa ask` and `rqa batch` end in time, and say why."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from standins.openai import HANG, Fault, completion, serve, streamed

EVENTS = {"Content-Type": "text/event-stream"}
PACKED = gzip.compress(json.dumps(completion("Ada Quill. " * 5_000_000)).encode())
REPLIES = {
    "silence": (HANG, "CallTimeout", "did not generate within 1.5 s"),
    "a byte now and then": (Fault(body=" " * 10_000, pause=0.1), "CallTimeout", "did not generate within 1.5 s"),
    "an event now and then": (streamed(*["a "] * 1000, pause=0.1), "CallTimeout", "did not generate within 1.5 s"),
    "packed text of 55 MB": (Fault(body=PACKED, headers={"Content-Encoding": "gzip"}), "RefusedError", "than 4 MiB"),
    "a long stream": (
        Fault(body=streamed("Ada Quill. " * 100).body[1] * 1000, headers=EVENTS),  # type: ignore[operator,arg-type]
        "RefusedError",
        "more than 300,000 characters",
    ),
}


@pytest.mark.parametrize(("reply", "kind", "words"), REPLIES.values(), ids=REPLIES)
def test_a_server_that_misbehaves_is_given_up(
    rqa: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reply: Fault, kind: str, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.txt").write_text("Who?\n")
    with serve(lambda *_: reply) as server:
        table = {"plugin": "openai", "model": "m", "base_url": server.url, "timeout": "1.5", "retries": "0"}
        model = [part for key, value in table.items() for part in ("-O", f"reader.s.{key}={value}")]
        asked = rqa("ask", "Who?", "-s", "norag", "--no-cache", "--reader", "s", *model)
        rqa("batch", "in.txt", "-o", "out.jsonl", "-s", "norag", "--no-cache", "--reader", "s", *model)
    (error,) = (json.loads(line)["error"] for line in Path("out.jsonl").read_text().splitlines())
    assert asked.code == 5 and words in asked.err
    assert error["type"] == kind and words in error["message"]
