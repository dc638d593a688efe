"""Section 4.4: decompose, filter, recompose."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robust_qa import Passage
from robust_qa.kit import cite
from rqa_crag.strips import Mode, choose, cut, paragraphs, recompose

LONG = "The first sentence is here now. The second sentence is here too. And a third sentence is here. "
FOUR = f"{LONG}The fourth sentence is the last one."


def texts(text: str, mode: Mode = "excerption") -> list[str]:
    return [strip.text for strip in cut([Passage(text)], mode)]


def test_a_passage_of_one_or_two_sentences_is_one_strip() -> None:
    assert texts("Only one sentence stands in here.") == ["Only one sentence stands in here."]
    two = "The first sentence is here now. The second sentence is here too."
    assert texts(two) == [two]


def test_a_longer_one_is_cut_into_strips_of_three_sentences() -> None:
    assert texts(FOUR) == [LONG.strip(), "The fourth sentence is the last one."]


def test_a_sentence_of_at_most_five_words_joins_the_one_before_it() -> None:
    text = LONG + "It was so in 1871. The fourth sentence is the last one."
    assert texts(text) == [LONG + "It was so in 1871.", "The fourth sentence is the last one."]


def test_a_strip_of_fixed_length_has_fifty_words_and_a_short_tail_joins_the_last() -> None:
    def lengths(words: int) -> list[int]:
        return [len(text.split()) for text in texts(" ".join(f"w{n}" for n in range(words)), "fixed_num")]

    assert (lengths(59), lengths(109), lengths(110)) == ([59], [50, 59], [50, 50, 10])


def test_in_scripts_without_spaces_every_character_is_a_word() -> None:
    assert [len(text) for text in texts("東" * 60 + "。", "fixed_num")] == [50, 11]
    (strip,) = cut([Passage("東京は首都です。")], "excerption")
    assert strip.says_something


def test_selection_takes_whole_passages() -> None:
    assert texts(f"  {FOUR}\n", "selection") == [FOUR]


def test_an_empty_passage_has_no_strips() -> None:
    for mode in ("excerption", "fixed_num", "selection"):
        assert texts(" \n ", mode) == []  # type: ignore[arg-type]


def test_a_text_that_stands_in_two_passages_is_one_strip_of_the_first() -> None:
    (strip,) = cut([Passage("The same text here!", id="1"), Passage(" The same\ntext here!", id="2")], "excerption")
    assert strip.passage.id == "1"


def test_a_text_under_two_titles_is_two_strips() -> None:
    text = "Born in Karle in 1871, the engineer worked at the harbour."
    both = [Passage(text, title=title) for title in ("Ada Quill", "Ben Storm", "Ben\u200b  Storm")]
    for strips in (cut(both, "excerption"), paragraphs(both)):
        assert [strip.passage.title for strip in strips] == ["Ada Quill", "Ben Storm"]


def test_texts_that_differ_in_a_sign_alone_are_not_one() -> None:
    each = [f"It cost them {cost} in all." for cost in ("$1.5", "$15", "15 %", "15")]
    assert [strip.text for strip in cut([Passage(text) for text in each], "excerption")] == each


def test_pages_are_cut_at_their_blank_lines_and_scraps_are_left_out() -> None:
    page = Passage("The first paragraph.\nStill the first.\n \n\nTen chars.\n\nThe second paragraph.")
    assert [s.text for s in paragraphs([page])] == ["The first paragraph.\nStill the first.", "The second paragraph."]


@pytest.mark.parametrize(
    ("text", "enough"), [("Built by Ada in 1871", True), ("Built in 1871", False), ("- – —", False)]
)
def test_a_strip_of_fewer_than_four_words_says_nothing(text: str, enough: bool) -> None:
    (strip,) = cut([Passage(text)], "selection")
    assert strip.says_something is enough


# -- filter

STRIPS = cut([Passage(f"This is strip number {n}.", id=str(n)) for n in range(7)], "selection")


def chosen(scores: list[float], keep: int = 5, floor: float = -0.5, least: int = 0) -> list[str]:
    return [strip.passage.id for strip in choose(STRIPS, scores, keep, floor, least) if strip.kept]


def test_the_best_are_kept_in_the_order_of_the_text() -> None:
    assert chosen([0.1, 0.9, 0.2, 0.8, 0.3, 0.7, 0.6]) == ["1", "3", "4", "5", "6"]


def test_those_under_the_floor_are_dropped_and_those_at_it_are_not() -> None:
    assert chosen([-0.6, -0.5, 0.9, -0.51, -1.0, -1.0, -1.0]) == ["1", "2"]


def test_so_many_as_are_wanted_in_any_case_are_kept_whatever_they_score() -> None:
    assert chosen([-0.9, -0.8, -1, -1, -1, -1, -1], least=1) == ["1"]
    assert chosen([-0.9, -0.8, -1, -1, -1, -1, -1], keep=2, least=2) == ["0", "1"]


# -- recompose

SEVEN = f"{FOUR} A fifth sentence closes all of this. Then there comes a sixth sentence. And a seventh as well, too."
PAGES = [Passage(SEVEN, id="a"), Passage("Another passage has one sentence.", id="b")]


def recomposed(kept: str, order: str = "text") -> list[Passage]:
    """Of the four strips those marked x are kept."""
    strips = cut(PAGES, "excerption")
    assert len(strips) == len(kept) == 4
    scores = [n / 10 if mark == "x" else -1.0 for n, mark in enumerate(kept)]
    return recompose(choose(strips, scores, 5, -0.5), order)  # type: ignore[arg-type]


def test_strips_side_by_side_are_the_text_as_it_was() -> None:
    first, second = recomposed("xx.x")
    assert first.text == PAGES[0].text[: len(first.text)] and "last one" in first.text
    assert (first.id, first.score, second) == ("a", 0.1, Passage(PAGES[1].text, id="b", score=0.3))


def test_where_something_is_left_out_a_new_paragraph_begins() -> None:
    (passage,) = recomposed("x.x.")
    assert passage.text.split("\n\n") == [LONG.strip(), "And a seventh as well, too."]


def test_a_strip_is_cited_as_the_passage_that_it_is_from() -> None:
    (passage,) = recomposed("x.x.")
    citation = cite(passage, "seventh")
    assert (citation.id, citation.quote) == ("a", "And a seventh as well, too.")


def test_by_score_each_strip_stands_for_itself_the_best_first() -> None:
    assert [(p.id, p.score) for p in recomposed("x.xx", "score")] == [("b", 0.3), ("a", 0.2), ("a", 0.0)]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=300), max_size=4), st.sampled_from(["excerption", "fixed_num", "selection"]))
def test_strips_of_any_text_are_pieces_of_it_that_do_not_overlap(given: list[str], mode: Mode) -> None:
    passages = [Passage(text) for text in given]
    for strips in (cut(passages, mode), paragraphs(passages)):
        for strip in strips:
            assert strip.text.strip() and strip.text in passages[strip.place].text
        for one, other in pairwise(strips):
            assert one.place < other.place or one.end <= other.start
        everything = recompose(choose(strips, [1.0] * len(strips), len(strips), -0.5))
        assert sum(len(p.text) for p in everything) <= sum(len(text) + 2 for text in given)
