"""The accuracy benchmark's arithmetic."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "accuracy.py"


@pytest.fixture(scope="module")
def accuracy() -> ModuleType:
    spec = importlib.util.spec_from_file_location("accuracy_benchmark", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def row(answers: list[object], *passages: object) -> dict[str, object]:
    return {"question": "?", "answers": answers, "passages": list(passages)}


QUESTIONS = [
    row(["Oslo"], {"title": "Norway", "text": "Its capital is Oslo."}),
    row(["Paris", "City of Light"], "The city of light is in France."),
    row(["Rome"], {"title": "Italy", "text": "It is a country."}),
    row(["Bern"], {"title": "Bern", "text": "It is a town."}),
]
REPLIES = [
    {"answer": "Oslo", "confidence": 0.9},
    {"answer": "It is the City of Light!", "confidence": 0.2},
    {"answer": None, "confidence": None},
    {"error": {"type": "CallTimeout"}},
]


def test_shares_are_of_all_rows(accuracy: ModuleType) -> None:
    score = accuracy.score(QUESTIONS, REPLIES)
    assert (score.rows, score.accuracy, score.exact) == (4, 0.5, 0.25)


def test_passages_hold_an_answer_in_text_or_title_or_as_plain_strings(accuracy: ModuleType) -> None:
    score = accuracy.score(QUESTIONS, REPLIES)
    assert score.held == 0.75
    assert score.accuracy_of_held == pytest.approx(2 / 3)


def test_no_answer_and_a_failed_row_count_as_refused_and_have_no_length(accuracy: ModuleType) -> None:
    score = accuracy.score(QUESTIONS, REPLIES)
    assert score.refused == 0.5
    assert score.words == 3.5


def test_the_surer_half_is_chosen_by_confidence(accuracy: ModuleType) -> None:
    replies = [{"answer": "Oslo", "confidence": 0.9}, *[{"answer": "wrong", "confidence": 0.1}] * 3]
    assert accuracy.score(QUESTIONS, replies).at_half == 0.5
    assert accuracy.score(QUESTIONS, [{"answer": "Oslo"}] * 4).at_half is None


def test_every_group_of_alternatives_has_to_be_found(accuracy: ModuleType) -> None:
    question = row([["Ann Lee", "A. Lee"], ["Bo Ek"]])
    assert accuracy.score([question], [{"answer": "Ann Lee and Bo Ek"}]).accuracy == 1
    assert accuracy.score([question], [{"answer": "Ann Lee"}]).accuracy == 0


def test_a_number_is_a_gold_answer_and_no_gold_answer_is_never_right(accuracy: ModuleType) -> None:
    found = accuracy.score([row([1871.0], "In 1871."), row([], "In 1871.")], [{"answer": "1871"}] * 2)
    assert (found.accuracy, found.exact, found.held) == (0.5, 0.5, 0.5)
