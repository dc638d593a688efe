"""What a question costs grows with the text, and not with its square, whatever a document or a person repeats."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import robust_qa
from robust_qa import Passage
from rqa_prompts import final_answer

_SHORT = 10_000  # characters
_LEAST = 0.1  # seconds of processor time that may be noise
_MOST = 2.5  # times as long for twice the text
_RUNS = [" ", "\t", "\n", ".", "-", "1", "(", '"', "a", "\n- a", ' \t\n.-1("a']


def growing(work: Callable[[str], object], short: int = _SHORT) -> list[str]:
    """Return the runs for which twice the text takes more than 2.5 times as long in each of three tries."""

    def seconds(part: str, length: int) -> float:
        run = part * (length // len(part))
        began = time.process_time()
        work(f"The keeper was Ada {run} Quill.")
        return time.process_time() - began

    def grows(part: str) -> bool:
        return (most := seconds(part, 2 * short)) > _LEAST and most > _MOST * seconds(part, short)

    work("The keeper was Ada Quill.")  # loads what the first call loads
    return [part for part in _RUNS if all(grows(part) for _ in range(3))]


def in_a_document(work: Callable[[], object]) -> Callable[[str], object]:
    Path("docs").mkdir()
    Path("docs/harbour.txt").write_text("The keeper of Odda was Per Lund from 1902 on.")

    def read(text: str) -> object:
        Path("docs/keeper.txt").write_text(text)
        return work()

    return read


@pytest.mark.parametrize(
    "arguments",
    [("search", "keeper Ada", "-d", "docs"), ("check", "The keeper was Ada Quill.", "-d", "docs"), ("lint", "docs")],
    ids=lambda arguments: arguments[0],
)
def test_a_document(rqa: Any, arguments: tuple[str, ...]) -> None:
    assert growing(in_a_document(lambda: rqa(*arguments))) == []


def test_a_passage() -> None:
    def work(text: str) -> object:
        return robust_qa.ask("Who was the keeper?", passages=[Passage(text, source="a.txt")], reader="lexical")

    assert growing(work) == []


def test_a_question() -> None:
    passages = [Passage("The keeper was Ada Quill.", source="a.txt")]
    assert growing(lambda text: robust_qa.ask(text, passages=passages, reader="lexical"), 9_900) == []


def test_an_answer_to_check(rqa: Any) -> None:
    in_a_document(lambda: None)("The keeper was Ada Quill.")
    assert growing(lambda text: rqa("check", text, "-d", "docs")) == []


@pytest.mark.parametrize("opening", ["The keeper was", "<<", "documents:", "answer: a("])
def test_a_reply_of_a_model(opening: str) -> None:
    assert growing(lambda text: final_answer(text.replace("The keeper was Ada ", opening))) == []
