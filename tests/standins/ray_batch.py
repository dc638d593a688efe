"""Runs of `rqa batch --engine ray`, and a strategy for them."""

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
# The strategy `mortal` does what its question says: "sleep 0.1", "crash", "die FILE" (ends its worker if there is no
# FILE yet), "perish" (always ends its worker) and "meet FOLDER" (waits until two workers are there). Any other question
# is its own answer.
PLUGIN = """
import asyncio, os, signal
from dataclasses import dataclass
from pathlib import Path
from robust_qa import Answer, hookimpl

class Mortal:
    "Does what the question says."
    needs = frozenset()

    @dataclass
    class Options:
        log: Path | None = None
        tone: str = ""

    def __init__(self, options):
        self.options = options

    async def answer(self, question, toolbox):
        if self.options.log:
            with self.options.log.open("a") as log:
                log.write(question + chr(10))
        match question.split():
            case ["sleep", seconds, *_]:
                await asyncio.sleep(float(seconds))
            case ["crash"]:
                raise ZeroDivisionError("by nothing")
            case ["die", grave] if not Path(grave).exists():
                Path(grave).touch()
                os.kill(os.getpid(), signal.SIGKILL)
            case ["perish"]:
                os.kill(os.getpid(), signal.SIGKILL)
            case ["meet", folder, *_]:
                Path(folder, str(os.getpid())).mkdir(parents=True, exist_ok=True)
                while len(os.listdir(folder)) < 2:
                    await asyncio.sleep(0.01)
        return Answer(question, details={"pid": os.getpid()})

@hookimpl
def rqa_register(registry):
    registry.strategy("mortal", Mortal)
"""


@dataclass
class Batch:
    """Runs of `rqa batch --engine ray` from `in.jsonl` to shards of 20 rows in `out/`, in one folder."""

    folder: Path
    address: str
    strategy: str = "mortal"

    def __post_init__(self) -> None:
        (self.folder / "mortal.py").write_text(PLUGIN)

    def write(self, questions: Sequence[str]) -> None:
        text = "".join(json.dumps({"question": question}) + "\n" for question in questions)
        (self.folder / "in.jsonl").write_text(text)

    def command(self, *arguments: object, source: object = "", out: object = "", engine: str = "ray") -> list[str]:
        """The arguments of `rqa`."""
        command: list[object] = ["--plugin", self.folder / "mortal.py", "batch", source or self.folder / "in.jsonl"]
        command += ["-o", out or f"{self.folder}/out/", "--engine", engine, "--no-cache", "-s", self.strategy]
        if engine == "ray":
            command += [
                "-O",
                "engine.ray.shard_rows=20",
                *(["-O", f"engine.ray.address={self.address}"] if self.address else []),
            ]
        return [*map(str, (*command, *arguments))]

    def start(self, *arguments: object, before: str = "", **where: Any) -> subprocess.Popen[str]:
        """The running command. `before` is code that its process runs first."""
        code = f"{before}\nfrom robust_qa.main import main; main()"
        return subprocess.Popen(
            [sys.executable, "-c", code, *self.command(*arguments, **where)],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, *arguments: object, **where: Any) -> tuple[int, str]:
        """The exit code and stderr."""
        with self.start(*arguments, **where) as process:
            try:
                _, err = process.communicate(timeout=120)
            finally:
                process.kill()  # unless it has ended
        return process.returncode, err

    @property
    def manifest(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "out" / "manifest.json").read_bytes())
        return found

    @property
    def shards(self) -> list[str]:
        """The names of the finished shards."""
        if not (self.folder / "out" / "manifest.json").exists():
            return []
        return [shard["name"] for _, shard in sorted(self.manifest["shards"].items(), key=lambda item: int(item[0]))]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of all finished shards, in their order."""
        lines = (line for name in self.shards for line in (self.folder / "out" / name).read_bytes().splitlines())
        return [json.loads(line) for line in lines]

    @property
    def asked(self) -> Counter[str]:
        """How often each question was asked, with `-O strategy.mortal.log=FOLDER/asked`."""
        return Counter((self.folder / "asked").read_text().splitlines())

    def wait_for_shards(self, process: subprocess.Popen[str], count: int) -> None:
        while len(self.shards) < count:
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
