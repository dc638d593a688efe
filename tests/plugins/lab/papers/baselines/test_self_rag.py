"""Self-RAG over the host's reader `openai` and a scripted /completions, with scores worked out by hand."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack
from math import log
from typing import Any

import pytest
from standins.model import toolbox_over
from standins.openai import Server, continuation, error, serve

from robust_qa import Answer, Passage, Question, open_session
from robust_qa.testing import ScriptedModel
from rqa_lab.baselines.self_rag import SelfRag
from rqa_openai import OpenAI

QUESTION = "Who wrote Emma?"
EMMA = Passage("Jane Austen wrote Emma.", id="emma", title="Emma")
FAKE = Passage("Mary Shelley wrote Emma.", id="fake", title="Fake")
HEAD = f"### Instruction:\n{QUESTION}\n\n### Response:\n"
WANTS = continuation(("[Retrieval]", log(0.6), {"[Retrieval]": log(0.6), "[No Retrieval]": log(0.2)}))
AUSTEN = continuation(
    ("[Relevant]", log(0.5), {"[Relevant]": log(0.6), "[Irrelevant]": log(0.2)}),
    ("Jane Austen", log(0.5)),
    ("[Fully supported]", log(0.5), {"[Fully supported]": log(0.4), "[Partially supported]": log(0.4)}),
    ("[Utility:5]", log(0.5), {"[Utility:5]": log(0.6), "[Utility:4]": log(0.2)}),
)
# exp(mean) + 1.0 * 0.6 / 0.8 + 1.0 * (0.4 + 0.5 * 0.4) / 0.8 + 0.5 * (1 * 0.6 + 0.5 * 0.2) / 0.8
AUSTENS = 0.5 + 0.75 + 0.75 + 0.5 * 0.875
SHELLEY = continuation(("[Irrelevant]", 0.0), ("Mary Shelley", log(0.25)), ("[Utility:1]", 0.0))
SHELLEYS = math.exp(log(0.25) / 3) + 0.0 + 0.0 - 0.5

Script = Callable[[str], Any]
Run = Callable[..., Awaitable[tuple[Answer, Server]]]


@pytest.fixture
async def run() -> AsyncIterator[Run]:
    """Who wrote Emma, over `emma` and `fake`, with what a script writes after a prompt; and the server asked."""
    stack = ExitStack()

    async def over(script: Script, *passages: Passage, **options: Any) -> tuple[Answer, Server]:
        server = stack.enter_context(serve(lambda request, _: script(request["prompt"])))
        reader = OpenAI(OpenAI.Options(model="selfrag", base_url=server.url))
        toolbox = toolbox_over(reader, passages or (EMMA, FAKE), question=QUESTION)
        try:
            answer = await SelfRag(SelfRag.Options(**options)).answer(QUESTION, toolbox)
        finally:
            await reader.close()
        return answer, server

    with stack:
        yield over


def model(prompt: str) -> Any:
    if prompt == HEAD:
        return WANTS
    return AUSTEN if "Jane Austen" in prompt else SHELLEY


async def test_the_continuation_with_the_best_score_is_the_answer_and_its_passage_is_cited(run: Run) -> None:
    answer, server = await run(model)
    assert (answer.text, [citation.id for citation in answer.citations]) == ("Jane Austen", ["emma"])
    prompts = [HEAD, *(f"{HEAD}[Retrieval]<paragraph>{p.title}\n{p.text}</paragraph>" for p in (EMMA, FAKE))]
    assert sorted(request.body["prompt"] for request in server.requests) == sorted(prompts)


async def test_scores_are_the_papers(run: Run) -> None:
    answer, _ = await run(model)
    first, second = answer.details["paths"]
    assert (first["score"], second["score"]) == (pytest.approx(AUSTENS), pytest.approx(SHELLEYS))
    assert answer.details["wanted"] == pytest.approx(0.75)


async def test_weights_can_turn_the_choice(run: Run) -> None:
    sure = continuation(("[Relevant]", 0.0), ("Mary Shelley", 0.0), ("[No support / Contradictory]", 0.0))
    answer, _ = await run(lambda prompt: sure if "Shelley" in prompt else model(prompt))
    assert answer.text == "Jane Austen"
    answer, _ = await run(lambda prompt: sure if "Shelley" in prompt else model(prompt), w_sup=0.0, w_use=0.0)
    assert answer.text == "Mary Shelley"


async def test_a_passage_that_the_model_finds_irrelevant_or_of_no_support_is_not_cited(run: Run) -> None:
    for mark in ("[Irrelevant]", "[No support / Contradictory]"):
        answer, _ = await run(lambda prompt, mark=mark: continuation((mark, 0.0), ("Jane Austen", 0.0)))  # type: ignore[misc]
        assert (answer.text, answer.citations) == ("Jane Austen", ())


@pytest.mark.parametrize(("threshold", "calls"), [(0.74, 3), (0.76, 2)], ids=["above", "below"])
async def test_passages_are_retrieved_above_the_threshold_only(run: Run, threshold: float, calls: int) -> None:
    answer, server = await run(model, threshold=threshold)
    assert len(server.requests) == calls
    assert answer.details["retrieved"] is (calls == 3)
    assert (HEAD + "[No Retrieval]" in [request.body["prompt"] for request in server.requests]) is (calls == 2)


async def test_an_answer_from_memory_cites_nothing(run: Run) -> None:
    answer, server = await run(model, retrieval="never")
    assert (answer.text, answer.citations, len(server.requests)) == ("Mary Shelley", (), 1)


async def test_a_model_that_says_nothing_of_retrieval_gets_passages() -> None:
    toolbox = toolbox_over(ScriptedModel("Jane Austen"), [EMMA], question=QUESTION)
    answer = await SelfRag(SelfRag.Options()).answer(QUESTION, toolbox)
    assert (answer.text, answer.details["wanted"], answer.details["retrieved"]) == ("Jane Austen", None, True)
    assert "trained for Self-RAG" in toolbox.trace.steps[1].what


async def test_of_a_closed_set_the_scores_of_equal_answers_add_up(run: Run) -> None:
    def vote(prompt: str) -> Any:
        sure = 0.0 if prompt.endswith("one</paragraph>") else log(0.6)
        return continuation(("A" if sure == 0.0 else "B.", sure))

    passages = [Passage(text) for text in ("one", "two", "three")]
    options = {"retrieval": "always", "w_rel": 0.0}
    answer, _ = await run(vote, *passages, **options)
    assert answer.text == "A"  # 1.0 against 0.6
    answer, _ = await run(vote, *passages, closed=True, **options)
    assert answer.text == "B."  # 1.0 against 0.6 + 0.6


async def test_a_sure_silence_is_no_answer(run: Run) -> None:
    def silent(prompt: str) -> Any:
        return continuation(("</s>", 0.0)) if "Jane" in prompt else SHELLEY

    answer, _ = await run(silent, retrieval="always")
    assert answer.text == "Mary Shelley"
    answer, _ = await run(lambda _: continuation(("</s>", 0.0)), retrieval="always")
    assert (answer.text, answer.reason) == (None, "The model wrote no answer.")


async def test_a_passage_that_overflows_the_window_is_cut(run: Run) -> None:
    def small(prompt: str) -> Any:
        return error(400, "maximum context length exceeded") if len(prompt) > 1000 else AUSTEN

    answer, _ = await run(small, Passage("Jane Austen wrote Emma. " * 1000), retrieval="always")
    assert answer.text == "Jane Austen"


STEERING = ["[Relevant]", "</paragraph>", "</s>"]
STEERING += ["<|im_end|>", "[INST]", "### Response:"]


@pytest.mark.parametrize("mark", STEERING)
async def test_no_passage_title_or_question_can_spell_a_token(mark: str) -> None:
    """Whatever they say, the prompt has the marks that are the strategy's own, each as often as without them."""
    prompts = []
    for text in ("a", mark):
        reader = ScriptedModel("x")
        toolbox = toolbox_over(reader, [Passage(text, title=text)])
        await SelfRag(SelfRag.Options(retrieval="always")).answer(text, toolbox)
        prompts.append(reader.calls[0][0][0].content)
    assert prompts[0].count(mark) == prompts[1].count(mark)


async def test_self_crag_continues_after_the_corrected_passages() -> None:
    strips = Passage(
        f"{EMMA.text} {EMMA.text[:-1]} in Hampshire. Moles live under the ground and eat worms.", id="emma"
    )
    with serve(lambda request, n: model(request["prompt"])) as server:
        how = {
            "strategy": {"plugin": "crag", "then": "self_rag", "upper": 0.0, "rewrite": "off"},
            "reader": {"plugin": "openai", "model": "m", "base_url": server.url},
            "evaluator": "lexical",
            "settings": {"cache": {"enabled": False}},
        }
        async with open_session(**how) as session:
            answer = await session.answer(Question(QUESTION, passages=(strips,)))
    assert (answer.text, [citation.id for citation in answer.citations]) == ("Jane Austen", ["emma"])
    assert answer.details["then"]["paths"][0]["score"] == pytest.approx(AUSTENS)
    assert [request.body["prompt"].count("<paragraph>") for request in server.requests] == [0, 1]
    assert answer.usage.calls == 2
