from typing import Any

from standins.model import ScriptedModel

from rqa_baselines.prompted import ChainOfThought


async def test_it_reasons_from_memory_and_answers(ask: Any) -> None:
    model = ScriptedModel(["Emma is a novel of 1815.\n<<<ANSWER>>> Jane Austen <<</ANSWER>>>"])
    answer = await ask(ChainOfThought, model)
    assert (answer.text, answer.citations) == ("Jane Austen", ())
    assert "step by step" in model.prompts[0] and "Mary Shelley" not in model.prompts[0]
    assert answer.details["reasoning"].startswith("Emma is a novel of 1815.")


async def test_reasoning_that_leads_nowhere_abstains(ask: Any) -> None:
    answer = await ask(ChainOfThought, ScriptedModel(["Hm.\n<<<ANSWER>>> I don't know <<</ANSWER>>>"]))
    assert answer.reason == "The language model does not know the answer."
