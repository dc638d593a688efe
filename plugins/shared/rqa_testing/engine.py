"""The conformance checks of engines: a small batch, answered by shared words, without a model."""

from __future__ import annotations

import asyncio
import inspect
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from robust_qa import ConfigError, InputError
from robust_qa.answering import Config, Host, Session
from rqa_rows import Batch, Result

from .suite import Failed, Skipped, Subject, Suite, expect

SUITE = Suite()
JOBS = 4
ROWS = [
    {"question": f"Who built tower {number}?", "passages": [f"Tower {number} was built by Ada."]}
    for number in range(1, 13)
]
INVALID = {"no": "question"}


@SUITE.behaviour("it has a method `async def run(rows, job)`")
async def _shape(subject: Subject) -> None:
    subject.has("run")
    expect(inspect.iscoroutinefunction(subject.component.run), "`run` is not `async def`")


@SUITE.behaviour("it hands the result of every row to `job.take`, once")
async def _every_row(subject: Subject) -> None:
    batch, lines = await _run(subject, [*ROWS, INVALID], Watched)
    taken = sorted(batch.taken)
    twice = sorted({number for number in taken if taken.count(number) > 1})
    expect(not twice, f"it took the results of the rows {twice} more than once")
    missing = sorted({*range(1, len(ROWS) + 2)} - {*taken})
    expect(not missing, f"it took no result of the rows {missing}")
    expect(batch.tally.failed == 1, f"{batch.tally.failed} rows failed, and one of them is invalid")
    wrong = [
        row["row"] for row in map(json.loads, lines) if row["row"] <= len(ROWS) and "Ada" not in str(row["answer"])
    ]
    expect(not wrong, f"the rows {wrong} have other answers than `job.answer` returns")


@SUITE.behaviour("it answers no row if there is none")
async def _no_rows(subject: Subject) -> None:
    batch, _ = await _run(subject, [], Watched)
    expect(not batch.taken, f"it took results of the rows {batch.taken}")


@SUITE.behaviour("it stops when it is cancelled")
async def _stops(subject: Subject) -> None:
    batch, _ = await _run(subject, ROWS, Stopping)
    expect(batch.stopped, "it ended before")


class Watched(Batch):
    """A batch that notes the results that it is given."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.taken: list[int] = []

    def take(self, result: Result) -> None:
        """Take a result. The second one of a row is noted only."""
        first = result.number not in self.taken
        self.taken.append(result.number)
        if first:
            super().take(result)


class Stopping(Watched):
    """A batch that is stopped amid its second row, which never ends; or at its first result, from another process."""

    here = False  # whether it answers in this process

    async def answer(self, number: int, row: bytes) -> Result:
        """Answer the first row. Wait in the others."""
        self.here = True
        if number > 1:
            asyncio.get_running_loop().call_soon(self._end)
            await asyncio.Event().wait()
        return await super().answer(number, row)

    def take(self, result: Result) -> None:
        """Take a result."""
        super().take(result)
        if not self.here:
            self._end()

    def _end(self) -> None:
        """Stop at once, as the second Ctrl-C does."""
        if not self.stopped:
            self.stop()
            self.stop()


async def _run(subject: Subject, rows: list[Any], kind: type[Watched]) -> tuple[Watched, list[str]]:
    """Run a batch with the engine. Returns it and the lines of its output. Skips the check if the engine refuses."""
    with TemporaryDirectory(prefix="rqa-engine-") as folder:
        source, out = _written(folder, rows), f"{folder}/out.jsonl"
        # These two need no model. Workers in other processes load them, too.
        async with Session(Config([]), Host(only=["lexical", "rag"])) as session:
            batch = kind(session, source, out, jobs=JOBS, has_passages=True)
            try:
                async with batch.opened(subject.component):
                    await batch.run()
            except (ConfigError, InputError) as error:
                if hasattr(subject.component, "check"):
                    raise Skipped(f"it does not work with a reader like `lexical`: {error}") from error
                raise Failed(str(error)) from error
        return batch, _lines(out)


def _written(folder: str, rows: list[Any]) -> str:
    path = Path(folder, "in.jsonl")
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return str(path)


def _lines(out: str) -> list[str]:
    return Path(out).read_text("utf-8").splitlines() if Path(out).exists() else []
