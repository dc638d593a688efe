from typing import Any

from standins.model import ScriptedModel

from rqa_baselines.prompted import AnswerRefinement

BEFORE = "<<<ANSWER>>> Mary Shelley <<</ANSWER>>>"
AFTER = "Document 1 says otherwise.\nDocuments: 1\n<<<ANSWER>>> Jane Austen <<</ANSWER>>>"


async def test_the_answer_from_memory_is_reconsidered_with_the_passages(ask: Any) -> None:
    model = ScriptedModel([BEFORE, AFTER])
    answer = await ask(AnswerRefinement, model)
    assert "<document" not in model.prompts[0]
    assert "<document>\nMary Shelley\n</document>" in model.prompts[1] and 'number="2"' in model.prompts[1]
    assert (answer.text, [c.id for c in answer.citations]) == ("Jane Austen", ["emma"])


async def test_an_answer_that_was_given_up_is_a_conflict(ask: Any) -> None:
    answer = await ask(AnswerRefinement, ScriptedModel([BEFORE, AFTER]))
    assert [(p.text, p.chosen) for p in answer.conflicts] == [("Jane Austen", True), ("Mary Shelley", False)]
    assert answer.details["before"] == "Mary Shelley"


async def test_an_answer_that_was_put_in_more_or_fewer_words_was_kept(ask: Any) -> None:
    for before in ("Austen", "Jane Austen, the novelist"):
        answer = await ask(AnswerRefinement, ScriptedModel([BEFORE.replace("Mary Shelley", before), AFTER]))
        assert (answer.text, answer.conflicts) == ("Jane Austen", ())


async def test_a_model_that_knew_nothing_is_told_so(ask: Any) -> None:
    model = ScriptedModel(["I don't know", AFTER])
    answer = await ask(AnswerRefinement, model)
    assert "<document>\nI don't know\n</document>" in model.prompts[1]
    assert (answer.text, answer.conflicts, answer.details["before"]) == ("Jane Austen", (), None)
