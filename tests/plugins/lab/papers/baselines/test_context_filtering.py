from typing import Any

import pytest
from standins.model import prompts_of

from robust_qa.testing import ScriptedModel
from rqa_lab.baselines.context_filtering import ContextFiltering

READING = "Documents: 1\nAnswer: Jane Austen"


async def test_only_the_passages_that_were_picked_are_read(ask: Any) -> None:
    model = ScriptedModel(["Documents: 1, 9", READING])
    answer = await ask(ContextFiltering, model)
    assert "Mary Shelley" in prompts_of(model)[0] and "Mary Shelley" not in prompts_of(model)[1]
    assert (answer.text, [c.id for c in answer.citations], answer.details["kept"]) == ("Jane Austen", ["emma"], [1])


async def test_citations_count_what_was_kept(ask: Any) -> None:
    answer = await ask(ContextFiltering, ScriptedModel(["Documents: 2", "Documents: 1\nAnswer: Mary Shelley"]))
    assert [c.id for c in answer.citations] == ["fake"]


@pytest.mark.parametrize("strict", [True, False])
async def test_only_strict_asks_to_leave_out_wrong_passages(ask: Any, strict: bool) -> None:
    model = ScriptedModel(["Documents: 1", READING])
    await ask(ContextFiltering, model, strict=strict)
    assert ("about something else, and those that are plainly wrong." in prompts_of(model)[0]) is strict
    assert "plainly wrong" not in prompts_of(model)[1]


async def test_a_generated_passage_is_filtered_with_the_others(ask: Any) -> None:
    def reply(messages: list[object], decoding: object) -> str:
        prompt = str(messages)
        if "Write one passage" in prompt:
            return "Emma is a novel by Jane Austen."
        return "Documents: 3" if "You pick" in prompt else READING

    answer = await ask(ContextFiltering, ScriptedModel(reply), generated=True)
    assert [(c.id, c.origin) for c in answer.citations] == [("memory-1", "memory")]


@pytest.mark.parametrize("reply", ["Documents: none", "All 2 are off.\nDocuments: none of the 2 documents"])
async def test_when_none_helps_it_abstains_without_reading(ask: Any, reply: str) -> None:
    answer = await ask(ContextFiltering, ScriptedModel([reply]))
    assert answer.reason == "None of the passages helps to answer the question."


@pytest.mark.parametrize("reply", ["", "Documents: 99"])
async def test_a_reply_that_names_no_passage_filters_nothing(ask: Any, reply: str) -> None:
    answer = await ask(ContextFiltering, ScriptedModel([reply, READING]))
    assert (answer.text, answer.details["kept"]) == ("Jane Austen", [1, 2])


async def test_it_always_answers_as_in_the_paper(ask: Any) -> None:
    model = ScriptedModel(["Documents: none", READING])
    answer = await ask(ContextFiltering, model, abstain=False)
    assert (answer.text, answer.details) == ("Jane Austen", {"kept": []})
    assert "Shelley" not in prompts_of(model)[1]
    assert (await ask(ContextFiltering, ScriptedModel([READING]), [], abstain=False)).text == "Jane Austen"
