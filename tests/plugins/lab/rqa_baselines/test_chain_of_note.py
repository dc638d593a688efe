import time
from typing import Any

import pytest
from standins.model import ScriptedModel

from robust_qa import Completion, CutError
from rqa_baselines.prompted import ChainOfNote


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


async def test_a_long_run_of_spaces_takes_no_time(ask: Any) -> None:
    began = time.process_time()
    await ask(ChainOfNote, ScriptedModel(["Note 1:" + " " * 200_000 + ".\n<<<ANSWER>>> Jane Austen <<</ANSWER>>>"]))
    assert time.process_time() - began < 2
