"""Equations 1 to 5 of the Ensemble of Retrievers, checked against values worked out by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rqa_eval.report.inconsistency import (
    Outcomes,
    decompose,
    error_ratios,
    mean_relative_lose_ratio,
    mean_relative_win_ratio,
    questions,
    relative_win_ratio,
)

# Five questions, right (1) and wrong (0):
#
#            q0 q1 q2 q3 q4
#   first     1  1  1  0  0     wrong: q3, q4
#   second    1  0  0  1  0     wrong: q1, q2, q4
#   third     0  0  0  0  1     wrong: q0, q1, q2, q3
FIRST = questions([False, False, False, True, True])
SECOND = questions([False, True, True, False, True])
THIRD = questions([True, True, True, True, False])


def test_a_set_of_questions_has_a_bit_for_each() -> None:
    assert questions([True, False, True, True]) == 0b1101
    assert questions([]) == 0


def test_rwr_of_two_members() -> None:
    # first over second: of q1, q2, q4 it answers q1 and q2; second over first: of q3, q4 it answers q3.
    assert relative_win_ratio([FIRST, SECOND]) == ((0, 2 / 3), (1 / 2, 0))


def test_of_two_members_the_means_are_the_one_ratio_there_is() -> None:
    rwr = relative_win_ratio([FIRST, SECOND])
    assert mean_relative_win_ratio(rwr) == (2 / 3, 1 / 2)
    assert mean_relative_lose_ratio(rwr) == (1 / 2, 2 / 3)


def test_rwr_of_three_members() -> None:
    # first over third: of q0..q3 it answers q0, q1, q2. second over third: q0 and q3.
    # third over first: of q3, q4 it answers q4. third over second: of q1, q2, q4 it answers q4.
    assert relative_win_ratio([FIRST, SECOND, THIRD]) == ((0, 2 / 3, 3 / 4), (1 / 2, 0, 1 / 2), (1 / 2, 1 / 3, 0))


def test_means_over_rows_and_columns_of_three_members() -> None:
    rwr = relative_win_ratio([FIRST, SECOND, THIRD])
    # Rows: (2/3 + 3/4) / 2, (1/2 + 1/2) / 2, (1/2 + 1/3) / 2.
    # Columns: (1/2 + 1/2) / 2, (2/3 + 1/3) / 2, (3/4 + 1/2) / 2.
    assert mean_relative_win_ratio(rwr) == pytest.approx((17 / 24, 1 / 2, 5 / 12))
    assert mean_relative_lose_ratio(rwr) == pytest.approx((1 / 2, 1 / 2, 5 / 8))


def test_against_a_member_that_is_never_wrong_there_is_no_ratio() -> None:
    rwr = relative_win_ratio([0, FIRST])
    assert rwr == ((None, 1), (None, 0))
    assert mean_relative_win_ratio(rwr) == (1, None)
    assert mean_relative_lose_ratio(rwr) == (None, 1)


def test_a_member_alone_has_no_means() -> None:
    rwr = relative_win_ratio([FIRST])
    assert mean_relative_win_ratio(rwr) == mean_relative_lose_ratio(rwr) == (None,)


# Six questions to two members that retrieve from different places:
#
#                 q0  q1  q2  q3  q4  q5
#   one
#     retrieved    1   1   1   1   0   0
#     answered     1   1   1   0   1   1
#     grounded     1   1   0   0   1   0
#     correct      1   0   0   0   0   1
#     what it is   -   EE  HE  no  RE  LG (and an answer that stands nowhere)
#   other
#     retrieved    1   1   1   1   0   0
#     answered     1   1   1   1   1   1
#     grounded     1   1   1   0   0   0
#     correct      0   0   1   0   0   1
#     what it is   EE  EE  -   HE  RE  LG (both with answers that stand nowhere)
ALL = questions([True] * 6)
ONE = Outcomes(asked=ALL, retrieved=0b001111, answered=0b110111, grounded=0b010011, correct=0b100001)
OTHER = Outcomes(asked=ALL, retrieved=0b001111, answered=ALL, grounded=0b000111, correct=0b100100)


def test_failures_are_taken_apart() -> None:
    told = decompose(ONE)
    assert (told.asked, told.failures) == (6, 4)  # q1, q2, q3, q4
    assert (told.retriever_error, told.lucky_guess) == (2, 1)  # q4, q5; q5
    assert (told.hallucination, told.extraction, told.unanswered) == (1, 1, 1)  # q2; q1; q3


def test_rwr_of_each_error() -> None:
    ratios = error_ratios([ONE, OTHER])
    # Both make the same two retriever errors, q4 and q5.
    assert ratios["retriever_error"] == ((0, 0), (0, 0))
    # one has ungrounded answers to q2, q5, and other does not to q2; other to q3, q4, q5, and one not to q3, q4.
    assert ratios["hallucination_error"] == ((0, 2 / 3), (1 / 2, 0))
    # one extracts wrongly on q1, as other does; other on q0 and q1, and one not on q0.
    assert ratios["extraction_error"] == ((0, 1 / 2), (0, 0))
    # Both guess q5.
    assert ratios["lucky_guess"] == ((0, 0), (0, 0))


def test_extraction_errors_are_compared_where_both_retrieved_an_answer() -> None:
    """The second now retrieves nothing for q1, so what the first extracts wrongly there is not compared."""
    elsewhere = Outcomes(asked=ALL, retrieved=0b001101, answered=ALL, grounded=0b000111, correct=0b100100)
    assert error_ratios([ONE, elsewhere])["extraction_error"] == ((0, 1), (None, 0))


def test_lucky_guesses_are_compared_where_neither_retrieved_an_answer() -> None:
    """The second now retrieves an answer to q5, so the first's luck there is not compared."""
    elsewhere = Outcomes(asked=ALL, retrieved=0b101111, answered=ALL, grounded=0b100111, correct=0b100100)
    assert error_ratios([ONE, elsewhere])["lucky_guess"] == ((0, None), (None, None))


