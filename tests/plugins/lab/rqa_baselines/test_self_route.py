from collections.abc import Awaitable, Callable

from standins.model import ScriptedModel

from robust_qa import Answer
from rqa_baselines.self_route import SelfRoute

Ask = Callable[..., Awaitable[Answer]]
UNANSWERABLE = "Documents: none\nAnswer: UNKNOWN (the documents do not say)"
MEMORY = "<<<ANSWER>>> Jane Austen <<</ANSWER>>>"


async def test_passages_that_hold_the_answer_are_the_route(ask: Ask) -> None:
    answer = await ask(SelfRoute, ScriptedModel(["Documents: 1\nAnswer: Jane Austen"]))
    assert (answer.text, answer.details["route"], len(answer.citations)) == ("Jane Austen", "passages", 1)


async def test_passages_that_do_not_leave_it_to_memory(ask: Ask) -> None:
    model = ScriptedModel([UNANSWERABLE, MEMORY])
    answer = await ask(SelfRoute, model)
    assert (answer.text, answer.details["route"], answer.citations) == ("Jane Austen", "memory", ())
    assert "<document" not in model.prompts[1]


async def test_without_passages_memory_is_asked_at_once(ask: Ask) -> None:
    answer = await ask(SelfRoute, ScriptedModel([MEMORY]), [])
    assert answer.text == "Jane Austen"


async def test_when_neither_knows_it_abstains(ask: Ask) -> None:
    answer = await ask(SelfRoute, ScriptedModel([UNANSWERABLE, "I don't know"]))
    assert answer.reason == "The language model does not know the answer."
