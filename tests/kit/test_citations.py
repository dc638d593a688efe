from __future__ import annotations

import pytest

from robust_qa import Citation, Passage, Quote, Reading
from robust_qa.kit import cite, cite_quote, cite_reading, closest_quotes, contains_words
from robust_qa.kit.citations import bearing_out

TEXT = "Ada was born in London. She wrote the first program in 1843. It was for the Engine."


def test_the_quote_is_the_sentence_that_holds_the_answer() -> None:
    assert cite(Passage(TEXT), "1843").quote == "She wrote the first program in 1843."


def test_a_whole_word_match_wins_over_a_substring() -> None:
    text = "He was born in 1978. He scored 7 goals."
    assert cite(Passage(text), "7").quote == "He scored 7 goals."
    assert cite(Passage(text), "197").quote == "He was born in 1978."
    made = Passage("7 goals.", made_of=(Passage("In 1978."), Passage("It was 7.")))
    assert cite(made, "7").quote == "It was 7."


def test_a_reading_cites_the_sentence_of_each_passage() -> None:
    passages = [
        Passage("A rose. Bees came in May."),
        Passage("Bees sleep. Bees woke in June."),
        Passage("No bees. None."),
    ]
    reading = Reading("bees", passages=(1, 0, 2), places=(12, 8, None))
    assert [one.quote for one in cite_reading(reading, passages)] == [
        "Bees woke in June.",
        "Bees came in May.",
        "No bees.",
    ]
    reading = Reading("Bees", passages=(1, 0), start=12, end=16)
    assert [one.quote for one in cite_reading(reading, passages)] == ["Bees woke in June.", "Bees came in May."]
    assert cite_reading(Reading("bees"), passages) == ()


def test_a_paraphrased_answer_cites_the_most_similar_sentence() -> None:
    assert cite(Passage(TEXT), "the Engine it was made for").quote == "It was for the Engine."


@pytest.mark.parametrize("before", [0, 150, 250])
def test_of_a_long_sentence_what_surrounds_the_answer_is_quoted(before: int) -> None:
    text = "First. " + "left " * before + "Karin\nEk is the master, " + "right " * (250 - before)
    for citation in (cite(Passage(text), "Karin Ek"), cite(Passage(text), "Karin\nEk", start=text.index("Karin"))):
        assert len(citation.quote) <= 400 and "Karin Ek is" in citation.quote
        assert citation.quote.startswith("…") is (before > 30) and citation.quote.endswith("…") is (before < 250)


ROSES = [Passage("Sold in 1871."), Passage("It shut.", title="The year 1871"), Passage("No. 18 is shut."), Passage("")]


def test_only_named_documents_with_the_answer_are_cited() -> None:
    assert bearing_out("the year of 1871", ROSES) == ROSES  # in other words than theirs
    assert bearing_out("1871.", ROSES) == ROSES[:2]
    assert bearing_out("18", ROSES) == [ROSES[2]]  # a word, not a part of one
    assert bearing_out("1.8", [*ROSES, Passage("1.8 %")]) == [Passage("1.8 %")]  # and no other number
    quoted = Passage("It was \u201cO\u2019Brien\u201d.")
    assert bearing_out("O'Brien", [ROSES[0], quoted]) == [quoted]
    assert [one.quote for one in cite_reading(Reading("1871", passages=(2, 0)), ROSES)] == ["Sold in 1871."]


@pytest.mark.parametrize(
    ("answer", "text", "stands"),
    [
        ("the 1815.", "In 1815!", True),
        ("8", "18, 1.8", False),
        ("1.8", "1.8 %, not 18", True),
        ("−40", "At -40", True),
        ("Paris", "Parisians", False),
        ("巴黎", "法国的首都是巴黎。", True),
        ("18", "18年", True),
        ("", "Paris", False),
    ],
)
def test_an_answer_is_found_in_a_text_only_as_whole_words(answer: str, text: str, stands: bool) -> None:
    assert contains_words(answer, text) is stands


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


def test_a_quote_keeps_each_row_of_a_table_on_its_line() -> None:
    rows = ["Day: Monday; Task: Sweep the yard", "Day: Tuesday; Task: Mend the mill"]
    text = "\n".join(["The tasks", "of May:", *rows])
    citation = cite_quote(Quote(0, 0, len(text), highlight=(text.index("Mend"), len(text))), [Passage(text)])
    assert citation.quote.split("\n") == ["The tasks of May:", *rows]
    assert citation.highlight and citation.quote[slice(*citation.highlight)] == "Mend the mill"
