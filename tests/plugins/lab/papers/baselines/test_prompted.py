"""One call, or two: answer refinement, Chain-of-Note and InstructRAG."""

from typing import Any

import pytest
from standins.model import prompts_of

from robust_qa import Completion, CutError
from robust_qa.testing import ScriptedModel
from rqa_lab.baselines.prompted import AnswerRefinement, ChainOfNote, InstructRag

BEFORE = "<<<ANSWER>>> Mary Shelley <<</ANSWER>>>"
AFTER = "Document 1 says otherwise.\nDocuments: 1\n<<<ANSWER>>> Jane Austen <<</ANSWER>>>"


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
    assert "<document>\nI don't know\n</document>" in prompts_of(model)[1]
    assert (answer.text, answer.conflicts, answer.details["before"]) == ("Jane Austen", (), None)


async def test_notes_on_each_passage_come_before_the_answer(ask: Any) -> None:
    notes = "Note 1：It names Jane Austen.\n**Note 2:** It names another.\nNote 7: There is none.\n"
    reply = f"{notes}Documents: 1\n<<<ANSWER>>> Jane Austen <<</ANSWER>>>"
    answer = await ask(ChainOfNote, ScriptedModel([reply]))
    assert answer.details["notes"] == {"1": "It names Jane Austen.", "2": "It names another."}
    assert (answer.text, [c.id for c in answer.citations]) == ("Jane Austen", ["emma"])


async def test_a_reply_that_is_cut_before_its_answer_is_an_error_and_its_last_note_no_answer(ask: Any) -> None:
    cut = Completion("Note 1: It names Mary Shelley, and", finish="length")
    with pytest.raises(CutError):
        await ask(ChainOfNote, ScriptedModel([cut]))
    begun = "Note 1: It names her.\n<<<ANSWER>>> Jane Austen"
    with pytest.raises(CutError):
        await ask(ChainOfNote, ScriptedModel([Completion(begun, finish="length")]))
    for closed in (f"{begun} <<</ANS", f"{begun} <<</ANSWER>>> So"):
        assert (await ask(ChainOfNote, ScriptedModel([Completion(closed, finish="length")]))).text == "Jane Austen"


RATIONALE = "Document 2 is noise. Document 1 says it.\nDocuments: 1\n<<<ANSWER>>> Jane Austen <<</ANSWER>>>"


async def test_it_explains_how_the_answer_follows_and_cites_what_it_names(ask: Any) -> None:
    answer = await ask(InstructRag, ScriptedModel([RATIONALE]))
    assert answer.text == "Jane Austen"
    assert [c.quote for c in answer.citations] == ["Jane Austen wrote it."]
    assert answer.details["reasoning"].startswith("Document 2 is noise.")


@pytest.mark.parametrize(
    ("reply", "text", "cited"),
    [
        ("Documents: 2, 7\n<<<ANSWER>>> Mary Shelley <<</ANSWER>>> Bye.", "Mary Shelley", ["fake"]),
        ("Documents： 2\nNo.\nDocuments： 1\nANSWER： Jane Austen", "Jane Austen", ["emma"]),  # the last line counts
        ("Hm.\nThe answer is not in the documents.", None, []),
    ],
)
async def test_the_answer_is_the_one_that_is_stated_unless_it_declines(
    ask: Any, reply: str, text: str | None, cited: list[str]
) -> None:
    answer = await ask(InstructRag, ScriptedModel([reply]))
    assert (answer.text, [citation.id for citation in answer.citations]) == (text, cited)
