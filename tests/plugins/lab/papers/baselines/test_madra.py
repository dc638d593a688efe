from typing import Any

import pytest
from standins.model import prompts_of

from robust_qa import Completion
from robust_qa.testing import ScriptedModel
from rqa_lab.baselines.madra import Madra


def said(answer: str) -> str:
    return f"Because.\nDocuments: 1\n<<<ANSWER>>> {answer} <<</ANSWER>>>"


async def test_every_second_agent_answers_without_the_passages(ask: Any) -> None:
    model = ScriptedModel([said("Jane")] * 4)
    await ask(Madra, model, agents=4, select=False)
    assert ["<document number" in prompt for prompt in prompts_of(model)] == [True, False, True, False]


async def test_each_agent_sees_its_own_reply_apart_from_the_others(ask: Any) -> None:
    model = ScriptedModel([said("A"), said("B"), said("C"), *[said("A")] * 3])
    await ask(Madra, model, select=False)
    own, _, others = prompts_of(model)[4].partition("The others said:")
    assert "ANSWER>>> B" in own
    assert "ANSWER>>> A" in others and "ANSWER>>> C" in others and "ANSWER>>> B" not in others
    assert "<document number" in prompts_of(model)[3] and "<document number" not in prompts_of(model)[4]


async def test_without_agreement_a_judge_decides(ask: Any) -> None:
    model = ScriptedModel([said("A"), said("B"), said("A"), said("<<<x>>> 2").replace("<<<x>>> ", "")])
    answer = await ask(Madra, model, rounds=0, select=False)
    assert (answer.text, answer.details["judged"], answer.confidence) == ("B", 2, pytest.approx(1 / 3))
    assert [(p.text, p.chosen) for p in answer.conflicts] == [("B", True), ("A", False)]


async def test_a_judge_who_names_none_leaves_it_to_the_majority(ask: Any) -> None:
    answer = await ask(Madra, ScriptedModel([said("B"), said("A"), said("A"), ""]), rounds=0, select=False)
    assert (answer.text, answer.details["judged"]) == ("A", None)


async def test_each_agent_with_passages_selects_its_own_evidence(ask: Any) -> None:
    selected = ["Documents: 1", "Documents: 2"]
    model = ScriptedModel([*selected, said("A"), said("A"), said("A")])
    answer = await ask(Madra, model, order="ascending")
    shown = [[name for name in ("1815", "1818") if name in prompt] for prompt in prompts_of(model)]
    assert shown == [["1815", "1818"], ["1815", "1818"], ["1818"], [], ["1815"]]
    assert answer.details["evidence"] == [[2], [], [1]]
    assert [citation.id for citation in answer.citations] == ["fake", "emma"]


@pytest.mark.parametrize("reply", ["", "Documents: 9", Completion("Docu", finish="length")])
async def test_a_selection_that_names_no_document_leaves_all(ask: Any, reply: str | Completion) -> None:
    answer = await ask(Madra, ScriptedModel([reply, reply, said("A"), said("A"), said("A")]))
    assert answer.details["evidence"] == [[1, 2], [], [1, 2]]


CUT = Completion("Let me think about", finish="length")


async def test_an_agent_that_is_cut_has_its_earlier_reply_or_none(ask: Any) -> None:
    model = ScriptedModel([CUT, said("A"), said("A"), said("A"), CUT, said("A")])
    answer = await ask(Madra, model, select=False)
    assert (answer.text, answer.confidence, len(model.calls)) == ("A", 1.0, 6)
    assert answer.details["rounds"] == [["", said("A"), said("A")], [said("A")] * 3]


async def test_agents_that_know_nothing_do_not_agree_with_one_who_answers_a(ask: Any) -> None:
    model = ScriptedModel([said("A"), said("I don't know"), said("I don't know"), said("1")])
    answer = await ask(Madra, model, rounds=0, select=False)
    assert (answer.text, answer.details["judged"]) == ("A", 1)


async def test_each_agent_has_a_seed_of_its_own_and_the_judge_is_not_sampled(ask: Any) -> None:
    model = ScriptedModel([said("A"), said("B"), said("A"), said("1")])
    await ask(Madra, model, rounds=0, seed=4, select=False)
    assert [(d.temperature, d.seed) for _, d in model.calls] == [(0.7, 4), (0.7, 5), (0.7, 6), (None, 4)]
