"""The bound of a perfect voter, checked by hand and against brute force."""

import random
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rqa_eval.report import voter_bound
from rqa_eval.report.voter_bound import perfect_voter

# Four questions; three members answer q0 q1, q1 q2 and q1.
THREE = [0b0011, 0b0110, 0b0010]


def test_two_members() -> None:
    one, both = perfect_voter([0b0011, 0b0110], 4)
    assert (one.mean, one.worst, one.best) == (0.5, 0.5, 0.5)
    assert (both.mean, both.worst, both.best, both.best_pool) == (0.75, 0.75, 0.75, (0, 1))  # q0, q1, q2


def test_three_members() -> None:
    one, two, three = perfect_voter(THREE, 4)
    assert (one.mean, one.worst, one.best) == (pytest.approx(5 / 12), 1 / 4, 1 / 2)  # 2, 2 and 1 of 4
    assert (two.mean, two.worst, two.best) == (pytest.approx(7 / 12), 1 / 2, 3 / 4)  # 3, 2 and 2 of 4
    assert two.best_pool == (0, 1)
    assert (three.mean, three.worst, three.best) == (pytest.approx(3 / 4), 3 / 4, 3 / 4)


@given(st.lists(st.integers(0, 255), min_size=1, max_size=6))
def test_bounds_match_brute_force(correct: list[int]) -> None:
    for bound in perfect_voter(correct, 8):
        shares = []
        for pool in combinations(correct, bound.size):
            covered = 0
            for member in pool:
                covered |= member
            shares.append(covered.bit_count() / 8)
        assert bound.mean == pytest.approx(sum(shares) / len(shares))
        assert (bound.worst, bound.best) == (min(shares), max(shares))
        assert bound.exact


@given(st.lists(st.integers(0, 255), min_size=2, max_size=6))
def test_a_larger_pool_is_never_worse(correct: list[int]) -> None:
    bounds = perfect_voter(correct, 8)
    for smaller, larger in pairwise(bounds):
        assert smaller.mean <= larger.mean + 1e-12
        assert smaller.worst <= larger.worst
        assert smaller.best <= larger.best


@given(st.lists(st.integers(0, 255), min_size=3, max_size=6))
def test_sampled_bounds_are_within_the_exact_ones(correct: list[int]) -> None:
    exact = perfect_voter(correct, 8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(voter_bound, "MAX_POOLS", 2)
        patch.setattr(voter_bound, "SAMPLED", 3)
        sampled = perfect_voter(correct, 8)
    for whole, part in zip(exact, sampled, strict=True):
        assert part.mean == whole.mean
        assert whole.worst <= part.worst <= part.best <= whole.best
        assert part.exact == (part.size == len(correct))


def test_sampling_is_deterministic() -> None:
    chance = random.Random(7)
    correct = [chance.getrandbits(200) & chance.getrandbits(200) for _ in range(25)]
    first = perfect_voter(correct, 200)
    assert first == perfect_voter(correct, 200)
    assert not first[11].exact and first[1].exact and first[24].exact
    assert first[24].best == first[24].mean == first[24].worst
