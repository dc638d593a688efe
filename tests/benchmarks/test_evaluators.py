"""What the benchmark of evaluators tells of a set whose halves are of one kind."""

import math
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

from evaluators import crossed, line
from rqa_train.evaluator.thresholds import Judged

GOOD, BAD = Judged((0.9, -0.5), (True, False)), Judged((-0.9,), (False,))


def test_a_threshold_is_measured_on_the_half_that_did_not_choose_it() -> None:
    assert crossed([GOOD, GOOD, BAD, BAD]) == 1


@pytest.mark.parametrize("judged", [[GOOD, BAD, GOOD, BAD], [GOOD], [BAD] * 4], ids=["halves", "one question", "set"])
def test_accuracy_is_left_out_when_a_half_has_one_class(judged: list[Judged]) -> None:
    assert math.isnan(crossed(judged))
    assert line("set", "t5", judged, None, 1.0).startswith("set ")
