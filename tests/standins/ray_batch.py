"""Runs of `rqa batch --engine ray`, and a strategy that can end its worker."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MEMORY = 100_000_000  # bytes of the object store of a node
PLUGIN = Path(__file__).with_name("scripted.py")
# One worker answers the question "die" by dying, once for each file name that follows.
MORTAL = """
import asyncio, os, signal
from pathlib import Path
from robust_qa import Answer, hookimpl

class Mortal:
    "Dies of one question."
    needs = frozenset()

    async def answer(self, question, toolbox):
        await asyncio.sleep(0.01)
        match question.split():
            case ["die", grave] if not Path(grave).exists():
                Path(grave).touch()
                os.kill(os.getpid(), signal.SIGKILL)
            case ["perish"]:
                os.kill(os.getpid(), signal.SIGKILL)
        return Answer(question, details={"pid": os.getpid()})

@hookimpl
def rqa_register(registry):
    registry.strategy("mortal", Mortal)
"""


@dataclass
class Batch:
    """Runs of `rqa batch --engine ray` from `in.jsonl` to `out/` in one folder."""

    folder: Path
    address: str
    plugin: Path = PLUGIN
    strategy: str = "scripted"

    def write(self, questions: Sequence[str]) -> None:
        text = "".join(json.dumps({"question": question}) + "\n" for question in questions)
        (self.folder / "in.jsonl").write_text(text)

    def start(
        self, *arguments: object, source: object = "in.jsonl", out: object = "out/", engine: str = "ray"
    ) -> subprocess.Popen[str]:
        at = ["--address", self.address] if engine == "ray" and self.address else []
        command = [sys.executable, "-c", "from robust_qa.main import main; main()", "--plugin", self.plugin, "batch"]
        command += [source, "-o", out, "--engine", engine, *at, "--no-cache", "-s", self.strategy, *arguments]
        return subprocess.Popen(
            [*map(str, command)],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, *arguments: object, **where: Any) -> tuple[int, str]:
        """The exit code and stderr."""
        with self.start(*arguments, **where) as process:
            _, err = process.communicate(timeout=120)
        return process.returncode, err

    @property
    def manifest(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "out" / "manifest.json").read_bytes())
        return found

    @property
    def finished(self) -> list[str]:
        """The names of the finished shards."""
        if not (self.folder / "out" / "manifest.json").exists():
            return []
        return [shard["name"] for _, shard in sorted(self.manifest["shards"].items(), key=lambda item: int(item[0]))]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of all finished shards, in their order."""
        lines = (line for name in self.finished for line in (self.folder / "out" / name).read_bytes().splitlines())
        return [json.loads(line) for line in lines]

    @property
    def asked(self) -> Counter[str]:
        """How often each question was asked, with `-O strategy.scripted.log=FOLDER/asked`."""
        return Counter((self.folder / "asked").read_text().splitlines())

    def wait_for_shards(self, process: subprocess.Popen[str], count: int) -> None:
        while len(self.finished) < count:
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
