"""Strategies that go step by step: retrieval between sentences, and verification by questions."""

from __future__ import annotations

from typing import Any

import pytest
from standins.model import prompts_of

from robust_qa import Passage, Question
from robust_qa.testing import ScriptedModel, toolbox
from rqa_lab.baselines.stepwise import ChainOfVerification, InterleavedRetrieval

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
def interleave() -> Any:
    async def run(replies: list[str], **options: Any) -> Any:
        model, index = ScriptedModel(replies), Index()
        box = toolbox(Question(QUESTION), reader=model, retriever=index)
        strategy = InterleavedRetrieval(InterleavedRetrieval.Options(**options))
        return await strategy.answer(QUESTION, box), prompts_of(model), index.queries

    return run


async def test_the_first_sentence_of_each_reply_finds_more_passages(interleave: Any) -> None:
    answer, (first, second, last), queries = await interleave([THOUGHT, CONCLUSION, LAST])
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
async def test_the_reasoning_ends(interleave: Any, replies: list[str], options: dict[str, Any]) -> None:
    answer, prompts, _ = await interleave(replies, **options)
    assert (len(prompts), answer.text) == (len(replies), "Steventon")


async def test_no_more_passages_are_collected_than_allowed(interleave: Any) -> None:
    answer, prompts, _ = await interleave([THOUGHT, CONCLUSION, LAST], passages=1)
    assert PLACE.text not in prompts[-1] and answer.details["passages"] == ["author"]


DRAFT = "Mary Shelley wrote it in 1815.\n<<<ANSWER>>> Mary Shelley <<</ANSWER>>>"
PLAN = "Here they are:\n1. When did Emma come out?\n- **Who wrote Emma?**\nThat is all."
REVISED = "The second check names another author.\n<<<ANSWER>>> Jane Austen <<</ANSWER>>>"


async def test_the_draft_is_checked_by_questions_and_revised(ask: Any) -> None:
    model = ScriptedModel([DRAFT, PLAN, "In 1815.", "Jane Austen wrote Emma.", REVISED])
    answer = await ask(ChainOfVerification, model)
    draft, plan, first, second, revise = prompts_of(model)
    assert "Mary Shelley wrote it in 1815." in plan and "<document>" not in draft
    assert "When did Emma come out?" in first and "Who wrote Emma?" in second
    assert "Mary Shelley" not in first + second  # each is answered without the draft
    assert "Q: Who wrote Emma?\nA: Jane Austen wrote Emma." in revise and "Mary Shelley" in revise
    assert [(p.text, p.chosen) for p in answer.conflicts] == [("Jane Austen", True), ("Mary Shelley", False)]
    assert list(answer.details["checks"]) == ["When did Emma come out?", "Who wrote Emma?"]


async def test_at_most_so_many_questions_are_asked_and_none_if_there_is_none(ask: Any) -> None:
    model = ScriptedModel([DRAFT, PLAN, "In 1815.", REVISED])
    assert (await ask(ChainOfVerification, model, questions=1)).text == "Jane Austen"
    model = ScriptedModel([DRAFT, "No questions come to mind.", REVISED])
    assert (await ask(ChainOfVerification, model)).details["checks"] == {}


async def test_a_revision_that_declines_abstains(ask: Any) -> None:
    answer = await ask(
        ChainOfVerification, ScriptedModel([DRAFT, PLAN, "?", "?", "<<<ANSWER>>> UNKNOWN <<</ANSWER>>>"])
    )
    assert (answer.text, answer.conflicts) == (None, ())
