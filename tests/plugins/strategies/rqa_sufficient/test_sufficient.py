"""The gate: the verdict on the passages and the confidence of the answer decide together."""

from dataclasses import replace
from typing import Any

import pytest

from robust_qa import Answer, Passage, Question
from robust_qa.kit import cite
from robust_qa.testing import OverlapEvaluator, ScriptedModel, StaticRetriever, toolbox
from rqa_rag import Rag
from rqa_sufficient import Sufficient

QUESTION = "When was the lighthouse built?"
BUILT = Passage("The lighthouse was built in 1871.", id="log")
KEEPER = Passage("The lighthouse had a keeper.", id="keeper")
READ = {"documents": [1], "answer": "1871"}


class Fixed:
    """A strategy that answers 1871 with a confidence."""

    needs = frozenset({"retrieve"})

    def __init__(self, confidence: float | None, text: str | None = "1871") -> None:
        self.given = Answer(text, confidence, reason="" if text else "Not found.")
        self.seen: list[list[str]] = []

    async def answer(self, question: str, toolbox: Any) -> Answer:
        passages = await toolbox.retrieve(question)
        self.seen.append([passage.id for passage in passages])
        return replace(self.given, citations=(cite(passages[0]),))


async def gate(passages: list[Passage], *, then: Any, reader: Any = None, names: Any = None, **options: Any) -> Answer:
    tools = toolbox(
        Question(QUESTION, passages=tuple(passages)),
        reader=reader,
        evaluator=OverlapEvaluator(),
        names={"rag": then, **(names or {})},
    )
    return await Sufficient(Sufficient.Options(**options)).answer(QUESTION, tools)


@pytest.mark.parametrize(
    ("passage", "confidence", "text", "expected"),
    [
        (BUILT, 0.6, "1871", 0.6),  # suffices
        (KEEPER, 0.6, None, 0.3),  # does not, and the answer is not sure
        (KEEPER, 1.0, "1871", 0.5),  # does not, but the answer is sure
        (BUILT, 0.4, None, 0.4),
    ],
)
async def test_verdict_and_confidence_decide_together(
    passage: Passage, confidence: float, text: str | None, expected: float
) -> None:
    answer = await gate([passage], then=Fixed(confidence))
    assert answer.text == text
    sure = answer.confidence if text else answer.best_guess and answer.best_guess.confidence
    assert sure == pytest.approx(expected)


async def test_a_language_model_judges_the_passages() -> None:
    rating = {"missing": "The year.", "sufficient": False}
    model = ScriptedModel([READ, rating], structured=True)
    answer = await gate([KEEPER], then=Rag(Rag.Options()), reader=model)
    assert answer.text is None
    assert answer.reason == "The passages do not suffice for a sure answer. The year."
    assert answer.best_guess and (answer.best_guess.text, answer.best_guess.confidence) == ("1871", None)
    prompt = model.calls[1][0][-1].content
    assert KEEPER.text in prompt and "1871" not in prompt  # the autorater sees the question and the passages only


async def test_a_rating_that_cannot_be_read_vouches_for_nothing() -> None:
    model = ScriptedModel(["Hard to say."])
    answer = await gate([KEEPER], then=Fixed(0.9), reader=model)
    assert (answer.text, answer.reason) == (None, "The model did not say whether the passages suffice.")
    assert answer.best_guess and answer.best_guess.text == "1871"


async def test_passages_that_suffice_give_no_confidence_that_nobody_measured() -> None:
    answer = await gate([BUILT], then=Fixed(None), reader=ScriptedModel([{"missing": "nothing", "sufficient": True}]))
    assert (answer.text, answer.confidence) == ("1871", None)


async def test_it_searches_on_once_and_answers_from_all_passages() -> None:
    then, web = Fixed(0.6), StaticRetriever([BUILT, KEEPER])
    answer = await gate([KEEPER], then=then, names={"web": web}, search="web@5")
    assert then.seen == [["keeper"], ["keeper", "log"]]
    assert (answer.text, answer.details["searched"]) == ("1871", True)


async def test_a_sure_answer_costs_no_search() -> None:
    web = StaticRetriever([BUILT])
    await gate([BUILT], then=Fixed(0.9), names={"web": web}, search="web@5")
    assert web.queries == []


async def test_an_abstention_stays_one_and_is_not_rated() -> None:
    answer = await gate([BUILT], then=Fixed(None, None), reader=ScriptedModel([]))
    assert (answer.text, answer.reason) == (None, "Not found.")
