"""FLARE, context-aware decoding and RECOMP: what they retrieve and read by probabilities and scores."""

import asyncio
import math
from typing import Any

import pytest
from standins.model import prompts_of, toolbox_over

from robust_qa import Continuation, Passage, Question, Token
from robust_qa.testing import OverlapEvaluator, ScriptedModel, StaticRetriever, toolbox
from rqa_lab.baselines.active import Flare
from rqa_lab.baselines.adaptive import AdaptiveRag, ContextAware, Recomp, decoded

QUESTION = "When was the lighthouse built?"
FIRST, SECOND = Passage("The lighthouse is tall.", id="tall"), Passage("The harbour is of 1871.", id="harbour")


def said(*words: tuple[str, float]) -> Continuation:
    return Continuation("".join(word for word, _ in words), tuple(Token(word, math.log(p)) for word, p in words))


def retrieving(model: ScriptedModel, *passages: Passage) -> Any:
    return toolbox(Question(QUESTION), reader=model, retriever=StaticRetriever(list(passages)))


def test_flare_retrieves_with_the_words_that_it_is_sure_of_and_writes_the_sentence_again() -> None:
    unsure = said(("The", 0.99), (" harbour", 0.95), (" is", 0.9), (" of", 0.9), (" 1900", 0.3), (".", 0.9))
    again = said((" The harbour is of 1871.", 0.9))
    model = ScriptedModel([unsure, again, said((" So the answer is 1871.", 0.95))])
    answer = asyncio.run(Flare(Flare.Options()).answer(QUESTION, retrieving(model, FIRST, SECOND)))
    assert answer.text == "1871" and [cited.id for cited in answer.citations] == ["harbour"]
    assert answer.details["queries"] == ["The harbour is of."]  # without the word below beta
    assert answer.details["sentences"] == ["The harbour is of 1871.", "So the answer is 1871."]
    last = prompts_of(model)[-1]
    assert "1900" not in last and last.endswith("The harbour is of 1871.")


def test_flare_retrieves_once_if_it_is_always_sure() -> None:
    model = ScriptedModel([said((" So the answer is 1871.", 0.9))])
    answer = asyncio.run(Flare(Flare.Options()).answer(QUESTION, retrieving(model, FIRST, SECOND)))
    assert (answer.text, answer.details["queries"], len(model.calls)) == ("1871", [], 1)


def test_context_aware_decoding_follows_equation_2() -> None:
    given, alone = {"1900": math.log(0.5), "1871": math.log(0.4)}, {"1900": math.log(0.9), "1871": math.log(0.01)}
    assert decoded(given, alone, 0.0) == "1900"  # as without the contrast
    # 1.5 log 0.4 - 0.5 log 0.01 is more than 1.5 log 0.5 - 0.5 log 0.9.
    assert decoded(given, alone, 0.5) == "1871"
    assert decoded({}, alone, 0.5) == ""


def test_context_aware_decoding_asks_with_and_without_the_passages_for_each_token() -> None:
    def reply(messages: Any, _: Any) -> Any:
        prompt = messages[-1].content
        if prompt.endswith("1871"):
            return said(("\n", 0.99))
        tops = {"1900": 0.5, "1871": 0.4} if "document" in prompt else {"1900": 0.9, "1871": 0.01}
        top = {word: math.log(p) for word, p in tops.items()}
        return Continuation("1900", (Token("1900", top["1900"], top),))

    model = ScriptedModel(reply)
    box = toolbox_over(model, (FIRST, SECOND), question=QUESTION)
    answer = asyncio.run(ContextAware(ContextAware.Options()).answer(QUESTION, box))
    assert (answer.text, answer.details["changed"], len(model.calls)) == ("1871", 1, 4)
    assert [cited.id for cited in answer.citations] == ["harbour"]


def test_recomp_reads_the_sentences_that_the_evaluator_ranks_first() -> None:
    passages = (Passage("Sheep graze. The lighthouse was built in 1871.", id="a"), Passage("It rains.", id="b"))
    model = ScriptedModel("Documents: 1\nAnswer: 1871")
    box = toolbox_over(model, passages, question=QUESTION, evaluator=OverlapEvaluator())
    answer = asyncio.run(Recomp(Recomp.Options(keep=1)).answer(QUESTION, box))
    assert answer.text == "1871" and [cited.id for cited in answer.citations] == ["a"]
    (prompt,) = prompts_of(model)
    assert "built in 1871" in prompt and "Sheep" not in prompt and "rains" not in prompt


@pytest.mark.parametrize(("reply", "chosen"), [("A", "A"), ("C, because it takes two.", "C"), ("Hm.", "B")])
def test_adaptive_rag_asks_as_the_class_of_the_question_says(reply: str, chosen: str) -> None:
    model = ScriptedModel([reply, *["So the answer is 1871."] * 3])
    box = toolbox_over(model, (FIRST, SECOND), question=QUESTION)
    answer = asyncio.run(AdaptiveRag(AdaptiveRag.Options()).answer(QUESTION, box))
    assert answer.details["class"] == chosen
    assert ("lighthouse is tall" in "".join(prompts_of(model)[1:])) == (chosen != "A")
