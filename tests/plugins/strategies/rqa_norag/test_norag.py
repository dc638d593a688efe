import pytest
from standins.model import prompts_of, toolbox_over

from robust_qa import Answer, Completion, CutError
from robust_qa.testing import ScriptedModel
from rqa_norag import NoRag


async def answer(model: ScriptedModel, question: str = "Who wrote Emma?", **options: object) -> Answer:
    return await NoRag(NoRag.Options(**options)).answer(question, toolbox_over(model))


async def test_the_model_answers_from_memory_in_one_call() -> None:
    model = ScriptedModel(["Jane Austen"])
    assert await answer(model) == Answer("Jane Austen")
    assert len(model.calls) == 1
    assert "Who wrote Emma?" in prompts_of(model)[0]


@pytest.mark.parametrize("reply", ["I don't know", "<think>hm</think>I don’t know."])
async def test_a_model_that_does_not_know_abstains(reply: str) -> None:
    given = await answer(ScriptedModel([reply]))
    assert given.abstained
    assert given.reason == "The language model does not know the answer."


@pytest.mark.parametrize("reply", ["", "<think>cut short"])
async def test_an_empty_reply_abstains_and_says_so(reply: str) -> None:
    given = await answer(ScriptedModel([reply]))
    assert given.abstained
    assert given.reason == "The language model's reply is empty."


@pytest.mark.parametrize("reply", ["<think>cut short", "I go through them. First, George Washington"])
async def test_a_reply_that_is_cut_is_an_error(reply: str) -> None:
    with pytest.raises(CutError, match="max_tokens") as raised:
        await answer(ScriptedModel([Completion(reply, finish="length")]))
    assert "Raise `max_tokens`" in raised.value.hint and not raised.value.retryable
