"""What the benchmark of readers tells of their confidence, against values worked out by hand."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

from reader import accuracy_of_the_surest, calibration_error


def test_the_most_confident_answers_come_first() -> None:
    assert accuracy_of_the_surest([0.9, 0.1, 0.5, 0.3], [True, False, True, False]) == [0.5, 2 / 3, 1.0, 1.0]


def test_a_calibrated_confidence_has_no_error() -> None:
    assert calibration_error([0.5, 0.5], [True, False]) == 0
    assert calibration_error([0.95, 0.95], [True, False]) == pytest.approx(0.45)
