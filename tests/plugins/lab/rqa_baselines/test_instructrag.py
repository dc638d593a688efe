from typing import Any

import pytest
from standins.model import ScriptedModel

from rqa_baselines.prompted import InstructRag

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
        ("Hm.\n<<<ANSWER>>> Not mentioned <<</ANSWER>>>", None, []),
        ("Hm.\nThe answer is not in the documents.", None, []),
        ('{"answer": null}', None, []),
    ],
)
async def test_the_answer_is_the_one_that_is_stated_unless_it_declines(
    ask: Any, reply: str, text: str | None, cited: list[str]
) -> None:
    answer = await ask(InstructRag, ScriptedModel([reply]))
    assert (answer.text, [citation.id for citation in answer.citations]) == (text, cited)
