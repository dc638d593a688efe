"""The judge: whether a text supports a claim or contradicts it, and questions that want yes or no."""

import json
from pathlib import Path
from typing import Any

import pytest

from rqa_embedded import EmbeddedEvaluator

EVALUATOR = EmbeddedEvaluator(EmbeddedEvaluator.Options(threads=1))
RULES = """# House rules

Charcoal grills are forbidden on balconies.

Members may bring guests on Sundays.

Bicycles are kept in the cellar.
"""


@pytest.mark.parametrize(
    ("claim", "text", "likely"),
    [
        ("The pool is open.", "The pool is closed.", "contradicted"),
        ("The pool is not open.", "The pool is closed.", "supported"),
        ("The museum was built in 1924.", "The museum dates from 1924.", "supported"),
        ("The museum was built in 1924.", "The museum dates from 1911.", "contradicted"),
    ],
)
def test_opposites_contradict_and_other_words_support(claim: str, text: str, likely: str) -> None:
    [judgment] = EVALUATOR.judge(claim, [text])
    assert getattr(judgment, likely) > 0.8
    assert judgment.supported + judgment.contradicted <= 1


def test_a_text_about_something_else_leaves_a_claim_open() -> None:
    [judgment] = EVALUATOR.judge("The sauna is open.", ["The pool is closed."])
    assert max(judgment) < 0.3
    assert EVALUATOR.judge("The sauna is open.", []) == []


@pytest.mark.parametrize(
    ("question", "answer", "quoted"),
    [
        ("Are charcoal grills allowed on balconies?", "No", "forbidden on balconies"),
        ("Can members bring guests on Sundays?", "Yes", "may bring guests"),
    ],
)
def test_a_question_that_wants_yes_or_no_is_answered_so_with_the_sentence(
    rqa: Any, question: str, answer: str, quoted: str
) -> None:
    Path("rules.md").write_text(RULES)
    found = json.loads(rqa("ask", question, "-d", "rules.md", "--json").out)
    assert found["answer"] == answer
    assert quoted in found["citations"][0]["quote"]


def test_a_question_that_no_sentence_decides_is_not_answered(rqa: Any) -> None:
    Path("rules.md").write_text(RULES)
    found = json.loads(rqa("ask", "Is the sauna open on Mondays?", "-d", "rules.md", "--json").out)
    assert found["answer"] is None
