from typing import Any

import pytest
from standins.model import ScriptedModel

from rqa_baselines.sampled import UniversalSelfConsistency

ANSWERS = ("Mary Shelley", "Jane Austen", "Mary Shelley")
SAMPLES = [f"Hm.\nDocuments: 1\n<<<ANSWER>>> {answer} <<</ANSWER>>>" for answer in ANSWERS]


async def test_the_model_picks_among_its_replies(ask: Any) -> None:
    model = ScriptedModel([*SAMPLES, "They agree on 2.\n<<<ANSWER>>> 2 <<</ANSWER>>>"])
    answer = await ask(UniversalSelfConsistency, model)
    assert (answer.text, answer.details["picked"]) == ("Jane Austen", 2)
    assert all(f'<document reply="{n}">' in model.prompts[3] for n in (1, 2, 3))
    assert "Jane Austen wrote it." not in model.prompts[3]  # the replies alone are compared


@pytest.mark.parametrize("pick", ["<<<ANSWER>>> 7 <<</ANSWER>>>", "the last one", ""])
async def test_a_pick_of_no_reply_leaves_it_to_the_majority(ask: Any, pick: str) -> None:
    answer = await ask(UniversalSelfConsistency, ScriptedModel([*SAMPLES, pick]))
    assert (answer.text, answer.details["picked"]) == ("Mary Shelley", None)


async def test_the_pick_itself_is_not_sampled(ask: Any) -> None:
    model = ScriptedModel([*SAMPLES, "<<<ANSWER>>> Reply 1 <<</ANSWER>>>"])
    await ask(UniversalSelfConsistency, model)
    assert [(d.temperature, d.seed) for _, d in model.calls] == [(0.7, 0), (0.7, 1), (0.7, 2), (None, 0)]
