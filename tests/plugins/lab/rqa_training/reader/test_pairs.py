"""Pairs: neither question nor passage alone reveals the label."""

from __future__ import annotations

from collections import Counter

from rqa_training.reader.pairs import pairs
from rqa_training.reader.rows import Row


def founded(town: str, who: str) -> Row:
    return Row(f"Who founded {town}?", f"{town} was founded by {who}.", town, [who], len(f"{town} was founded by "))


TOWNS = [
    founded(f"{before}{after}", f"Ada {after}") for before in ("Kel", "Or", "Ta") for after in ("more", "wick", "rn")
]


def test_each_question_and_passage_has_each_label_once() -> None:
    made = list(pairs(TOWNS))
    assert len(made) == 16  # of nine, one is left over
    for field in ("question", "text"):
        assert set(Counter((pair[field], pair["label"]) for pair in made).values()) == {1}
    right = {(row.question, row.context) for row in TOWNS}
    assert all(((pair["question"], pair["text"]) in right) == (pair["label"] == 1) for pair in made)


def test_a_row_without_an_answer_is_left_out() -> None:
    made = Row("Who founded Orwick?", "Orwick lies on a river.", "Orwick")
    assert list(pairs([*TOWNS, made])) == list(pairs(TOWNS))


def test_passages_with_the_same_answering_sentence_are_no_pair() -> None:
    again = Row("Who was it that founded Kelmore?", "It rains. " + TOWNS[0].context, "Kelmore", ["Ada more"], 33)
    assert list(pairs([TOWNS[0], again])) == []


def test_titles_are_separate() -> None:
    first = next(pairs(TOWNS))
    assert first == {"question": TOWNS[0].question, "title": "Kelmore", "text": TOWNS[0].context, "label": 1}
