"""Passages and memory: GenRead and Self-Route."""

from typing import Any

from standins.model import prompts_of

from robust_qa.testing import ScriptedModel
from rqa_lab.baselines.remembering import GenRead, SelfRoute

READING = "Documents: 3, 1\nAnswer: Jane Austen"


async def test_a_written_passage_is_read_after_the_retrieved_ones(ask: Any) -> None:
    model = ScriptedModel(["Emma is a novel by Jane Austen.", READING])
    answer = await ask(GenRead, model)
    assert prompts_of(model)[1].index('number="2"') < prompts_of(model)[1].index("Emma is a novel by Jane Austen.")
    assert answer.text == "Jane Austen"
    assert [(c.id, c.origin) for c in answer.citations] == [("memory-1", "memory"), ("emma", "external")]


async def test_a_model_that_knows_nothing_leaves_the_retrieved_passages_alone(ask: Any) -> None:
    model = ScriptedModel(["I don't know", READING])
    answer = await ask(GenRead, model)
    assert prompts_of(model)[1].count("<document ") == 2
    assert [c.id for c in answer.citations] == ["emma"]


UNANSWERABLE = "Documents: none\nAnswer: UNKNOWN (the documents do not say)"
MEMORY = "<<<ANSWER>>> Jane Austen <<</ANSWER>>>"


async def test_passages_that_hold_the_answer_are_the_route(ask: Any) -> None:
    answer = await ask(SelfRoute, ScriptedModel(["Documents: 1\nAnswer: Jane Austen"]))
    assert (answer.text, answer.details["route"], len(answer.citations)) == ("Jane Austen", "passages", 1)


async def test_passages_that_do_not_leave_it_to_memory(ask: Any) -> None:
    model = ScriptedModel([UNANSWERABLE, MEMORY])
    answer = await ask(SelfRoute, model)
    assert (answer.text, answer.details["route"], answer.citations) == ("Jane Austen", "memory", ())
    assert "<document" not in prompts_of(model)[1]


async def test_without_passages_memory_is_asked_at_once(ask: Any) -> None:
    answer = await ask(SelfRoute, ScriptedModel([MEMORY]), [])
    assert answer.text == "Jane Austen"
