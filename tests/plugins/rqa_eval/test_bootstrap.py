import random

import pytest

from rqa_eval.bootstrap import estimate


def test_the_interval_of_a_share_is_that_of_the_binomial() -> None:
    # 60 of 200: the standard error is sqrt(0.3 * 0.7 / 200) = 0.0324, and 1.96 of it on each side is 0.064.
    found = estimate({"a": [1.0] * 60 + [0.0] * 140})["a"]
    assert found.value == 0.3
    assert found.rows == 200
    assert found.low == pytest.approx(0.3 - 0.064, abs=0.01)
    assert found.high == pytest.approx(0.3 + 0.064, abs=0.01)


def test_a_pair_is_compared_question_by_question() -> None:
    # `better` is right wherever `base` is, and on 10 questions of 100 more: unpaired, that would be noise.
    base = [1.0] * 50 + [0.0] * 50
    better = [1.0] * 60 + [0.0] * 40
    found = estimate({"base": base, "better": better}, baseline="base")
    assert found["base"].difference is None
    difference = found["better"].difference
    assert difference is not None and difference.significant
    assert difference.value == pytest.approx(0.1)
    assert 0 < difference.low < 0.1 < difference.high
    assert found["better"].low < found["base"].high  # type: ignore[operator]


def test_what_may_be_chance_is_not_marked() -> None:
    chance = random.Random(3)
    columns = {name: [float(chance.random() < 0.5) for _ in range(60)] for name in ("a", "b")}
    difference = estimate(columns, baseline="a")["b"].difference
    assert difference is not None and not difference.significant
    assert difference.p > 0.05


def test_equal_columns_do_not_differ() -> None:
    difference = estimate({"a": [1.0, 0.0, 1.0], "b": [1.0, 0.0, 1.0]}, baseline="a")["b"].difference
    assert difference is not None
    assert (difference.value, difference.p, difference.significant) == (0, 1, False)


def test_questions_without_a_value_are_left_out_of_both_sides_of_a_pair() -> None:
    found = estimate({"a": [1.0, 1.0, None, 0.0], "b": [None, 1.0, 1.0, 1.0]}, baseline="a")
    assert (found["a"].value, found["a"].rows) == (2 / 3, 3)
    assert (found["b"].value, found["b"].rows) == (1, 3)
    assert found["b"].difference is not None
    assert found["b"].difference.value == 1 / 2  # of the second and the fourth question


@pytest.mark.parametrize("column", [[], [None, None]])
def test_without_values_there_is_no_estimate(column: list[None]) -> None:
    found = estimate({"a": column, "b": column}, baseline="a")["b"]
    assert (found.value, found.rows, found.low, found.high, found.difference) == (None, 0, None, None, None)


def test_one_question_proves_nothing() -> None:
    difference = estimate({"a": [0.0], "b": [1.0]}, baseline="a")["b"].difference
    assert difference is not None and not difference.significant


def test_the_seed_decides() -> None:
    column = {"a": [n / 100 for n in range(100)]}
    assert estimate(column, seed=1) == estimate(column, seed=1) != estimate(column, seed=2)
