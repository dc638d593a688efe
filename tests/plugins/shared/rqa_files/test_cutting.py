from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from standins.reading import read

from rqa_files import Block, Cut, Document, Excerpt

SENTENCE = "The small brown fox jumps over that very lazy dog. "  # ten words


def heading(level: int, text: str) -> Block:
    return Block("heading", text, level)


def paragraph(text: str) -> Block:
    return Block("paragraph", text.strip())


def cut(*blocks: Block, words: int = 100, overlap: int = 0, title: str = "Fox") -> list[Excerpt]:
    return list(Cut(words, overlap).passages(Document(title, blocks, "1", "fox.txt")))


def texts(text: str, words: int = 100, overlap: int = 0) -> list[str]:
    return [passage.text for passage in cut(paragraph(text), words=words, overlap=overlap)]


def lengths(passages: list[str]) -> list[int]:
    return [len(passage.split()) for passage in passages]


# -- paragraphs


def test_a_document_of_up_to_one_and_a_half_lengths_stays_whole():
    passages = cut(paragraph(SENTENCE * 5), heading(2, "Habits"), paragraph(SENTENCE * 9))
    assert passages == [Excerpt("Fox", f"{(SENTENCE * 5).strip()}\n\nHabits\n\n{(SENTENCE * 9).strip()}")]


def test_a_long_paragraph_is_cut_between_sentences_at_about_the_length():
    passages = texts(SENTENCE * 50)
    assert lengths(passages) == [100] * 5
    assert all(passage.endswith("dog.") for passage in passages)


def test_an_overlong_sentence_is_cut_between_words():
    assert lengths(texts("word " * 450)) == [100, 100, 100, 100, 50]


def test_a_short_rest_joins_the_passage_before_it():
    assert lengths(texts(SENTENCE * 22)) == [100, 120]


def test_overlap_repeats_sentences():
    text = " ".join(f"Sentence number {n} has seven words here." for n in range(60))
    first, second, *_ = texts(text, words=70, overlap=2)
    assert second.startswith(first[-len("Sentence number 8 has seven words here. ") * 2 + 1 :].strip())


def test_characters_of_unspaced_scripts_count_as_words():
    passages = texts("これは日本語の文です。" * 60)
    assert len(passages) > 5
    assert all(len(passage) <= 160 for passage in passages)


def test_a_text_without_spaces_is_still_cut():
    assert all(len(passage) <= 64 * 200 for passage in texts("x" * 1_000_000))


@pytest.mark.parametrize("length", [65, 1000])
def test_no_address_is_cut(length):
    address = "https://a.example/".ljust(length, "x")
    passages = texts(f"word word {address} " * 300)
    assert len(passages) > 5
    assert {word for passage in passages for word in passage.split()} == {"word", address}


# -- sections


