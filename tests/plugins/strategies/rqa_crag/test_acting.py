"""Section 4.3: the action that scores trigger, and its ablations."""

from __future__ import annotations

import pytest

from rqa_crag.acting import PAIRS, act

UPPER, LOWER = 0.5, -0.5


@pytest.mark.parametrize(
    ("scores", "action"),
    [
        ([-0.9, 0.6, -1.0], "correct"),
        ([0.5], "correct"),
        ([0.49, 0.0], "ambiguous"),
        ([-0.5, -1.0], "ambiguous"),
        ([-0.51, -1.0], "incorrect"),
        ([-1.0], "incorrect"),
        ([], "incorrect"),
    ],
)
def test_one_good_passage_is_enough_and_all_must_be_bad(scores: list[float], action: str) -> None:
    assert act(scores, UPPER, LOWER) == action


def test_no_passage_is_incorrect_even_where_every_score_would_do() -> None:
    assert act([], -1.0, -1.0) == "incorrect"


@pytest.mark.parametrize(
    ("without", "actions"),
    [
        ("correct", ["ambiguous", "ambiguous", "incorrect"]),
        ("incorrect", ["correct", "ambiguous", "ambiguous"]),
        ("ambiguous", ["correct", "incorrect", "incorrect"]),
    ],
)
def test_without_an_action_its_questions_go_elsewhere_as_in_table_2(without: str, actions: list[str]) -> None:
    found = [act([score], UPPER, LOWER, f"without-{without}") for score in (0.9, 0.0, -0.9)]  # type: ignore[arg-type]
    assert found == actions


@pytest.mark.parametrize("only", ["correct", "incorrect", "ambiguous"])
def test_one_action_only_is_that_of_every_question_as_in_table_11(only: str) -> None:
    assert {act(scores, UPPER, LOWER, f"only-{only}") for scores in ([0.9], [0.0], [-0.9], [])} == {only}  # type: ignore[arg-type]


def test_the_pairs_are_those_of_appendix_b_3() -> None:
    assert PAIRS == {"popqa": (0.59, -0.99), "pubqa": (0.5, -0.91), "arc": (0.5, -0.91), "bio": (0.95, -0.91)}
