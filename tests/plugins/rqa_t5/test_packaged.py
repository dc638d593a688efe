"""The small T5 that comes with the package."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rqa_t5 import T5
from rqa_t5.folder import PACKAGED, SETTINGS, check

pytestmark = pytest.mark.skipif(not (PACKAGED / SETTINGS).exists(), reason="the model file is not in this checkout")

QUESTION = "When was the lighthouse at Skerry Point built?"
TOLD = "The lighthouse at Skerry Point was built in 1871 by the harbour board."
NEAR = "The lighthouse at Skerry Point has a keeper's house and a garden."
FAR = "Moles live under ground, and eat worms."


@pytest.fixture
def judge() -> Any:
    made = T5(T5.Options())
    yield made
    made.close()


def test_its_files_are_whole_and_it_is_calibrated(judge: T5) -> None:
    check(PACKAGED, contents=True)
    assert judge.lower is not None and judge.upper is not None
    assert -1 < judge.lower < judge.upper < 1


def test_it_tells_what_answers_from_what_is_only_near_and_that_from_what_is_not(judge: T5) -> None:
    told, near, far = judge.score(QUESTION, [TOLD, NEAR, FAR])
    assert told > judge.upper > judge.lower > far
    assert told > near > far


def test_a_long_passage_and_another_language_have_a_score(judge: T5) -> None:
    scores = judge.score("Quand le phare fut-il construit ?", [TOLD * 3000, "Le phare fut construit en 1871.", "灯塔"])
    assert all(-1 <= score <= 1 for score in scores)


def test_crag_judges_with_it_when_it_is_named(rqa: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TOLD, "utf-8")
    ended = rqa("ask", "-s", "crag", "--docs", tmp_path / "a.txt", "-O", "defaults.evaluator=t5", "--explain", QUESTION)
    assert ended.code == 0, ended.err
    assert "1871" in ended.out
    assert "correct (correct from" in " ".join(ended.err.split())
