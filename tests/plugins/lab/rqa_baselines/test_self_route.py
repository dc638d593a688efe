from typing import Any

from standins.model import ScriptedModel

from rqa_baselines.remembering import SelfRoute

UNANSWERABLE = "Documents: none\nAnswer: UNKNOWN (the documents do not say)"
MEMORY = "<<<ANSWER>>> Jane Austen <<</ANSWER>>>"


async def test_passages_that_hold_the_answer_are_the_route(ask: Any) -> None:
    answer = await ask(SelfRoute, ScriptedModel(["Documents: 1\nAnswer: Jane Austen"]))
    assert (answer.text, answer.details["route"], len(answer.citations)) == ("Jane Austen", "passages", 1)


async def test_passages_that_do_not_leave_it_to_memory(ask: Any) -> None:
    model = ScriptedModel([UNANSWERABLE, MEMORY])
    answer = await ask(SelfRoute, model)
    assert (answer.text, answer.details["route"], answer.citations) == ("Jane Austen", "memory", ())
    assert "<document" not in model.prompts[1]


async def test_without_passages_memory_is_asked_at_once(ask: Any) -> None:
    answer = await ask(SelfRoute, ScriptedModel([MEMORY]), [])
    assert answer.text == "Jane Austen"
