"""Several samples: self-consistency and its universal form."""

from typing import Any

import pytest
from standins.model import prompts_of

from robust_qa import Completion, CutError
from robust_qa.testing import ScriptedModel
from rqa_lab.baselines.sampled import SelfConsistency, UniversalSelfConsistency


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


ANSWERS = ("Mary Shelley", "Jane Austen", "Mary Shelley")
SAMPLES = [f"Hm.\nDocuments: 1\n<<<ANSWER>>> {answer} <<</ANSWER>>>" for answer in ANSWERS]


async def test_the_model_picks_among_its_replies(ask: Any) -> None:
    model = ScriptedModel([*SAMPLES, "They agree on 2.\n<<<ANSWER>>> 2 <<</ANSWER>>>"])
    answer = await ask(UniversalSelfConsistency, model)
    assert (answer.text, answer.details["picked"]) == ("Jane Austen", 2)
    assert all(f'<document reply="{n}">' in prompts_of(model)[3] for n in (1, 2, 3))
    assert "Jane Austen wrote it." not in prompts_of(model)[3]  # the replies alone are compared


async def test_a_pick_of_no_reply_leaves_it_to_the_majority(ask: Any) -> None:
    answer = await ask(UniversalSelfConsistency, ScriptedModel([*SAMPLES, "<<<ANSWER>>> 7 <<</ANSWER>>>"]))
    assert (answer.text, answer.details["picked"]) == ("Mary Shelley", None)


async def test_the_pick_itself_is_not_sampled(ask: Any) -> None:
    model = ScriptedModel([*SAMPLES, "<<<ANSWER>>> Reply 1 <<</ANSWER>>>"])
    await ask(UniversalSelfConsistency, model)
    assert [(d.temperature, d.seed) for _, d in model.calls] == [(0.7, 0), (0.7, 1), (0.7, 2), (None, 0)]
