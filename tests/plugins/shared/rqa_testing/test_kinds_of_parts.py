"""The checks of engines, checkers, recorders, commands and formats fail for broken ones only."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest

from robust_qa import Answer, FileFormat, Passage
from robust_qa.kit import cite
from robust_qa.testing import assert_conforms, check


def failures(kind: str, component: Any, **how: Any) -> list[str]:
    return [finding.name for finding in check(kind, component, **how) if finding.state == "failed"]


class InTurn:
    """An engine that answers one row after the other."""

    async def run(self, rows: Any, job: Any) -> None:
        async for number, row in rows:
            job.take(await job.answer(number, row))


class Forgetful(InTurn):
    async def run(self, rows: Any, job: Any) -> None:
        async for number, row in rows:
            result = await job.answer(number, row)
            if number != 3:
                job.take(result)


class Twice(InTurn):
    async def run(self, rows: Any, job: Any) -> None:
        async for number, row in rows:
            result = await job.answer(number, row)
            job.take(result)
            job.take(result)


class Careful:
    """A checker that doubts nothing."""

    async def check(self, answer: Answer, toolbox: Any) -> Answer:
        return answer


class Rewriting(Careful):
    async def check(self, answer: Answer, toolbox: Any) -> Answer:
        return replace(answer, text="Paris")


class Citing(Careful):
    async def check(self, answer: Answer, toolbox: Any) -> Answer:
        return replace(answer, citations=(cite(Passage("Elsewhere.", id="elsewhere")),))


class Asking(Careful):
    async def check(self, answer: Answer, toolbox: Any) -> Answer:
        await toolbox.generate("Is it so?")
        return answer


class Picky(Careful):
    async def check(self, answer: Answer, toolbox: Any) -> Answer:
        if answer.text:
            answer.text.encode("ascii")
        return answer


class Kept:
    """A recorder that keeps answers in memory."""

    def __init__(self) -> None:
        self.answers: list[tuple[str, str]] = []

    def add(self, answer: Answer, command: str) -> None:
        self.answers.insert(0, (command, answer.question))

    def questions(self, command: str, limit: int) -> list[str]:
        return [question for name, question in self.answers[:limit] if name == command]


class Oldest(Kept):
    def questions(self, command: str, limit: int) -> list[str]:
        return super().questions(command, limit)[::-1]


class Numbered(Kept):
    def add(self, answer: Answer, command: str) -> int:  # type: ignore[override]
        return 7


def command(help: str = "Say it.", epilog: str = "Example: rqa say it", option_help: str = "Print capitals.") -> Any:
    @click.command(help=help, epilog=epilog)
    @click.option("--shout", is_flag=True, help=option_help)
    def say(shout: bool) -> None:
        pass

    return say


CONFORMING = {
    "engine": ("engine", InTurn()),
    "checker": ("checker", Careful()),
    "recorder": ("recorder", Kept()),
    "command": ("command", command()),
}
BROKEN = {
    "engine-forgets": ("engine", Forgetful(), "it hands the result of every row to `job.take`, once"),
    "engine-twice": ("engine", Twice(), "it hands the result of every row to `job.take`, once"),
    "checker-rewrites": ("checker", Rewriting(), "it returns an Answer with the same text"),
    "checker-cites": ("checker", Citing(), "it cites only passages that were retrieved"),
    "checker-asks": ("checker", Asking(), "it calls no language model"),
    "checker-picky": ("checker", Picky(), "it accepts any text in answers, passages and questions"),
    "recorder-oldest": ("recorder", Oldest(), "`questions` returns those of the command, the newest first"),
    "recorder-number": ("recorder", Numbered(), "`add` keeps an answer and returns None, or a notice for the user"),
    "command-function": ("command", print, "it is a click command"),
    "command-silent": ("command", command(help=""), "`--help` describes it in a sentence, and every option"),
    "command-option": ("command", command(option_help=""), "`--help` describes it in a sentence, and every option"),
    "command-abstract": ("command", command(epilog=""), "`--help` has an example"),
}


@pytest.mark.parametrize(("kind", "component"), CONFORMING.values(), ids=CONFORMING)
def test_one_that_keeps_its_contract_passes_every_check(kind: str, component: Any) -> None:
    assert [finding for finding in check(kind, component) if finding.state != "passed"] == []


@pytest.mark.parametrize(("kind", "component", "name"), BROKEN.values(), ids=BROKEN)
def test_one_that_breaks_its_contract_fails_that_check(kind: str, component: Any, name: str) -> None:
    assert name in failures(kind, component)


READERS = """
import os
from rqa_files import Blocks, read_text

def lines(text, line):
    found = Blocks()
    for number, entry in enumerate(text.splitlines(), line):
        found.paragraph(entry, number)
    return "", found.found

def good(file, report): return read_text(file, lines)
def far(file, report): return read_text(file, lambda text, line: lines(text, line + 1000))
def empty(file, report): return []
def same(file, report): return [*good(file, report), *good(file, report)]
def crash(file, report): return good(file, report) if "!" in file.text() else os._exit(1)
def picky(file, report): return good(file, report) if "!" in file.text() else 1 / 0
"""


@pytest.fixture
def tides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], FileFormat]:
    (tmp_path / "tides_of_test.py").write_text(READERS)
    (tmp_path / "north.tide").write_text("High water at noon.\nLow water at six.\n" * 5 + "Mind the rocks!\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "tides_of_test", raising=False)
    return lambda reader: FileFormat("tide", f"tides_of_test:{reader}", "tide", folder=str(tmp_path))


@pytest.mark.parametrize("reader", ["good", "picky"])  # a failure with one file is a message to the user
def test_a_format_that_keeps_its_contract_passes(tides: Any, tmp_path: Path, reader: str) -> None:
    assert_conforms("format", tides(reader), file=tmp_path / "north.tide")


@pytest.mark.parametrize(
    ("reader", "name"),
    [
        ("missing", "its functions can be imported"),
        ("empty", "it reads the file as documents with text and ids of their own"),
        ("same", "it reads the file as documents with text and ids of their own"),
        ("far", "the lines of its documents are lines of the file, or 0"),
        ("crash", "a damaged file neither crashes it nor stops it for long"),
    ],
)
def test_a_format_that_breaks_its_contract_fails(tides: Any, tmp_path: Path, reader: str, name: str) -> None:
    assert failures("format", tides(reader), file=tmp_path / "north.tide") == [name]


def test_a_format_that_does_not_know_its_example_fails(tides: Any, tmp_path: Path) -> None:
    other = tmp_path / "north.txt"
    other.write_text("High water at noon.")
    assert failures("format", tides("good"), file=other) == ["it recognises the example file"]
