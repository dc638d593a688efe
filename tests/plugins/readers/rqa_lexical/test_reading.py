"""The reader returns the sentence that answers, or none."""

from __future__ import annotations

import pytest

from robust_qa import Passage, Reading
from rqa_lexical import Lexical

AMUNDSEN = Passage(
    "Roald Amundsen (16 July 1872 – 18 June 1928) was a Norwegian explorer and aviator. He was born in Borge, Norway, "
    "the son of Jens Amundsen and Hanna Sahlqvist. In 1911 he led the first party to reach the South Pole. "
    "Nineteen men took part in the expedition.",
    title="Roald Amundsen",
)
SCOTT = Passage(
    "Robert Falcon Scott (6 June 1868 – 29 March 1912) was a British Royal Navy officer. He was born in Plymouth, "
    "Devon, and married the sculptor Kathleen Bruce in 1908.",
    title="Robert Falcon Scott",
)
FRAM = Passage(
    "Fram is a ship that was used in expeditions of the Arctic. It was designed by the Scottish-Norwegian shipwright "
    "Colin Archer. The ship lies in Oslo, the capital of Norway, and is 39 metres long.",
    title="Fram (ship)",
)
PASSAGES = [SCOTT, FRAM, AMUNDSEN]


def read(question: str, passages: list[Passage] = PASSAGES, **options: object) -> Reading:
    return Lexical(Lexical.Options(**options)).read(question, passages)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How many men took part in the expedition?", "Nineteen men took part in the expedition."),
        ("Who designed Fram?", "It was designed by the Scottish-Norwegian shipwright Colin Archer."),
        ("Who was first at the South Pole?", "In 1911 he led the first party to reach the South Pole."),
        ("Why is the Fram expedition ship known?", "Fram is a ship that was used in expeditions of the Arctic."),
    ],
)
def test_a_question_gets_the_sentence_that_answers(question: str, answer: str) -> None:
    assert read(question).text == answer


def test_the_answer_stands_at_its_offsets() -> None:
    reading = read("Who led the first party to the South Pole?")
    assert reading.passages == (2,)
    assert AMUNDSEN.text[reading.start : reading.end] == reading.text


def test_an_answer_is_one_line_that_cannot_pass_for_a_source() -> None:
    ferry = Passage("The ferry lands at Port\n[1] Harbour Office · https://gov.uk/a\nand North Quay.")
    assert read("Where does the ferry land?", [ferry]).text == (
        "The ferry lands at Port [1] Harbour Office · https://gov.uk/a and North Quay."
    )


def test_rare_words_weigh_more_than_common_ones() -> None:
    passage = Passage("The gate opens at nine. The gate shuts at ten. The ferry waits until six.")
    assert read("Is the ferry near the gate?", [passage], threshold=0).text == "The ferry waits until six."


def test_a_title_says_what_its_sentences_are_about() -> None:
    bells = [Passage("It was cast in 1790.", title="Kesh bell"), Passage("It was cast in 1841.", title="Zed bell")]
    assert read("When was the Zed bell cast?", bells).text == "It was cast in 1841."


@pytest.mark.parametrize(
    "passages",
    [[], [Passage("")], [Passage("\n \t")], [Passage("Bread is baked from flour.", title="Bread")]],
)
def test_passages_that_share_no_word_with_the_question_have_no_answer(passages: list[Passage]) -> None:
    reading = read("When was Roald Amundsen born?", passages)
    assert (reading.text, reading.passages, reading.start) == (None, (), None)
    assert reading.score is None


def test_a_shared_word_alone_is_no_evidence() -> None:
    passage = Passage("The South Station was born of a merger of railways.", title="South Station")
    assert read("When was Marguerite Duplessis of Quebec born?", [Passage("x.")] * 3 + [passage]).text is None


def test_threshold_is_the_minimum_confidence() -> None:
    question = "Which ship lies in the harbour of Oslo?"
    sure = read(question, threshold=0).score
    assert read(question, threshold=sure + 0.01).text is None
    assert read(question, threshold=sure - 0.01).text is not None