@pytest.mark.parametrize("words", [60, 130])
def test_a_passage_is_titled_by_the_headings_above_it(words):
    sections = [(heading(2, name), paragraph(SENTENCE * (words // 10))) for name in "ABCD"]
    passages = cut(heading(1, "Coast"), *[block for section in sections for block in section], title="Handbook")
    assert [passage.title for passage in passages] == [f"Handbook > Coast > {name}" for name in "ABCD"]
    assert all(passage.text.startswith("The small") for passage in passages)


def test_short_sections_share_a_passage_with_their_headings():
    sections = [(heading(2, f"No. {n}"), paragraph(SENTENCE * 2)) for n in range(12)]
    passages = cut(heading(1, "Coast"), *[block for section in sections for block in section])
    assert len(passages) == 6
    text = SENTENCE * 2
    assert passages[0] == Excerpt("Fox > Coast", f"No. 0\n\n{text.strip()}\n\nNo. 1\n\n{text.strip()}")


def test_a_short_section_does_not_join_one_with_another_parent():
    blocks = [heading(1, "A"), heading(2, "Short"), paragraph(SENTENCE), heading(1, "B"), paragraph(SENTENCE * 15)]
    assert [passage.title for passage in cut(*blocks)] == ["Fox > A > Short", "Fox > B"]


def test_a_short_last_section_joins_the_one_before_it():
    blocks = [heading(1, "A"), paragraph(SENTENCE * 15), heading(2, "End"), paragraph(SENTENCE)]
    *_, last = cut(*blocks)
    assert last.title == "Fox > A"
    assert last.text.endswith(f"dog.\n\nEnd\n\n{SENTENCE.strip()}")


def test_no_passage_ends_with_a_heading():
    blocks = [heading(1, "A"), heading(2, "B"), paragraph(SENTENCE * 10), heading(1, "C"), heading(2, "D")]
    passages = cut(*blocks, paragraph(SENTENCE * 10))
    assert [passage.title for passage in passages] == ["Fox > A > B", "Fox > C > D"]
    assert all(passage.text.endswith("dog.") for passage in passages)


def test_headings_without_text_are_passages():
    assert cut(heading(1, "Fox")) == [Excerpt("Fox", "Fox")]
    passages = cut(*[heading(1, f"Heading {n}") for n in range(200)])
    assert sum(passage.text.count("Heading") for passage in passages) == 200
    assert all(length <= 150 for length in lengths([passage.text for passage in passages]))


# -- blocks


def item(text: str, *above: str) -> Block:
    return Block("item", f"- {text.strip()}", max(len(above) - 1, 0), above)


def test_a_list_item_is_not_cut_and_its_introduction_is_repeated():
    items = [item(f"Item {n}. " + SENTENCE * 5, "You need:") for n in range(4)]
    first, second = cut(paragraph("You need:"), *items)
    assert first.text.splitlines() == ["You need:", items[0].text, items[1].text]
    assert second.text.splitlines() == ["You need:", items[2].text, items[3].text]


def test_the_items_above_a_nested_item_are_repeated():
    nested = [item(SENTENCE * 8, "You need:", "- Food") for _ in range(3)]
    passages = cut(paragraph("You need:"), item("Food", "You need:"), *nested)
    assert [passage.text for passage in passages] == [f"You need:\n- Food\n  {nested[0].text}"] * 3


@pytest.mark.parametrize("kind", ["item", "code"])
def test_a_block_is_cut_only_beyond_twice_the_length(kind):
    whole = Block(kind, "\n".join([SENTENCE.strip()] * 20))
    (passage,) = cut(whole)
    assert passage.text == whole.text
    passages = cut(Block(kind, "\n".join([SENTENCE.strip()] * 30)))
    assert lengths([passage.text for passage in passages]) == [100, 100, 100]


def test_code_keeps_its_lines_and_indents():
    code = Block("code", "if a:\n    b()\n\n    c()")
    (passage,) = cut(paragraph("Run:"), Block("code", code.text, 0, ("Run:",)))
    assert passage.text == "Run:\nif a:\n    b()\n\n    c()"


def test_a_passage_knows_its_first_line():
    blocks = [Block("paragraph", SENTENCE.strip() * 9, line=line) for line in (3, 20, 41)]
    assert [passage.line for passage in cut(*blocks)] == [3, 20, 41]


plain_texts = st.lists(
    st.one_of(
        st.sampled_from([SENTENCE, "\n\n", "\n", "- ", "    ", "e.g. ", "1. Heading", "。"]),
        st.text(st.characters(exclude_categories=["C"]), max_size=30),
    ),
    max_size=120,
).map("".join)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("texts")


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.html", "a.1"])
@settings(deadline=None)  # the first example imports the reader of its format
@given(text=plain_texts, words=st.integers(10, 60), overlap=st.integers(0, 4))
def test_passages_of_any_file_are_of_bounded_length(folder, name, text, words, overlap):
    (folder / name).write_bytes((".TH A 1\n" if name == "a.1" else "").encode() + text.encode())
    for document in read(folder / name, lambda where, why: None):
        for passage in Cut(words, overlap).passages(document):
            assert passage.text.strip()
            assert len(passage.text.split()) <= 4 * words + 12


@given(plain_texts, st.integers(10, 60), st.sampled_from(["paragraph", "item", "code"]))
def test_without_overlap_every_character_is_in_one_passage(text, words, kind):
    passages = cut(Block(kind, text), words=words)
    assert "".join("".join(passage.text for passage in passages).split()) == "".join(text.split())
