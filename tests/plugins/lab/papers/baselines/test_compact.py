from typing import Any

import pytest
from standins.model import prompts_of

from robust_qa import Passage
from robust_qa.testing import ScriptedModel
from rqa_lab.baselines.compact import CompAct

EIGHT = [Passage(f"Text {n}. By Jane Austen." if n in (3, 7) else f"Text {n}.", id=str(n)) for n in range(8)]
READING = "Documents: 1\nAnswer: Jane Austen"


def step(summary: str, complete: str = "no") -> str:
    return f"<<<SUMMARY>>> {summary} <<</SUMMARY>>>\nComplete: {complete}"


async def test_each_segment_is_compressed_with_the_summary_so_far(ask: Any) -> None:
    model = ScriptedModel([step("First."), step("Second."), READING])
    answer = await ask(CompAct, model, EIGHT)
    assert "Text 4." in prompts_of(model)[0] and "Text 5." not in prompts_of(model)[0]
    assert "Text 5." in prompts_of(model)[1] and "<document>\nFirst.\n</document>" in prompts_of(model)[1]
    assert "Second." in prompts_of(model)[2] and "Text 5." not in prompts_of(model)[2]
    assert answer.details == {"summaries": ["First.", "Second."], "passages_read": 8}


async def test_complete_evidence_ends_the_compression(ask: Any) -> None:
    model = ScriptedModel([step("First.", "yes"), READING])
    answer = await ask(CompAct, model, EIGHT)
    assert (answer.text, answer.details["passages_read"]) == ("Jane Austen", 5)


async def test_evidence_of_which_nothing_was_kept_is_never_complete(ask: Any) -> None:
    model = ScriptedModel([step("none", "yes"), step("Jane Austen wrote it.", "yes"), READING])
    answer = await ask(CompAct, model, EIGHT)
    assert (answer.text, answer.details["passages_read"]) == ("Jane Austen", 8)


async def test_the_compressed_passages_that_hold_the_answer_are_cited(ask: Any) -> None:
    whole = await ask(CompAct, ScriptedModel([step("x"), step("y"), READING]), EIGHT)
    assert [c.id for c in whole.citations] == ["3", "7"]
    part = await ask(CompAct, ScriptedModel([step("x", "yes"), READING]), EIGHT)
    assert [c.id for c in part.citations] == ["3"]


async def test_an_empty_reply_takes_nothing_of_the_evidence_back(ask: Any) -> None:
    for empty in ("<think>Hm.", step("")):
        answer = await ask(CompAct, ScriptedModel([step("Jane Austen wrote it."), empty, READING]), EIGHT)
        assert (answer.text, answer.details["summaries"]) == ("Jane Austen", ["Jane Austen wrote it."] * 2)


async def test_nothing_left_abstains_without_reading(ask: Any) -> None:
    for empty in ("", step("")):
        assert (await ask(CompAct, ScriptedModel([empty]))).reason == "Nothing in the passages bears on the question."
    assert (await ask(CompAct, ScriptedModel([]), [])).reason == "No passage was found."


async def test_nothing_left_is_answered_all_the_same_as_in_the_paper(ask: Any) -> None:
    assert (await ask(CompAct, ScriptedModel([step(""), READING]), abstain=False)).text == "Jane Austen"


@pytest.mark.parametrize(
    ("reply", "summary", "read"),
    [
        ("<<<SUMMARY>>> A.\n**Complete:** Yes.", "A.", 5),
        ("<<SUMMARY>> A. <</SUMMARY>>\nComplete：yes", "A.", 5),
        ("A.", "A.", 8),
    ],
)
async def test_a_reply_in_no_form_is_the_summary(ask: Any, reply: str, summary: str, read: int) -> None:
    answer = await ask(CompAct, ScriptedModel([reply, *[READING] * 2]), EIGHT)
    assert (answer.details["summaries"][0], answer.details["passages_read"]) == (summary, read)
