"""Pairs to train an evaluator on: neither question nor passage gives the label away."""

from __future__ import annotations

from collections import Counter

from rqa_embedded.training.pairs import pairs
from rqa_embedded.training.rows import Row


def told(town: str, who: str) -> Row:
    return Row(f"Who founded {town}?", f"{town} was founded by {who}.", town, [who], len(f"{town} was founded by "))


TOWNS = [told(f"{before}{after}", f"Ada {after}") for before in ("Kel", "Or", "Ta") for after in ("more", "wick", "rn")]


def test_every_question_and_every_passage_is_right_once_and_wrong_once() -> None:
    made = list(pairs(TOWNS))
    assert len(made) == 16  # of nine, one is left over
    for field in ("question", "text"):
        assert set(Counter((pair[field], pair["label"]) for pair in made).values()) == {1}
    right = {(row.question, row.context) for row in TOWNS}
    assert all(((pair["question"], pair["text"]) in right) == (pair["label"] == 1) for pair in made)


def test_a_row_without_an_answer_is_left_out() -> None:
    made = Row("Who founded Orwick?", "Orwick lies on a river.", "Orwick")
    assert list(pairs([*TOWNS, made])) == list(pairs(TOWNS))


def test_two_passages_with_the_same_telling_sentence_are_no_pair() -> None:
    again = Row("Who was it that founded Kelmore?", "It rains. " + TOWNS[0].context, "Kelmore", ["Ada more"], 33)
    assert list(pairs([TOWNS[0], again])) == []


def test_titles_stand_beside_the_texts() -> None:
    first = next(pairs(TOWNS))
    assert first == {"question": TOWNS[0].question, "title": "Kelmore", "text": TOWNS[0].context, "label": 1}
