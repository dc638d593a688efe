"""Chain of verification: a draft, questions about it, each answered alone, and a revision."""

from typing import Any

from standins.model import prompts_of

from robust_qa.testing import ScriptedModel
from rqa_baselines.stepwise import ChainOfVerification

DRAFT = "Mary Shelley wrote it in 1815.\n<<<ANSWER>>> Mary Shelley <<</ANSWER>>>"
PLAN = "Here they are:\n1. When did Emma come out?\n- **Who wrote Emma?**\nThat is all."
REVISED = "The second check names another author.\n<<<ANSWER>>> Jane Austen <<</ANSWER>>>"


async def test_the_draft_is_checked_by_questions_and_revised(ask: Any) -> None:
    model = ScriptedModel([DRAFT, PLAN, "In 1815.", "Jane Austen wrote Emma.", REVISED])
    answer = await ask(ChainOfVerification, model)
    draft, plan, first, second, revise = prompts_of(model)
    assert "Mary Shelley wrote it in 1815." in plan and "<document>" not in draft
    assert "When did Emma come out?" in first and "Who wrote Emma?" in second
    assert "Mary Shelley" not in first + second  # each is answered without the draft
    assert "Q: Who wrote Emma?\nA: Jane Austen wrote Emma." in revise and "Mary Shelley" in revise
    assert [(p.text, p.chosen) for p in answer.conflicts] == [("Jane Austen", True), ("Mary Shelley", False)]
    assert list(answer.details["checks"]) == ["When did Emma come out?", "Who wrote Emma?"]


async def test_at_most_so_many_questions_are_asked_and_none_if_there_is_none(ask: Any) -> None:
    model = ScriptedModel([DRAFT, PLAN, "In 1815.", REVISED])
    assert (await ask(ChainOfVerification, model, questions=1)).text == "Jane Austen"
    model = ScriptedModel([DRAFT, "No questions come to mind.", REVISED])
    assert (await ask(ChainOfVerification, model)).details["checks"] == {}


async def test_a_revision_that_declines_abstains(ask: Any) -> None:
    answer = await ask(
        ChainOfVerification, ScriptedModel([DRAFT, PLAN, "?", "?", "<<<ANSWER>>> UNKNOWN <<</ANSWER>>>"])
    )
    assert (answer.text, answer.conflicts) == (None, ())
