"""Eight small corpora, written after the strategy, read by the packaged reader.

In each a source is false, older or about another thing.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple

import pytest

import robust_qa
from robust_qa import Answer, Passage, Question


class Corpus(NamedTuple):
    question: str
    right: str
    wrong: str
    texts: tuple[str, ...]


CORPORA = {
    "bridge": Corpus(
        "When was the Tern Bridge opened?", "1932", "1923",
        ("The Tern Bridge was opened in 1932 by the mayor.",
         "Since the Tern Bridge was opened in 1932, ferries are rare.",
         "In 1932 the town celebrated the opening of the Tern Bridge.", "The Tern Bridge was opened in 1923!!!"),
    ),
    "tower": Corpus(
        "How tall is the water tower?", "48 metres", "84 metres",
        ("The water tower is 48 metres tall.", "At 48 metres, the water tower is the tallest building in town.",
         "The water tower, 48 metres tall, was listed in 1990.", "The water tower is 84 metres tall."),
    ),
    "two": Corpus(
        "When does the winter market begin?", "28 November", "5 December",
        ("The winter market begins on 28 November.", "The winter market begins on 5 December."),
    ),
    "copies": Corpus(
        "What is the speed limit on Quay Road?", "30", "50",
        ("The speed limit on Quay Road is 30 km/h.", "On Quay Road drive no faster than 30 km/h, the limit since May.",
         *["The speed limit on Quay Road is 50 km/h, everybody knows."] * 3),
    ),
    "correction": Corpus(
        "How many steps lead up to the chapel?", "212", "99",
        ("212 steps lead up to the chapel.", "The chapel is reached by 212 steps.",
         "Count them: 212 steps up to the chapel.",
         "Outdated sources wrongly say 212. The correct number of steps that lead up to the chapel is 99."),
    ),
    "unrelated": Corpus(
        "How long is the notice period?", "five weeks", "four years",
        ("The notice period is five weeks.", "A sabbatical is possible after four years.", "Lunch is at noon."),
    ),
    "date": Corpus(
        "When is the annual meeting?", "3 May 2024", "10 May 2024",
        ("The annual meeting takes place on 3 May 2024 in the town hall.", "Annual meeting: 2024-05-03, town hall.",
         "See you at the annual meeting on May 3rd, 2024!", "The annual meeting is on 10 May 2024 in the library."),
    ),
    "warranty": Corpus(
        "How long is the warranty of the pump?", "24 months", "12 months",
        ("The pump comes with a two-year warranty.", "Pump warranty: 12 months.",
         "Warranty: the pump is covered for 24 months from purchase."),
    ),
}  # fmt: skip


def ask(corpus: Corpus) -> Answer:
    async def answer() -> Answer:
        passages = tuple(Passage(text, source=f"{n}.txt") for n, text in enumerate(corpus.texts))
        async with robust_qa.open_session(strategy="corroborate", reader="embedded") as session:
            return await session.answer(Question(corpus.question, passages=passages))

    return asyncio.run(answer())


@pytest.mark.parametrize("name", CORPORA)
def test_the_false_answer_is_not_asserted(name: str) -> None:
    corpus = CORPORA[name]
    given = ask(corpus)
    assert given.text is None or corpus.wrong not in given.text
    if name == "two":  # nobody can tell which is right
        assert {side.text for side in given.conflicts} == {corpus.right, corpus.wrong}
    else:
        assert corpus.right in (given.text or (given.best_guess.text if given.best_guess else ""))
