"""Equations 6 and 7 and Appendix C.4: values computed by hand, and properties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from rqa_eor.voting import Pooling, pool, scores, similarity, winners

Floats = NDArray[np.float64]
POOLINGS: tuple[Pooling, ...] = ("mean", "max", "top", "plurality", "majority")


def matrix(*pairs: float) -> Floats:
    """Symmetric, with 1 on the diagonal; `pairs` are s12 for two answers, s12, s13, s23 for three, and so on."""
    n = {1: 2, 3: 3, 6: 4}[len(pairs)]
    made = np.eye(n)
    made[np.triu_indices(n, 1)] = pairs
    return np.maximum(made, made.T)


def pooled(
    similar: Floats, pooling: Pooling, *, threshold: float = 0.8, voting: list[bool] | None = None
) -> list[float]:
    everyone = np.array([voting or [True] * len(similar)])
    found: list[float] = pool(similar[None], everyone, pooling, threshold=threshold)[0].tolist()
    return found


# -- Equation 6


def test_similarity_is_the_sum_of_the_measures_each_times_its_lambda() -> None:
    # Two answers. em says 0, f1 says 0.5: S(r1, r2) = 0.6 * 0 + 0.2 * 0.5 = 0.1, and S(r1, r1) = 0.6 + 0.2 = 0.8.
    tensor = np.stack([matrix(0.0), matrix(0.5)])[None]
    assert similarity(tensor, np.array([0.6, 0.2]))[0] == pytest.approx(np.array([[0.8, 0.1], [0.1, 0.8]]))


def test_similarity_of_three_answers_of_two_questions() -> None:
    # First question: s12 = 0.5 * 1 + 0.4 * 0.2 = 0.58, s13 = 0.4 * 0.5 = 0.2, s23 = 0. Second: all 0.
    tensor = np.zeros((2, 2, 3, 3))
    tensor[0] = [matrix(1, 0, 0), matrix(0.2, 0.5, 0)]
    found = similarity(tensor, np.array([0.5, 0.4]))
    assert found[0][np.triu_indices(3, 1)] == pytest.approx([0.58, 0.2, 0.0])
    assert not found[1].any()


# -- pooling, Appendix C.4

THREE = matrix(0.9, 0.8, 0.1)  # s12, s13, s23


def test_mean_is_the_sum_over_the_others_divided_by_their_number() -> None:
    # (0.9 + 0.8) / 2, (0.9 + 0.1) / 2, (0.8 + 0.1) / 2; of two answers, the one similarity there is.
    assert pooled(THREE, "mean") == pytest.approx([0.85, 0.5, 0.45])
    assert pooled(matrix(0.3), "mean") == pytest.approx([0.3, 0.3])


def test_max_is_the_largest() -> None:
    assert pooled(THREE, "max") == pytest.approx([0.9, 0.9, 0.8])
    assert pooled(matrix(0.3), "max") == pytest.approx([0.3, 0.3])


def test_top_is_the_mean_of_the_k_largest() -> None:
    # Of three, k = ceil(3 / 2) - 1 = 1: the largest. Of two, ceil(2 / 2) - 1 = 0, and so 1.
    assert pooled(THREE, "top") == pytest.approx([0.9, 0.9, 0.8])
    assert pooled(matrix(0.3), "top") == pytest.approx([0.3, 0.3])
    # Of four, k = 1; of five, k = 2: the first answer's similarities are 0.8, 0.6, 0.4, 0.2, and (0.8 + 0.6) / 2 = 0.7.
    five = np.eye(5)
    five[0, 1:] = five[1:, 0] = [0.2, 0.4, 0.6, 0.8]
    assert pooled(five, "top")[0] == pytest.approx(0.7)


def test_plurality_keeps_the_answers_with_the_most_equivalent_ones() -> None:
    # From 0.8 on, r1 has two (r2 and r3), r2 and r3 have one each. So r1 alone is kept: (0.9 + 0.8) / 2.
    assert pooled(THREE, "plurality") == pytest.approx([0.85, 0, 0])
    # From 0.85 on, r1 and r2 have one each, and r3 has none: 0.9, 0.9.
    assert pooled(THREE, "plurality", threshold=0.85) == pytest.approx([0.9, 0.9, 0])
    assert pooled(matrix(0.3), "plurality") == [0, 0]
    assert pooled(matrix(0.9), "plurality") == pytest.approx([0.9, 0.9])


def test_majority_keeps_the_answers_that_half_of_all_are_equivalent_to() -> None:
    # Of three, k = 1 other is needed from 0.85 on: r1 and r2 have each other, r3 has none. The mean of the k largest.
    assert pooled(THREE, "majority", threshold=0.85) == pytest.approx([0.9, 0.9, 0])
    assert pooled(matrix(0.3), "majority") == [0, 0]
    assert pooled(matrix(0.9), "majority") == pytest.approx([0.9, 0.9])
    # Of five, k = 2: r1 and its like have only one other each, and nobody is kept.
    five = np.eye(5)
    five[0, 1] = five[1, 0] = 1
    assert pooled(five, "majority") == [0] * 5


@pytest.mark.parametrize("pooling", POOLINGS)
def test_missing_answers_are_ignored(pooling: Pooling) -> None:
    # Without r3, r1 and r2 have 0.9 each, whatever the pooling; r3 itself has nobody to agree with.
    assert pooled(THREE, pooling, voting=[True, True, False]) == pytest.approx([0.9, 0.9, 0])


@pytest.mark.parametrize("pooling", POOLINGS)
def test_single_answer_scores_0(pooling: Pooling) -> None:
    assert pooled(THREE, pooling, voting=[False, True, False]) == [0, 0, 0]
    assert pool(np.ones((1, 1, 1)), np.array([[True]]), pooling).tolist() == [[0]]


# -- Equation 7


def scored(similar: Floats, weights: list[float], pooling: Pooling = "mean") -> Floats:
    weighing = np.array(weights)
    present = np.ones((1, len(weights)), dtype=bool)
    return scores(similar[None, None], present, weighing, np.array([1.0]), pooling)


def test_score_is_weight_times_pooled_similarity() -> None:
    # 0.2 * 0.85 = 0.17, 0.5 * 0.5 = 0.25, 0.1 * 0.45 = 0.045: the second wins, though the first is the most alike.
    found = scored(THREE, [0.2, 0.5, 0.1])
    assert found[0] == pytest.approx([0.17, 0.25, 0.045])
    assert winners(found, np.array([0.2, 0.5, 0.1])).tolist() == [1]


def test_higher_weight_wins_between_two_answers() -> None:
    # 0.3 * 0.4 = 0.12 and 0.6 * 0.4 = 0.24.
    found = scored(matrix(0.4), [0.3, 0.6])
    assert found[0] == pytest.approx([0.12, 0.24])


def test_a_retriever_of_weight_0_neither_wins_nor_votes() -> None:
    # Without r1, r2 and r3 have 0.1 in common: 0.5 * 0.1 and 0.4 * 0.1.
    found = scored(THREE, [0, 0.5, 0.4])
    assert found[0].tolist() == [-np.inf, pytest.approx(0.05), pytest.approx(0.04)]


def test_ties_go_to_the_higher_weight_and_then_to_the_earlier() -> None:
    nothing_alike = matrix(0, 0, 0)
    for weights, winner in (([0.2, 0.5, 0.5], 1), ([0.5, 0.5, 0.2], 0), ([1, 1, 1], 0)):
        assert winners(scored(nothing_alike, weights), np.array(weights)).tolist() == [winner]


def test_threshold_is_relative_to_the_sum_of_the_lambdas() -> None:
    # With lambda 0.3, S = 0.27 for s = 0.9, and equivalent from 0.8 * 0.3 = 0.24 on.
    tensor, present = matrix(0.9)[None, None], np.ones((1, 2), dtype=bool)
    found = scores(tensor, present, np.ones(2), np.array([0.3]), "majority", threshold=0.8)
    assert found[0] == pytest.approx([0.27, 0.27])


# -- properties


@st.composite
def votes(draw: st.DrawFn) -> tuple[Floats, NDArray[np.bool_], Floats, Floats]:
    """One question: (1, k, n, n), (1, n), weights and lambdas; equal answers are alike to all others."""
    n, k = draw(st.integers(1, 6)), draw(st.integers(1, 3))
    said = np.array(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    alike = np.array(draw(st.lists(st.sampled_from([0, 0.25, 0.5, 0.8, 1]), min_size=16 * k, max_size=16 * k)))
    known = alike.reshape(k, 4, 4)
    known = np.maximum(known, known.transpose(0, 2, 1))
    known[:, range(4), range(4)] = 1
    present = np.array([draw(st.lists(st.booleans(), min_size=n, max_size=n))])
    number = st.sampled_from([0.0, 0.1, 0.3, 0.6])
    weights = np.array(draw(st.lists(number, min_size=n, max_size=n)))
    lambdas = np.array(draw(st.lists(number, min_size=k, max_size=k)))
    return known[:, said][:, :, said][None], present, weights, lambdas


@given(votes(), st.sampled_from(POOLINGS), st.randoms())
def test_permuting_the_pool_permutes_the_scores(vote: tuple[Floats, ...], pooling: Pooling, random: object) -> None:
    tensor, present, weights, lambdas = vote
    order = np.array(random.sample(range(len(weights)), len(weights)))  # type: ignore[attr-defined]
    found = scores(tensor, present, weights, lambdas, pooling)
    permuted = scores(tensor[:, :, order][:, :, :, order], present[:, order], weights[order], lambdas, pooling)
    assert permuted == pytest.approx(found[:, order])


@given(votes(), st.sampled_from(POOLINGS))
def test_equal_answers_of_equal_weight_get_equal_scores(vote: tuple[Floats, ...], pooling: Pooling) -> None:
    tensor, present, weights, lambdas = vote
    found = scores(tensor, present, weights, lambdas, pooling)[0]
    for i in range(len(weights)):
        for j in range(i):
            same = (tensor[0, :, i] == tensor[0, :, j]).all() and tensor[0, 0, i, j] == 1
            if same and weights[i] == weights[j] and present[0, i] and present[0, j]:
                assert found[i] == found[j]


@given(votes(), st.sampled_from(POOLINGS))
def test_weight_0_and_no_answer_never_win(vote: tuple[Floats, ...], pooling: Pooling) -> None:
    tensor, present, weights, lambdas = vote
    found = scores(tensor, present, weights, lambdas, pooling)
    winner = winners(found, weights)[0]
    if (present[0] & (weights > 0)).any():
        assert weights[winner] > 0 and present[0, winner]
    else:
        assert np.isneginf(found).all()


@given(votes(), st.sampled_from(POOLINGS))
def test_questions_are_independent(vote: tuple[Floats, ...], pooling: Pooling) -> None:
    tensor, present, weights, lambdas = vote
    two = np.concatenate([np.ones_like(tensor), tensor]), np.concatenate([np.ones_like(present), present])
    single = scores(tensor, present, weights, lambdas, pooling)[0]
    assert scores(*two, weights, lambdas, pooling)[1].tolist() == single.tolist()
