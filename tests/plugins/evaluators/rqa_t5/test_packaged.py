"""The packaged T5."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rqa_t5 import T5
from rqa_t5.folder import PACKAGED, SETTINGS, check

pytestmark = pytest.mark.skipif(not (PACKAGED / SETTINGS).exists(), reason="the model file is not in this checkout")

QUESTION = "When was the lighthouse at Skerry Point built?"
ANSWER = "The lighthouse at Skerry Point was built in 1871 by the harbour board."
NEAR = "The lighthouse at Skerry Point has a keeper's house and a garden."
FAR = "Moles live under ground, and eat worms."


@pytest.fixture
def judge() -> Any:
    made = T5(T5.Options())
    yield made
    made.close()


def test_packaged_model_is_complete_and_calibrated(judge: T5) -> None:
    check(PACKAGED)
    assert judge.lower is not None and judge.upper is not None
    assert -1 < judge.lower < judge.upper < 1


def test_answer_scores_above_topic_and_topic_above_rest(judge: T5) -> None:
    answer, near, far = judge.score(QUESTION, [ANSWER, NEAR, FAR])
    assert answer > judge.upper > judge.lower > far
    assert answer > near > far


def test_long_passages_and_other_languages_get_scores(judge: T5) -> None:
    scores = judge.score(
        "Quand le phare fut-il construit ?", [ANSWER * 3000, "Le phare fut construit en 1871.", "灯塔"]
    )
    assert all(-1 <= score <= 1 for score in scores)


def test_crag_can_use_t5(rqa: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(ANSWER, "utf-8")
    ended = rqa("ask", "-s", "crag", "--docs", tmp_path / "a.txt", "-O", "defaults.evaluator=t5", "--explain", QUESTION)
    assert ended.code == 0, ended.err
    assert "1871" in ended.out
    assert "correct (correct from" in " ".join(ended.err.split())
