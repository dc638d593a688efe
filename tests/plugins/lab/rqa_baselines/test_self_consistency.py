from typing import Any

import pytest
from standins.model import ScriptedModel

from robust_qa import Completion, CutError
from rqa_baselines.sampled import SelfConsistency


def replies(*answers: str) -> ScriptedModel:
    return ScriptedModel([f"Hm.\nDocuments: 1\n<<<ANSWER>>> {answer} <<</ANSWER>>>" for answer in answers])


async def test_the_majority_of_the_normalised_answers_wins(ask: Any) -> None:
    answer = await ask(SelfConsistency, replies("Mary Shelley", "Jane Austen", "the jane austen."))
    assert (answer.text, answer.confidence) == ("Jane Austen", pytest.approx(2 / 3))
    assert [(p.text, p.chosen) for p in answer.conflicts] == [("Jane Austen", True), ("Mary Shelley", False)]
    assert [c.quote for c in answer.citations] == ["Jane Austen wrote it."]


async def test_each_sample_has_the_temperature_and_a_seed_of_its_own(ask: Any) -> None:
    model = replies("x", "x", "x", "x")
    await ask(SelfConsistency, model, samples=4, seed=10, temperature=0.9)
    assert [(d.temperature, d.seed) for _, d in model.calls] == [(0.9, 10), (0.9, 11), (0.9, 12), (0.9, 13)]


async def test_a_sample_that_is_cut_has_no_vote_and_none_but_such_are_an_error(ask: Any) -> None:
    cut = Completion("It names Mary Shelley, and", finish="length")
    answer = await ask(SelfConsistency, ScriptedModel([cut, "Answer: Jane Austen", "Answer: Jane Austen"]))
    assert (answer.text, answer.confidence) == ("Jane Austen", pytest.approx(2 / 3))
    with pytest.raises(CutError):
        await ask(SelfConsistency, ScriptedModel([cut] * 3))
