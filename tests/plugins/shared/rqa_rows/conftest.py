"""Batches by the strategy `scripted`, in this process."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

PLUGIN = Path(__file__).parents[3] / "standins" / "scripted.py"
Batch = Callable[..., "Ended"]


@dataclass
class Ended:
    """A batch that has ended."""

    code: int
    err: str

    @property
    def rows(self) -> list[Any]:
        return [json.loads(line) for line in Path("out.jsonl").read_bytes().splitlines()]

    @property
    def answers(self) -> list[str | None]:
        return [row.get("answer") for row in self.rows]

    @property
    def errors(self) -> list[str]:
        return [row["error"]["message"] if row["error"] else "" for row in self.rows]


@pytest.fixture
def batch(rqa: Any, monkeypatch: pytest.MonkeyPatch) -> Batch:
    """Runs `rqa batch` over a file with that content, None for the file as it is."""
    monkeypatch.setenv("RQA_PLUGINS", "batch,local")

    def run(content: str | bytes | None, *arguments: object, name: str = "in.txt", out: str = "out.jsonl") -> Ended:
        if content is not None:
            Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
        command = ["--plugin", PLUGIN, "batch", name, "-o", out, "-s", "scripted", "--no-cache"]
        ended = rqa(*command, *arguments)
        return Ended(ended.code, ended.err)

    return run
