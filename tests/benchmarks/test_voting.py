"""What the benchmark of voting tells, of votes that are known."""

import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("scipy", reason="the search needs the extra robust-qa[train]")
sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

from voting import table

from rqa_train.eor.ballots import Ballots


def test_a_vote_that_always_follows_one_retriever_has_its_figures() -> None:
    agree = np.array([[1.0, 1, 1], [1, 1, 0], [1, 0, 1]])  # the others agree with the first, and not with each other
    right = np.array([[1.0, 1, 1], [0, 1, 0], [0, 0, 1], [0, 0, 0]] * 4)
    ballots = Ballots(
        ("given", "odd", "even"), ("em",), np.tile(agree, (16, 1, 1, 1)), np.ones((16, 3), bool), right, "mean", 0.0
    )
    figures = {line[:25].strip(): line[25:].split() for line in table("set", ballots, restarts=1)}
    assert figures["plain voting"] == figures["given"] == ["25.0%", "22.2%"]
