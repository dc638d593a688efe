from collections.abc import Awaitable, Callable

from standins.model import ScriptedModel

from robust_qa import Answer
from rqa_baselines.genread import GenRead

Ask = Callable[..., Awaitable[Answer]]
READING = "Documents: 3, 1\nAnswer: Jane Austen"


async def test_a_written_passage_is_read_after_the_retrieved_ones(ask: Ask) -> None:
    model = ScriptedModel(["Emma is a novel by Jane Austen.", READING])
    answer = await ask(GenRead, model)
    assert model.prompts[1].index('number="2"') < model.prompts[1].index("Emma is a novel by Jane Austen.")
    assert answer.text == "Jane Austen"
    assert [(c.id, c.origin) for c in answer.citations] == [("memory-1", "memory"), ("emma", "external")]


async def test_a_model_that_knows_nothing_leaves_the_retrieved_passages_alone(ask: Ask) -> None:
    model = ScriptedModel(["I don't know", READING])
    answer = await ask(GenRead, model)
    assert model.prompts[1].count("<document ") == 2
    assert [c.id for c in answer.citations] == ["emma"]


async def test_with_nothing_found_and_nothing_written_it_abstains_before_reading(ask: Ask) -> None:
    answer = await ask(GenRead, ScriptedModel(["I don't know"]), [])
    assert answer.reason.startswith("Nothing was found")


async def test_passages_without_the_answer_make_it_abstain(ask: Ask) -> None:
    answer = await ask(GenRead, ScriptedModel(["Emma is a novel.", "Documents: none\nAnswer: UNKNOWN"]))
    assert answer.reason == "The passages do not hold an answer."
