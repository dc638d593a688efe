import pytest
from hypothesis import given
from hypothesis import strategies as st

from rqa_activerag.voting import agree, elect


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Jane Austen", "the jane austen!", True),
        ("Austen", "It was Jane Austen.", True),
        ("1871", "18711", False),  # whole words only
        ("Jane", "Janet", False),
        ("+", "-", False),  # nothing of either is left, normalised
        ("", "Jane", False),
    ],
)
def test_answers_agree_when_one_holds_the_words_of_the_other(one: str, other: str, same: bool) -> None:
    assert agree(one, other) is same
    assert agree(other, one) is same


@pytest.mark.parametrize(
    ("answers", "elected"),
    [
        ([], []),
        (["A b"], [0]),
        (["Mary", "Jane Austen", "Austen"], [2, 1]),  # two say Austen
        (["1871", "1902", "1871 or 1902"], [0, 2]),  # and nobody but one that it may be either
        (["1.5", "15", "15"], [1, 2]),
        (["Mary", "Jane"], [0]),  # of equals the first
        (["Austen", "Mary", "jane austen", "Mary Shelley", "Mary S."], [1, 3, 4]),  # three against two
    ],
)
def test_the_answer_that_most_others_share_wins(answers: list[str], elected: list[int]) -> None:
    assert elect(answers) == elected


@given(st.lists(st.text(max_size=5), min_size=1))
def test_any_answers_have_a_winner_and_it_agrees_with_its_supporters(answers: list[str]) -> None:
    winner, *others = elect(answers)
    assert all(agree(answers[winner], answers[other]) for other in others)
