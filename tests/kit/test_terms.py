"""Words reduced to stems."""

from __future__ import annotations

import pytest

from robust_qa.kit import STOPWORDS, content_terms


def test_terms_are_in_the_order_of_the_text_without_stopwords() -> None:
    assert content_terms("Who wrote the Dialogues of Plato?") == ["wrot", "dialog", "plato"]
    assert content_terms(" ".join(STOPWORDS)) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [("gate", "Gates"), ("director", "directed"), ("Savić", "Savic"), ("fail", "failed"), ("close", "closing")],
)
def test_forms_of_a_word_have_one_stem(one: str, other: str) -> None:
    assert content_terms(one) == content_terms(other)


def test_characters_of_scripts_without_spaces_are_words() -> None:
    assert content_terms("東京の首都") == ["東", "京", "の", "首", "都"]
