from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rqa_bm25.chunking import Cut

SENTENCE = "The small brown fox jumps over that very lazy dog. "  # ten words


def lengths(passages: list[str]) -> list[int]:
    return [len(passage.split()) for passage in passages]


def test_a_text_of_up_to_one_and_a_half_lengths_stays_whole():
    assert Cut(100)(SENTENCE * 15) == [(SENTENCE * 15).strip()]


def test_a_longer_text_is_cut_between_sentences_at_about_the_length():
    passages = Cut(100)(SENTENCE * 50)
    assert lengths(passages) == [100] * 5
    assert all(passage.endswith("dog.") for passage in passages)


def test_an_overlong_sentence_is_cut_between_words():
    assert lengths(Cut(100)("word " * 450)) == [100, 100, 100, 100, 50]


def test_a_short_rest_joins_the_passage_before_it():
    assert lengths(Cut(100)(SENTENCE * 22)) == [100, 120]


def test_a_heading_does_not_stand_alone():
    passages = Cut(100)("Introduction\n\n" + "word " * 190 + ".\n\n" + SENTENCE * 10)
    assert passages[0].startswith("Introduction\n\nword")


def test_overlap_repeats_sentences():
    text = " ".join(f"Sentence number {n} has seven words here." for n in range(60))
    first, second, *_ = Cut(70, overlap=2)(text)
    assert second.startswith(first[-len("Sentence number 8 has seven words here. ") * 2 + 1 :].strip())


def test_overlap_never_repeats_more_than_half_a_passage():
    passages = Cut(10, overlap=5)(SENTENCE * 10)
    assert lengths(passages) == [10] * 10


def test_characters_of_unspaced_scripts_count_as_words():
    passages = Cut(100)("これは日本語の文です。" * 60)
    assert len(passages) > 5
    assert all(len(passage) <= 160 for passage in passages)


def test_a_text_without_spaces_is_still_cut():
    assert all(len(passage) <= 64 * 200 for passage in Cut(100)("x" * 1_000_000))


def test_no_text_is_no_passage():
    assert Cut()(" \n\t ") == []


texts = st.lists(
    st.one_of(st.sampled_from([SENTENCE, "\n\n", "e.g. ", "Mr. X ", "。", "....", "1.5 "]), st.text(max_size=30)),
    max_size=120,
).map("".join)


@given(texts, st.integers(10, 60))
def test_without_overlap_every_character_is_in_one_passage(text, words):
    passages = Cut(words)(text)
    assert "".join("".join(passages).split()) == "".join(text.split())


@given(texts, st.integers(10, 60), st.integers(0, 4))
def test_every_passage_is_a_slice_of_the_text_and_of_bounded_length(text, words, overlap):
    for passage in Cut(words, overlap)(text):
        assert passage in text
        assert len(passage.split()) <= 2.5 * words
