"""`prompts = "paper"`: prompts with the content, order and form of the papers, and replies that are understood."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from standins.model import prompts_of, toolbox_over

from robust_qa import Passage, Question
from robust_qa.testing import OverlapEvaluator, ScriptedModel, StaticRetriever, toolbox
from rqa_activerag import ActiveRag
from rqa_astute import Astute
from rqa_crag import Crag
from rqa_eor import Eor
from rqa_judge import Judge

QUESTION = "Who wrote Emma?"
EMMA = Passage("Emma came out in 1815. Jane Austen wrote it.", id="emma", title="Emma")
FAKE = Passage("Emma was written by Mary Shelley in 1818.", id="fake", title="Fake")
MEMORY = "Emma is a novel by Jane Austen."
VERDICT = """\
**Step 1: Consolidate**
Document 1: Jane Austen wrote Emma.
- source: memory and external retrieval
- documents: 1, 3
Document 2: Mary Shelley wrote Emma.
- source: external retrieval
- documents: 2

**Step 2: Propose answers with confidence**
Document 1: Jane Austen, 90%
Document 2: Mary Shelley, 10%

**Step 3: Choose the final answer**
<<<ANSWER>>> Jane Austen <<</ANSWER>>>"""


def in_order(prompt: str, *parts: str) -> bool:
    return re.search(".*".join(map(re.escape, parts)), prompt, re.DOTALL) is not None


@pytest.fixture
def ask() -> Callable[..., Any]:
    """The answer and the prompts of a strategy with the paper's prompts, over a model that would reply in JSON."""

    async def run(strategy: Any, *replies: str, **options: Any) -> tuple[Any, list[str]]:
        model = ScriptedModel(list(replies), structured=True)
        box = toolbox_over(model, (EMMA, FAKE), question=QUESTION)
        answer = await strategy(strategy.Options(prompts="paper", abstain=False, **options)).answer(QUESTION, box)
        assert not any(decoding.schema for _, decoding in model.calls)  # the papers ask in plain text
        return answer, prompts_of(model)

    return run


async def test_astute(ask: Any) -> None:
    consolidated = VERDICT.partition("\n")[2].partition("\n\n")[0]
    answer, (memory, consolidate, finalise) = await ask(Astute, MEMORY, consolidated, VERDICT, iterations=2)
    assert in_order(memory, "I don't know", QUESTION, "Document:")
    assert in_order(consolidate, "agree", "conflict", "bear on", "source: memory", EMMA.text, QUESTION, "New context:")
    assert in_order(finalise, "Step 1", "Step 2", "confidence", "Step 3", "<<<ANSWER>>>", EMMA.text, QUESTION)
    assert 'from="memory"' in finalise and "Last context" in finalise
    assert answer.text == "Jane Austen" and [citation.id for citation in answer.citations] == ["emma", "memory-1"]
    assert [(one["documents"], one["source"]) for one in answer.details["rounds"][0]] == [
        ([1, 3], "both"),
        ([2], "retrieval"),
    ]


async def test_astute_counts_each_proposal_once_for_the_documents_that_it_is_made_from(ask: Any) -> None:
    """A proposal names the new documents of the first step, of which the second one is from memory."""
    reply = (
        "Step 1: Consolidate\nDocument 1 (Source: external retrieval, documents 1, 2): The ferry costs 62 euros.\n"
        "Document 2 (Source: memory, document 3): It costs 95 euros.\n\nStep 2: Propose answers with confidence\n"
        "Group 1 (Document 1): Proposed answer: 62 euros. Confidence: 95%\n"
        "Group 2 (Document 2): Proposed answer: 95 euros. Confidence: 40%\n\n"
    )
    for final, text in (("62 euros", "62 euros"), ("I don't know", None)):
        answer, _ = await ask(Astute, MEMORY, f"{reply}<<<ANSWER>>> {final} <<</ANSWER>>>")
        assert [side.text for side in answer.conflicts] == ["62 euros", "95 euros"]  # also if it abstains
        assert answer.text == text
        groups = [(one["documents"], one["source"], one["confidence"]) for one in answer.details["groups"]]
        assert groups == [([1, 2], "retrieval", 0.95), ([3], "memory", 0.4)]
        assert [[cited.id for cited in side.citations] for side in answer.conflicts] == [["emma", "fake"], ["memory-1"]]


async def test_astute_shows_both_sides_of_a_conflict_that_the_model_leaves_open(ask: Any) -> None:
    reply = "Group 1 (Document 1): The ferry costs 62 euros.\nGroup 2 (Document 2): The ferry costs 95 euros.\n"
    answer, _ = await ask(Astute, MEMORY, f"{reply}<<<ANSWER>>> I don't know <<</ANSWER>>>")
    assert answer.text is None
    assert [side.text for side in answer.conflicts] == ["The ferry costs 62 euros.", "The ferry costs 95 euros."]


