"""The strategy cascade: which step answers, and what its answer says."""

from typing import Any

import pytest

from robust_qa import Answer, Passage, Question, Reading, Toolbox
from robust_qa.testing import ScriptedModel, toolbox
from rqa_cascade import Cascade
from rqa_corroborate import Corroborate
from rqa_embedded import EmbeddedEvaluator, EmbeddedReader
from rqa_rag import Rag

READER = EmbeddedReader(EmbeddedReader.Options(threads=1))
JUDGE = EmbeddedEvaluator(EmbeddedEvaluator.Options(threads=1))


class Step:
    """A strategy that reads, and gives this confidence. It counts its questions."""

    needs = frozenset({"retrieve", "read"})

    def __init__(self, text: str | None, confidence: float | None) -> None:
        self.text, self.confidence, self.asked = text, confidence, 0

    async def answer(self, question: str, tools: Toolbox) -> Answer:
        self.asked += 1
        return Answer(self.text, self.confidence, details={"passages": len(await tools.retrieve())})


class Says:
    """A reader that always gives the same answer."""

    def __init__(self, text: str) -> None:
        self.text = text

    def read(self, question: str, passages: list[Passage]) -> Reading:
        return Reading(self.text, 0.5, (0,))


class Reads:
    """A strategy that gives the reader's answer."""

    needs = frozenset({"retrieve", "read"})

    async def answer(self, question: str, tools: Toolbox) -> Answer:
        reading = await tools.read(question, await tools.retrieve())
        return Answer(reading.text, reading.score)


QUESTION = Question("Who?", passages=(Passage("Ada did."), Passage("Bo did.")))


async def ask(names: dict[str, Any], **options: Any) -> Answer:
    strategy = Cascade(Cascade.Options(**options))
    return await strategy.answer("Who?", toolbox(QUESTION, names=names))


async def test_a_sure_step_answers_and_no_other_is_asked() -> None:
    cheap, dear = Step("Ada", 0.8), Step("Bo", 0.9)
    answer = await ask({"cheap": cheap, "dear": dear}, steps=["cheap", "dear"], bounds=[0.8])
    assert (answer.text, answer.confidence, dear.asked) == ("Ada", 0.8, 0)
    assert answer.details["step"] == "cheap"
    assert answer.reason == "Step 1 of 2, cheap."


@pytest.mark.parametrize(("text", "confidence"), [("Ada", 0.79), ("Ada", 0.1), (None, None)])
async def test_a_step_below_its_bound_or_without_an_answer_hands_on(text: Any, confidence: float | None) -> None:
    answer = await ask(
        {"cheap": Step(text, confidence), "dear": Step("Bo", 0.2)}, steps=["cheap", "dear"], bounds=[0.8]
    )
    assert (answer.text, answer.details["step"]) == ("Bo", "dear")
    assert [one["answer"] for one in answer.details["asked"]] == [text, "Bo"]
    assert answer.details["details"] == {"passages": 2}


async def test_a_step_without_a_confidence_counts_as_sure() -> None:
    answer = await ask({"cheap": Step("Ada", None), "dear": Step("Bo", 1.0)}, steps=["cheap", "dear"])
    assert (answer.text, answer.confidence) == ("Ada", 1.0)


async def test_a_step_may_have_a_reader_of_its_own() -> None:
    names = {"reads": Reads(), "small": Says("Ada"), "large": Says("Bo")}
    for bound, expected in ((0.4, "Ada"), (0.6, "Bo")):
        answer = await ask(names, steps=["reads:small", "reads:large"], bounds=[bound])
        assert answer.text == expected


# -- without steps: the packaged reader, then the language model

LIGHT = "The lighthouse at Skerry Point was built in 1871 by the engineer Ingrid Valdane."
LOG = "Since it was built in 1871, the lighthouse at Skerry Point has had nine keepers."
BROCHURE = "The lighthouse at Skerry Point was built in 1817."
FERRY = "A single crossing costs 4.20 and takes twenty-five minutes."
BUILT = "When was the lighthouse at Skerry Point built?"


async def ask_model(question: str, reply: str, *texts: str) -> tuple[Answer, int]:
    """The answer, and how often the model was asked."""
    passages = tuple(Passage(text, source=f"{number}.md") for number, text in enumerate(texts, start=1))
    model = ScriptedModel(f"Documents: none\nAnswer: {reply}")
    names = {"corroborate": Corroborate(Corroborate.Options()), "rag": Rag(Rag.Options()), "embedded": READER}
    tools = toolbox(Question(question, passages=passages), reader=model, evaluator=JUDGE, names=names)
    return await Cascade(Cascade.Options()).answer(question, tools), len(model.calls)


async def test_what_the_reader_is_sure_of_needs_no_model() -> None:
    answer, calls = await ask_model("Who was the engineer of the lighthouse?", "Tom Harrow", LIGHT, FERRY)
    assert (answer.text, calls) == ("Ingrid Valdane", 0)
    assert answer.reason == "Sure without the language model."


async def test_the_model_is_asked_once_about_the_rest_and_its_answer_is_checked() -> None:
    answer, calls = await ask_model("What colour is the ferry?", "orange", LIGHT, FERRY)
    assert (answer.text, answer.standing, calls) == ("orange", "not in the documents", 1)


async def test_in_a_dispute_the_model_is_no_further_source() -> None:
    answer, calls = await ask_model(BUILT, "1817", LIGHT, LOG, BROCHURE)
    assert calls == 1 and answer.best_guess is not None and answer.best_guess.text == "1871"
    assert [side.text for side in answer.conflicts] == ["1871", "1817"]
    assert answer.reason.endswith("The language model says “1817”.")


async def test_a_model_that_agrees_with_the_likelier_side_makes_it_the_answer() -> None:
    answer, _ = await ask_model(BUILT, "in 1871", LIGHT, LOG, BROCHURE)
    assert (answer.text, answer.standing) == ("in 1871", "disputed")
    assert [(side.text, side.chosen) for side in answer.conflicts] == [("1871", True), ("1817", False)]
    assert {cited.source for cited in answer.citations} == {"1.md", "2.md"}


async def test_a_model_that_declines_leaves_what_the_reader_found() -> None:
    answer, _ = await ask_model(BUILT, "UNKNOWN", LIGHT, LOG, BROCHURE)
    assert answer.best_guess is not None and answer.best_guess.text == "1871"


def test_bounds_that_do_not_fit_the_steps_are_refused() -> None:
    with pytest.raises(ValueError, match="has 2 `bounds` for 2 `steps`"):
        Cascade.Options(steps=["a", "b"], bounds=[0.1, 0.2])
