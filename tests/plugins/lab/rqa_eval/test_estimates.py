import random
from collections.abc import Sequence

import pytest

from rqa_eval.estimates import estimate  # private: the statistics of published tables and of simulated columns


def test_a_pair_is_compared_question_by_question() -> None:
    # `better` is right wherever `base` is, and on 10 questions of 100 more: unpaired, that would be noise.
    base = [1.0] * 50 + [0.0] * 50
    better = [1.0] * 60 + [0.0] * 40
    found = estimate({"base": base, "better": better}, {"better": "base"})
    assert found["base"].difference is None
    difference = found["better"].difference
    assert difference is not None and difference.significant
    assert difference.value == pytest.approx(0.1)
    assert 0 < difference.low < 0.1 < difference.high
    assert found["better"].low < found["base"].high  # type: ignore[operator]


def test_questions_without_a_value_are_left_out_of_both_sides_of_a_pair() -> None:
    found = estimate({"a": [1.0, 1.0, None, 0.0], "b": [None, 1.0, 1.0, 1.0]}, {"b": "a"})
    assert (found["a"].value, found["a"].rows) == (2 / 3, 3)
    assert (found["b"].value, found["b"].rows) == (1, 3)
    assert found["b"].difference is not None
    assert found["b"].difference.value == 1 / 2  # of the second and the fourth question


@pytest.mark.parametrize("column", [[], [None, None]])
def test_without_values_there_is_no_estimate(column: list[None]) -> None:
    found = estimate({"a": column, "b": column}, {"b": "a"})["b"]
    assert (found.value, found.rows, found.low, found.high, found.difference) == (None, 0, None, None, None)


@pytest.mark.parametrize(
    ("base", "other", "p", "marked"),
    [
        ([0.0] * 6 + [1.0] * 94, [1.0] * 100, 0.03125, True),
        ([0.0] * 8 + [1.0, 1.0], [1.0] * 8 + [0.0, 0.0], 0.109375, False),  # 2 * (1 + 10 + 45) / 2**10
    ],
)
def test_the_right_and_the_wrong_are_compared_by_the_exact_test(
    base: list[float], other: list[float], p: float, marked: bool
) -> None:
    difference = estimate({"a": base, "b": other}, {"b": "a"})["b"].difference
    assert difference is not None
    assert (difference.p, difference.significant) == (pytest.approx(p), marked)


@pytest.mark.parametrize(
    ("right", "of", "low", "high"),
    [(2, 2, 0.342, 1.0), (0, 10, 0.0, 0.278), (15, 148, 0.062, 0.161)],  # the last: Newcombe 1998, Table I
)
def test_an_interval_has_width_where_all_answers_are_alike(right: int, of: int, low: float, high: float) -> None:
    found = estimate({"a": [1.0] * right + [0.0] * (of - right)})["a"]
    assert (found.low, found.high) == (pytest.approx(low, abs=0.001), pytest.approx(high, abs=0.001))


@pytest.mark.parametrize("grades", [(1.0, 0.95, 0.0), (1.0, 0.5, 0.5)])
@pytest.mark.parametrize("rows", [10, 60])
def test_about_19_of_20_intervals_of_graded_answers_have_the_mean(grades: Sequence[float], rows: int) -> None:
    chance, shares = random.Random(1), (0.85, 0.1, 0.05)
    mean = sum(grade * share for grade, share in zip(grades, shares, strict=True))
    found = estimate({n: chance.choices(grades, shares, k=rows) for n in range(400)})
    assert sum(one.low <= mean <= one.high for one in found.values()) >= 0.93 * 400  # type: ignore[operator]


def test_the_interval_of_graded_differences_is_that_of_their_mean() -> None:
    # What both have in common drops out: the differences are 0.1 ± 0.05.
    base = [n * 37 % 200 / 250 for n in range(200)]
    other = [one + 0.1 + (0.05 if n % 2 else -0.05) for n, one in enumerate(base)]
    difference = estimate({"a": base, "b": other}, {"b": "a"})["b"].difference
    assert difference is not None and difference.value == pytest.approx(0.1)
    assert 1.96 * 0.05 / 200**0.5 <= difference.high - 0.1 < 0.02


def test_the_interval_of_a_difference_is_that_of_newcombe() -> None:
    # Newcombe 1998 (of paired data), Table II: a, b, c, d = 36, 12, 2, 0 gives 0.0569 to 0.3404 by method 10.
    one, other = [1.0] * 36 + [1.0] * 12 + [0.0] * 2, [1.0] * 36 + [0.0] * 12 + [1.0] * 2
    difference = estimate({"a": other, "b": one}, {"b": "a"})["b"].difference
    assert difference is not None
    assert (difference.low, difference.high) == (pytest.approx(0.0569, abs=1e-4), pytest.approx(0.3404, abs=1e-4))


def test_graded_answers_are_compared_by_signs_drawn_at_random() -> None:
    few = estimate({"a": [0.1, 0.2], "b": [0.9, 0.9]}, {"b": "a"})["b"].difference
    assert few is not None and few.p > 0.4
    many = estimate({"a": [n / 40 for n in range(20)], "b": [n / 40 + 0.5 for n in range(20)]}, {"b": "a"})
    assert many["b"].difference is not None and 0 < many["b"].difference.p < 0.01  # never 0


def test_the_false_positive_rate_is_5_percent() -> None:
    chance = random.Random(0)
    columns = {n: [chance.random() for _ in range(10)] for n in range(400)}
    columns |= {n: [float(chance.random() < 0.5) for _ in range(10)] for n in range(400, 800)}
    found = estimate(columns, {n: n + 1 for n in range(0, 800, 2)})
    assert sum(one.difference.significant for one in found.values() if one.difference) <= 400 * 0.05