@st.composite
def outcomes(draw: st.DrawFn) -> Outcomes:
    """Any outcomes of eight questions: only what is answered can be right or stand in the passages."""
    sets = st.integers(0, 255)
    answered = draw(sets)
    return Outcomes(
        asked=255,
        answered=answered,
        correct=draw(sets) & answered,
        retrieved=draw(sets),
        grounded=draw(sets) & answered,
    )


@given(outcomes())
def test_the_parts_make_up_the_failures(member: Outcomes) -> None:
    told = decompose(member)
    assert told.failures == (
        told.retriever_error - told.lucky_guess + told.hallucination + told.extraction + told.unanswered
    )


@given(st.lists(outcomes(), min_size=2, max_size=5), st.randoms())
def test_permuting_the_members_permutes_every_matrix(members: list[Outcomes], chance: object) -> None:
    order = list(range(len(members)))
    chance.shuffle(order)  # type: ignore[attr-defined]
    there = dict(error_ratios(members).items())
    for name, matrix in error_ratios([members[n] for n in order]).items():
        assert matrix == tuple(tuple(there[name][i][j] for j in order) for i in order)


@given(st.lists(st.integers(0, 255), min_size=1, max_size=5))
def test_ratios_are_shares_and_a_member_wins_nothing_over_itself(wrong: list[int]) -> None:
    rwr = relative_win_ratio(wrong)
    assert all(ratio is None or 0 <= ratio <= 1 for row in rwr for ratio in row)
    assert all(rwr[n][n] in (0, None) for n in range(len(wrong)))


@given(st.integers(1, 255), st.integers(0, 255))
def test_a_lose_ratio_of_zero_means_that_nobody_answers_what_it_does_not(wrong: int, theirs: int) -> None:
    rwr = relative_win_ratio([wrong, theirs])
    assert (mean_relative_lose_ratio(rwr)[0] == 0) == (wrong & ~theirs == 0)
