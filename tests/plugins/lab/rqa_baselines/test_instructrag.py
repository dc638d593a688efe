from collections.abc import Awaitable, Callable

from standins.model import ScriptedModel

from robust_qa import Answer, Passage
from rqa_baselines.instructrag import InstructRag

EMMA = Passage("Jane Austen wrote it.", id="emma")
Ask = Callable[..., Awaitable[Answer]]
RATIONALE = "Document 2 is noise. Document 1 says it.\nDocuments: 1\n<<<ANSWER>>> Jane Austen <<</ANSWER>>>"


async def test_it_explains_how_the_answer_follows_and_cites_what_it_names(ask: Ask) -> None:
    answer = await ask(InstructRag, ScriptedModel([RATIONALE]))
    assert answer.text == "Jane Austen"
    assert [c.quote for c in answer.citations] == ["Jane Austen wrote it."]
    assert answer.details["rationale"].startswith("Document 2 is noise.")


async def test_numbers_follow_the_order_and_tell_no_ranks(ask: Ask) -> None:
    model = ScriptedModel([RATIONALE])
    answer = await ask(InstructRag, model, [Passage("Nothing."), EMMA], order="ascending")
    assert model.prompts[0].index('number="1"') < model.prompts[0].index('number="2"')
    assert [c.id for c in answer.citations] == ["emma"]
