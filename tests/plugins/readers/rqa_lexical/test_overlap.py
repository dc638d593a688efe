"""The evaluator `lexical`."""

from __future__ import annotations

import pytest

from rqa_lexical import Overlap

QUESTION = "When was the lighthouse at Skerry Point built?"


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("Building a lighthouse at Skerry Point took until 1871.", 0.5),
        ("The LIGHTHOUSE of Skerry-Point was built in 1871.", 1.0),
        ("When was it at the time?", -1.0),
        ("", -1.0),
    ],
)
def test_score_is_the_share_of_the_questions_words(text: str, score: float) -> None:
    assert Overlap().score(QUESTION, [text]) == [score]


def test_thresholds_are_two_of_three_and_one_of_three_words() -> None:
    judge = Overlap()
    two, one, none = judge.score("boiler serviced Quill", ["Quill's boiler", "a boiler", "a kettle"])
    assert two >= judge.upper > one >= judge.lower > none


def test_other_scripts_are_words_too() -> None:
    near, far = Overlap().score("東京の首都", ["東京は日本の首都です", "大阪"])
    assert near > 0 > far
