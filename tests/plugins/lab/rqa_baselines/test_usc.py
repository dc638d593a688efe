from collections.abc import Awaitable, Callable

import pytest
from standins.model import ScriptedModel

from robust_qa import Answer, Passage
from rqa_baselines.usc import UniversalSelfConsistency

Ask = Callable[..., Awaitable[Answer]]
ANSWERS = ("Mary Shelley", "Jane Austen", "Mary Shelley")
SAMPLES = [f"Hm.\nDocuments: 1\n<<<ANSWER>>> {answer} <<</ANSWER>>>" for answer in ANSWERS]


async def test_the_model_picks_among_its_replies(ask: Ask) -> None:
    model = ScriptedModel([*SAMPLES, "They agree on 2.\n<<<ANSWER>>> 2 <<</ANSWER>>>"])
    answer = await ask(UniversalSelfConsistency, model)
    assert (answer.text, answer.details["picked"]) == ("Jane Austen", 2)
    assert all(f'<document reply="{n}">' in model.prompts[3] for n in (1, 2, 3))
    assert "Jane Austen wrote it." not in model.prompts[3]  # the replies alone are compared


@pytest.mark.parametrize("pick", ["<<<ANSWER>>> 7 <<</ANSWER>>>", "the last one", ""])
async def test_a_pick_of_no_reply_leaves_it_to_the_majority(ask: Ask, pick: str) -> None:
    answer = await ask(UniversalSelfConsistency, ScriptedModel([*SAMPLES, pick]))
    assert (answer.text, answer.details["picked"]) == ("Mary Shelley", None)


async def test_replies_too_long_to_be_compared_leave_it_to_the_majority(ask: Ask) -> None:
    model = ScriptedModel([f"{'Hm. ' * 900}{sample}" for sample in SAMPLES], window=2500)
    answer = await ask(UniversalSelfConsistency, model)
    assert (answer.text, answer.details["picked"], len(model.calls)) == ("Mary Shelley", None, 3)


async def test_all_replies_are_to_one_prompt(ask: Ask) -> None:
    model = ScriptedModel([*SAMPLES, "<<<ANSWER>>> Reply 1 <<</ANSWER>>>"])
    await ask(UniversalSelfConsistency, model, [Passage(f"Passage {n}.") for n in range(6)], order="random")
    assert len(set(model.prompts[:3])) == 1


async def test_the_pick_itself_is_not_sampled(ask: Ask) -> None:
    model = ScriptedModel([*SAMPLES, "<<<ANSWER>>> Reply 1 <<</ANSWER>>>"])
    await ask(UniversalSelfConsistency, model)
    assert [(d.temperature, d.seed) for _, d in model.calls] == [(0.7, 0), (0.7, 1), (0.7, 2), (None, 0)]
