"""Interleaved retrieval (IRCoT): each sentence of the reasoning is a query."""

from typing import Any

import pytest
from standins.model import prompts_of

from robust_qa import Passage, Question
from robust_qa.testing import ScriptedModel, toolbox
from rqa_baselines.stepwise import InterleavedRetrieval

QUESTION = "Where was the author of Emma born?"
AUTHOR, PLACE = Passage("Jane Austen wrote Emma.", id="author"), Passage("Austen was born in Steventon.", id="place")
THOUGHT, CONCLUSION = "Jane Austen wrote Emma. She was born in", "So the answer is: Steventon."
LAST = "Documents: 2\n<<<ANSWER>>> Steventon <<</ANSWER>>>"


class Index:
    """Finds the author by the book and the place by the author."""

    def __init__(self) -> None:
        self.queries: list[str] = []

    async def retrieve(self, query: str, k: int) -> list[Passage]:
        self.queries.append(query)
        return [AUTHOR] if query == QUESTION else [AUTHOR, PLACE]


@pytest.fixture
def ask() -> Any:
    async def run(replies: list[str], **options: Any) -> Any:
        model, index = ScriptedModel(replies), Index()
        box = toolbox(Question(QUESTION), reader=model, retriever=index)
        strategy = InterleavedRetrieval(InterleavedRetrieval.Options(**options))
        return await strategy.answer(QUESTION, box), prompts_of(model), index.queries

    return run


async def test_the_first_sentence_of_each_reply_finds_more_passages(ask: Any) -> None:
    answer, (first, second, last), queries = await ask([THOUGHT, CONCLUSION, LAST])
    assert queries == [QUESTION, "Jane Austen wrote Emma."]
    assert PLACE.text not in first and PLACE.text in second and "She was born in" not in second
    assert last.count("<document number=") == 2  # the author once
    assert (answer.text, [citation.id for citation in answer.citations]) == ("Steventon", ["place"])
    assert answer.details == {"thoughts": ["Jane Austen wrote Emma.", CONCLUSION], "passages": ["author", "place"]}


@pytest.mark.parametrize(
    ("replies", "options"),
    [
        (["One.", "Two.", LAST], {"steps": 2}),
        (["One.", "One.", LAST], {}),  # it goes in circles
        (["", LAST], {}),
    ],
)
async def test_the_reasoning_ends(ask: Any, replies: list[str], options: dict[str, Any]) -> None:
    answer, prompts, _ = await ask(replies, **options)
    assert (len(prompts), answer.text) == (len(replies), "Steventon")


async def test_no_more_passages_are_collected_than_allowed(ask: Any) -> None:
    answer, prompts, _ = await ask([THOUGHT, CONCLUSION, LAST], passages=1)
    assert PLACE.text not in prompts[-1] and answer.details["passages"] == ["author"]
