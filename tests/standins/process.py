"""`rqa` in a process of its own, and a batch of `in.txt` to `out.jsonl` in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

RQA = [sys.executable, "-c", "from robust_qa.main import main; main()"]
SCRIPTED = [*RQA, "--plugin", str(Path(__file__).with_name("scripted.py"))]


def until(condition: Callable[[], bool], process: subprocess.Popen[Any] | None = None) -> None:
    """Wait until the condition holds, while `process` runs."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        assert process is None or process.poll() is None, process.communicate()
        time.sleep(0.02)


def lines_of(path: Path) -> int:
    """The number of whole lines of a file, which may not be there yet."""
    return path.read_bytes().count(b"\n") if path.exists() else 0


def endpoint(url: str, **options: str) -> dict[str, str]:
    """The environment in which the reader is the model of an endpoint."""
    configured = {"PLUGIN": "openai", "MODEL": "m", "BASE_URL": url, "RETRIES": "1"} | options
    return {f"RQA_READER__S__{key}": value for key, value in configured.items()} | {"RQA_READER": "s"}


class BatchRun:
    """A batch of `in.txt` to `out.jsonl` in a folder, by `command`."""

    def __init__(self, folder: Path, command: Sequence[str], questions: int = 0) -> None:
        self.folder = folder
        self.out = folder / "out.jsonl"
        self.command = command
        self.write(*(f"question {n}" for n in range(questions)))

    def write(self, *questions: str) -> None:
        """Write the input."""
        (self.folder / "in.txt").write_text("".join(f"{question}\n" for question in questions))

    def start(self, *arguments: str, env: Mapping[str, str], **pipes: Any) -> subprocess.Popen[bytes]:
        """Start it, with further variables."""
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | pipes
        return subprocess.Popen([*self.command, *arguments], env=os.environ | env, cwd=self.folder, **pipes)

    def finish(self, *arguments: str, content: bytes | None = None, **options: Any) -> tuple[int, str]:
        """The exit code and stderr of a whole run, with `content` on stdin."""
        process = self.start(*arguments, stdin=subprocess.PIPE if content else None, **options)
        err = process.communicate(content, timeout=120)[1]
        return process.returncode, err.decode()

    @property
    def rows(self) -> list[Any]:
        """The rows of the output."""
        return [json.loads(line) for line in self.out.read_bytes().splitlines()]
