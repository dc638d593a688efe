from typing import Any

from standins.model import ScriptedModel

from rqa_baselines.remembering import GenRead

READING = "Documents: 3, 1\nAnswer: Jane Austen"


async def test_a_written_passage_is_read_after_the_retrieved_ones(ask: Any) -> None:
    model = ScriptedModel(["Emma is a novel by Jane Austen.", READING])
    answer = await ask(GenRead, model)
    assert model.prompts[1].index('number="2"') < model.prompts[1].index("Emma is a novel by Jane Austen.")
    assert answer.text == "Jane Austen"
    assert [(c.id, c.origin) for c in answer.citations] == [("memory-1", "memory"), ("emma", "external")]


async def test_a_model_that_knows_nothing_leaves_the_retrieved_passages_alone(ask: Any) -> None:
    model = ScriptedModel(["I don't know", READING])
    answer = await ask(GenRead, model)
    assert model.prompts[1].count("<document ") == 2
    assert [c.id for c in answer.citations] == ["emma"]
