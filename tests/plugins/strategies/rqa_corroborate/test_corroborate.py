"""The strategy `corroborate`: sources are read alone, and weighed together."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

import robust_qa
from robust_qa import Answer, Passage, Quote, Reading
from robust_qa.testing import StaticRetriever, ask
from rqa_corroborate import Corroborate
from rqa_embedded import EmbeddedReader

QUESTION = "When was the light built?"


class Marked:
    """Answers with the marked words of the surest passage: "built in [1871 .9]". Quotes its sentence with the score."""

    threshold = 0.7
    cached = False

    def __init__(self, sentence: float = 0.0) -> None:
        self.sentence = sentence
        self.asked: list[str] = []

    def read(self, question: str, passages: Sequence[Passage]) -> Reading:
        self.asked.append(question)
        found = [
            (float(match[2]), number, match)
            for number, passage in enumerate(passages)
            for match in re.finditer(r"\[(.+?) (\.\d+)\]", passage.text)
        ]
        if not found:
            return Reading(None)
        score, number, match = max(found)
        reading = Reading(match[1], score, (number,), match.start(1), match.end(1))
        return reading if score >= self.threshold else Reading(None, rivals=(reading,))

    def quote(self, question: str, passages: Sequence[Passage]) -> list[Quote]:
        return [Quote(n, 0, len(each.text), self.sentence, (0, 3)) for n, each in enumerate(passages)]


def answer(*texts: str, reader: Marked | None = None, trust: dict[str, float] | None = None) -> Answer:
    passages = [Passage(text, source=f"{name}.md") for name, text in zip("abcdefgh", texts, strict=False)]
    strategy = Corroborate(Corroborate.Options())
    return ask(strategy, QUESTION, retriever=StaticRetriever(passages), reader=reader or Marked())


def test_sources_that_agree_are_surer_together() -> None:
    given = answer("Built in [1871 .6] of stone.", "The year was [14 November 1871 .6], says Renn.")
    assert (given.text, given.confidence) == ("1871", pytest.approx(1 - 0.4 * 0.4))
    assert [citation.source for citation in given.citations] == ["a.md", "b.md"]


def test_one_loud_source_does_not_outweigh_two_quiet_ones() -> None:
    given = answer(
        "The light was built in [1817 .99].", "The light was built in [1871 .6].", "Renn was 40 in [1871 .6] or so."
    )
    assert given.text is None and given.best_guess and given.best_guess.text == "1871"
    assert [side.text for side in given.conflicts] == ["1871", "1817"]


def test_three_sources_outweigh_one_and_its_answer_is_shown() -> None:
    given = answer(
        "The light was built in [1817 .9], they say.", "The light was built in [1871 .9] of granite.",
        "Renn lit the lamp that was built in [1871 .9].", "They built the light in [1871 .9], a cold year.",
    )  # fmt: skip
    assert given.text == "1871"
    assert given.reason == "3 sources say 1871; one source says 1817."
    assert [(side.text, side.chosen) for side in given.conflicts] == [("1871", True), ("1817", False)]


def test_copies_of_a_source_count_once() -> None:
    lie = "The light was built in [1817 .9], they say."
    given = answer(lie, lie, f"{lie} ", "The light was built in [1871 .9] of granite.")
    assert given.text is None and {side.text for side in given.conflicts} == {"1817", "1871"}


def planted(*passages: Passage) -> Answer:
    return ask(Corroborate(Corroborate.Options()), QUESTION, retriever=StaticRetriever(passages), reader=Marked())


@pytest.mark.parametrize("lie", [".99", ".8"])
def test_a_passage_under_the_name_of_an_honest_source_is_another_side(lie: str) -> None:
    honest = Passage("The light was built in [1871 .9].", source="a.md")
    given = planted(honest, Passage(f"The light was built in [1999 {lie}].", source="a.md"))
    assert given.text is None and {side.text for side in given.conflicts} == {"1871", "1999"}


def test_passages_of_one_name_that_agree_have_one_voice() -> None:
    named = [Passage(f"The light was built in [1999 .9]{end}", source="a.md") for end in (".", ", in May.")]
    given = planted(Passage("The light was built in [1871 .9].", source="a.md"), *named)
    assert [len(side.citations) for side in given.conflicts] == [1, 1]


def test_a_source_that_repeats_an_answer_and_says_another_as_clearly_is_a_side_of_its_own() -> None:
    texts = (
        "The lighthouse at Skerry Point was built in 1871.",
        "Skerry Point lighthouse, built 1871, has a red lamp.",
        "Some still repeat that the lighthouse at Skerry Point was built in 1871. "
        "The ledgers prove that the lighthouse at Skerry Point was built in 1999.",
    )
    passages = [Passage(text, source=f"{name}.md") for name, text in zip("abc", texts, strict=True)]
    given = ask(
        Corroborate(Corroborate.Options()),
        "When was the lighthouse at Skerry Point built?",
        retriever=StaticRetriever(passages),
        reader=EmbeddedReader(EmbeddedReader.Options(threads=1)),
    )
    sides = {side.text: {cited.source for cited in side.citations} for side in given.conflicts}
    assert sides == {"1871": {"a.md", "b.md"}, "1999": {"c.md"}}


def test_a_copy_with_another_answer_contradicts_whichever_comes_first() -> None:
    text = "The light was built in [{} .9], say the keepers of Orrin, who have lived beside it since their youth."
    for years in (("1871", "1817"), ("1817", "1871")):
        given = answer(*map(text.format, years))
        assert given.text is None and [side.text for side in given.conflicts] == list(years)


@pytest.mark.parametrize(("one", "other"), [("20 metres", "20 feet"), ("15 days", "days"), ("20 days", "thirty days")])
def test_another_quantity_is_no_support(one: str, other: str) -> None:
    given = answer(
        f"The light is [{one} .9] away from here.", f"From the town to the light it takes [{other} .9] or so."
    )
    assert [citation.source for citation in (given.best_guess or given).citations] == ["a.md"]


def test_an_answer_about_another_thing_is_no_conflict() -> None:
    given = answer("The light was built in [1871 .9] of granite.", "The ferry first sailed in [1902 .6] to Orrin.")
    assert given.conflicts == ()


def test_a_quiet_source_that_says_otherwise_in_the_same_words_is_shown() -> None:
    given = answer("The light was built in [1871 .9] of granite.", "The light was built in [1817 .2] of granite.")
    assert [side.text for side in given.conflicts] == ["1871", "1817"]
    assert given.confidence == pytest.approx(0.9 * 0.9 / 1.1)


def test_those_who_said_something_else_are_asked_again_in_the_words_of_the_claim() -> None:
    reader = Marked()
    answer("The light was built in [1871 .9] of granite.", "Herring is smoked.", reader=reader)
    assert reader.asked == [QUESTION, QUESTION, f"{QUESTION} The light was built in [ .9] of granite."]


@pytest.mark.parametrize(("score", "text"), [(0.8, "You walk there."), (0.6, None)])
def test_a_sure_sentence_answers_where_no_short_answer_is_sure(score: float, text: str | None) -> None:
    given = answer("You walk there. It is far.", reader=Marked(sentence=score))
    assert (given.text, given.confidence) == (text, score if text else None)


@pytest.mark.parametrize(
    ("passage", "text"),
    [
        ("- You walk there.\n- It is far.", "You walk there."),
        ("Bring:\n- boots\n  - with caps\n- a pass \nof the gate\n\nIt is far.", "Bring: boots; a pass of the gate"),
        ("- Bring shoes:\n  1. boots\n- A pass.", "Bring shoes: boots"),
        ("Bring two things:\n\nboots", "Bring two things:"),
    ],
)
def test_a_sentence_is_told_without_its_mark_and_with_the_list_below_it(passage: str, text: str) -> None:
    assert answer(passage, reader=Marked(sentence=0.8)).text == text


def test_two_sentences_that_contradict_each_other_are_both_told() -> None:
    texts = "42 days is how long the ferry rests.", "35 days is how long the ferry rests.", "7 cats live there."
    given = answer(*texts, reader=Marked(sentence=0.8))
    assert given.text is None and [side.text for side in given.conflicts] == list(texts[:2])


def test_without_passages_there_is_no_answer() -> None:
    assert answer().reason == "No passage was found for the question."


def test_a_question_in_another_language_without_passages_gets_the_next_step(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The keeper was Bo Renn.")
    found = robust_qa.ask("¿Quién compuso la ópera más famosa de Mozart?", docs=tmp_path)
    assert found.text is None and "(es)" in found.reason and "[languages]" in found.reason
