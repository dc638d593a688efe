from __future__ import annotations

from robust_qa import Citation, Passage, Quote
from robust_qa.kit import cite_quote, closest_quotes


def quoted(question: str, passages: list[Passage]) -> list[Citation]:
    return [cite_quote(quote, passages) for quote in closest_quotes(question, passages)]


FILLER = " ".join(f"Sentence {n} speaks of the weather and of nothing else in the town." for n in range(12))


def test_the_quote_is_the_part_with_the_words_of_the_question() -> None:
    text = f"{FILLER} The keeper of the lighthouse was Ada Holm. {FILLER}"
    [quote] = quoted("Who was the keeper of the lighthouse?", [Passage(text)])
    assert "Ada Holm" in quote.quote
    assert len(quote.quote.split()) <= 60
    assert quote.quote.startswith("Sentence")
    assert quote.quote.endswith(".")


def test_rare_words_count_more_than_common_ones() -> None:
    text = f"{FILLER} Ferries stop in March. {FILLER}"
    [quote] = quoted("What of the town and the weather when ferries stop?", [Passage(text)])
    assert "March" in quote.quote


def test_a_long_sentence_is_cut() -> None:
    [quote] = quoted("word", [Passage("word " * 200)])
    assert quote.quote == "word " * 60 + "…"


def test_the_highlight_moves_with_the_quote() -> None:
    text = f"It  was\nbuilt in {'about ' * 70}1871 by Ada."
    start = text.index("1871")
    citation = cite_quote(Quote(0, 0, len(text), highlight=(start, start + 4)), [Passage(text)])
    assert citation.quote.startswith("… about")
    assert citation.highlight is not None
    assert citation.quote[slice(*citation.highlight)] == "1871"
