from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robust_qa.documents.chunking import Cut
from robust_qa.documents.headings import Section

SENTENCE = "The small brown fox jumps over that very lazy dog. "  # ten words


def lengths(passages: list[str]) -> list[int]:
    return [len(passage.split()) for passage in passages]


def test_a_text_of_up_to_one_and_a_half_lengths_stays_whole():
    assert Cut(100)(SENTENCE * 15) == [(SENTENCE * 15).strip()]


def test_a_longer_text_is_cut_between_sentences_at_about_the_length():
    passages = Cut(100)(SENTENCE * 50)
    assert lengths(passages) == [100] * 5
    assert all(passage.endswith("dog.") for passage in passages)


def test_a_mark_of_a_reference_keeps_no_sentence_open():
    passages = Cut(100)(SENTENCE.replace(".", ".[3]") * 50)
    assert lengths(passages) == [100] * 5
    assert all(passage.endswith("dog.[3]") for passage in passages)


def test_a_short_line_that_ends_with_a_mark_of_a_reference_is_no_heading():
    passages = Cut(100)(f"{SENTENCE * 9}{'word ' * 8}.\n\nHe left.[3]\n\n{SENTENCE * 10}")
    assert passages[0].endswith("He left.[3]")


def test_an_overlong_sentence_is_cut_between_words():
    assert lengths(Cut(100)("word " * 450)) == [100, 100, 100, 100, 50]


def test_a_short_rest_joins_the_passage_before_it():
    assert lengths(Cut(100)(SENTENCE * 22)) == [100, 120]


def test_a_heading_does_not_stand_alone():
    passages = Cut(100)("Introduction\n\n" + "word " * 190 + ".\n\n" + SENTENCE * 10)
    assert passages[0].startswith("Introduction\n\nword")


def test_a_line_that_looks_like_a_heading_goes_with_what_follows_it():
    passages = Cut(100)("Part One\n\nCold Haven\n\n" + f"{SENTENCE * 10}\n\nMarrow Sound\n\n" * 2 + SENTENCE * 10)
    assert [passage.splitlines()[0] for passage in passages] == ["Part One", "Marrow Sound", "Marrow Sound"]


@pytest.mark.parametrize("words", [60, 95, 130])
def test_a_passage_begins_with_its_section_and_is_told_its_heading(words):
    body = SENTENCE * (words // 10) + "\n\n"
    sections = [Section(f"## {name}\n\n", body, ("Coast", name)) for name in "ABCD"]
    found = list(Cut(100).sections(sections))
    assert [(path, text[:4]) for path, text in found] == [(["Coast", name], f"## {name}") for name in "ABCD"]


def test_all_passages_of_a_section_are_told_its_heading():
    found = list(Cut(100).sections([Section("", SENTENCE * 10), Section("# A\n\n", SENTENCE * 20, ("A",))]))
    assert [path for path, _ in found] == [[], ["A"], ["A"]]


def test_short_sections_share_a_passage_and_are_told_what_they_have_in_common():
    sections = [Section(f"## {n}\n", SENTENCE, ("Coast", str(n))) for n in range(24)]
    found = list(Cut(100).sections(sections))
    assert [path for path, _ in found] == [["Coast"]] * 8
    assert all(text.startswith("## ") and text.count("dog.") == 3 for _, text in found)


def test_headings_without_text_go_with_the_section_after_them():
    sections = [Section(f"# {name}\n\n", "", (name,)) for name in "AB"]
    sections += [Section("## C\n\n", SENTENCE * 10, ("B", "C")), Section("# D\n\n", SENTENCE * 10, ("D",))]
    (first, text), (second, _) = Cut(100).sections(sections)
    assert (first, text[:16], second) == (["B", "C"], "# A\n\n# B\n\n## C\n\n", ["D"])


def test_a_text_of_headings_alone_is_cut_like_any_other():
    sections = [Section(f"# Heading {n}\n\n", "", (f"Heading {n}",)) for n in range(200)]
    assert all(50 <= length <= 160 for length in lengths([text for _, text in Cut(100).sections(sections)]))


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


@pytest.mark.parametrize("length", [65, 150, 1000])
def test_no_address_is_cut(length):
    address = "https://a.example/".ljust(length, "x")
    passages = Cut(100)(f"word word {address} " * 300)
    assert len(passages) > 5
    assert {word for passage in passages for word in passage.split()} == {"word", address}


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
