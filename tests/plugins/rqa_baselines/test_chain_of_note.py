from collections.abc import Awaitable, Callable

from standins.model import ScriptedModel

from robust_qa import Answer
from rqa_baselines.chain_of_note import ChainOfNote

Ask = Callable[..., Awaitable[Answer]]


async def test_notes_on_each_passage_come_before_the_answer(ask: Ask) -> None:
    notes = "Note 1: It names Jane Austen.\n**Note 2:** It names another.\nNote 7: There is none.\n"
    reply = f"{notes}Documents: 1\n<<<ANSWER>>> Jane Austen <<</ANSWER>>>"
    answer = await ask(ChainOfNote, ScriptedModel([reply]))
    assert answer.details["notes"] == {"1": "It names Jane Austen.", "2": "It names another."}
    assert (answer.text, [c.id for c in answer.citations]) == ("Jane Austen", ["emma"])


async def test_an_answer_from_memory_cites_nothing(ask: Ask) -> None:
    reply = "Note 1: Off the topic.\nDocuments: none\n<<<ANSWER>>> Jane Austen <<</ANSWER>>>"
    answer = await ask(ChainOfNote, ScriptedModel([reply]))
    assert (answer.text, answer.citations) == ("Jane Austen", ())


async def test_unknown_abstains(ask: Ask) -> None:
    answer = await ask(ChainOfNote, ScriptedModel(["Note 1: Off.\n<<<ANSWER>>> Unknown <<</ANSWER>>>"]))
    assert answer.abstained