async def test_a_file_replaces_one_prompt_of_the_papers_set(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("Step 3, in a paragraph.\n{passages}\nQuestion: {question}")
    model = ScriptedModel([MEMORY, VERDICT], structured=True)
    options = Astute.Options(prompts={"set": Path("paper"), "finalise": tmp_path / "mine.txt"})
    await Astute(options).answer(QUESTION, toolbox_over(model, (EMMA, FAKE), question=QUESTION))
    memory, finalise = prompts_of(model)
    assert in_order(memory, "I don't know", "Document:") and "in a paragraph" in finalise
    assert not any(decoding.schema for _, decoding in model.calls)  # the set asks in plain text


async def test_astute_without_sources(ask: Any) -> None:
    _, prompts = await ask(Astute, MEMORY, VERDICT, source_aware=False)
    assert "external retrieval" not in prompts[1] and 'from="' not in prompts[1]


@pytest.mark.parametrize("instruction", ["anchoring", "association", "reasoning", "reflection"])
async def test_activerag(ask: Any, instruction: str) -> None:
    thought = "Reasoning: It is an old novel by a woman.\nAnswer: Mary Shelley"
    revision = "Thought: The passages name Jane Austen [1].\nAnswer: Jane Austen"
    answer, prompts = await ask(ActiveRag, thought, "Jane Austen wrote it.", revision, instructions=[instruction])
    inquire, assimilate, accommodate = prompts
    assert in_order(inquire, "step by step", QUESTION, "Reasoning:", "Answer:")
    assert in_order(assimilate, "You are a", QUESTION, EMMA.text, "extract")
    assert in_order(accommodate, QUESTION, thought.splitlines()[0], "Jane Austen wrote it.", "errors", "Answer:")
    assert EMMA.text not in accommodate
    assert (answer.text, answer.details["before"]["answer"]) == ("Jane Austen", "Mary Shelley")


async def test_activerag_without_an_agent(ask: Any) -> None:
    revision = "Thought: The passages name her.\nAnswer: Jane Austen"
    answer, (_, accommodate) = await ask(ActiveRag, "Answer: Mary Shelley", revision, assimilation=False)
    assert EMMA.text in accommodate and answer.text == "Jane Austen"
    answer, (_, conclude) = await ask(ActiveRag, "Jane Austen wrote it.", revision, accommodation=False)
    assert "Jane Austen wrote it." in conclude and answer.text == "Jane Austen"


async def test_eor_assumes_that_the_passages_are_true(ask: Any) -> None:
    answer, (read, recall) = await ask(Eor, "Jane Austen", "Jane Austen.", pool=["given", "none"])
    assert in_order(read, "to be true", EMMA.text, "direct answer", QUESTION)
    assert in_order(recall, "direct answer", QUESTION)
    assert answer.text == "Jane Austen" and answer.confidence == 1


async def test_crag_asks_for_keywords_with_four_examples() -> None:
    model = ScriptedModel(["query: Emma, author\nquestion: next", "Jane Austen"])
    given, web = Question(QUESTION, passages=(Passage("The weather is fine."),)), StaticRetriever([EMMA])
    box = toolbox(given, reader=model, evaluator=OverlapEvaluator(), names={"web": web})
    crag = Crag(Crag.Options(search="web", prompts="paper", rewrite="reader", upper=0.9, lower=0.5))
    await crag.correct(QUESTION, box)
    prompt = prompts_of(model)[0]
    assert in_order(prompt, "three keywords", "commas", QUESTION, "query:") and prompt.count("question: ") == 5


@pytest.mark.parametrize("mode", ["plain", "cot", "few-shot"])
async def test_the_judge_is_asked_as_in_the_tables_of_crag(mode: Any) -> None:
    reply = "The document names her, and no other, so: Yes."
    model = ScriptedModel([reply if mode == "cot" else "Yes."])
    judge = Judge(Judge.Options(mode=mode, prompts="paper"))
    assert await judge.score(QUESTION, [EMMA.text], toolbox_over(model, question=QUESTION)) == [1.0]
    (prompt,) = prompts_of(model)
    assert in_order(prompt, "exact information", f"Question: {QUESTION}", EMMA.text)
    assert prompt.count("Question: ") == (5 if mode == "few-shot" else 1)


def test_the_set_is_named_in_the_configuration_or_on_the_command_line(rqa: Any) -> None:
    tables = "[strategy.astute]\nprompts = 'paper'\n[evaluator.judge]\nprompts = 'paper'\n"
    Path("rqa.toml").write_text(tables)
    checked = rqa("config", "check")
    assert (checked.code, checked.err) == (0, "")
    Path("rqa.toml").write_text(tables.replace("paper", "papers", 1) + "[strategy.rag]\nprompts = 'paper'\n")
    refused = rqa("config", "check").err
    assert "`strategy.astute.prompts` must be a table or one of 'paper', not \"papers\"" in refused
    assert "`strategy.rag.prompts` must be a table, not" in refused
    ended = rqa("ask", QUESTION, "-s", "astute", "-O", "strategy.astute.prompts=paper", "--reader", "lexical")
    assert "must be" not in ended.err
