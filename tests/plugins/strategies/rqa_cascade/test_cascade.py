"""The strategy cascade: which step answers, and what its answer says."""

from typing import Any

import pytest

from robust_qa import Answer, ConfigError, Passage, Question, Reading, Toolbox
from robust_qa.testing import toolbox
from rqa_cascade import Cascade


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


@pytest.mark.parametrize(("confidence", "expected"), [(0.2, 0.1), (0.5, 0.1), (0.7, 0.5), (0.9, 0.9), (1.0, 0.9)])
async def test_the_confidence_is_calibrated(confidence: float, expected: float) -> None:
    curve = [[0.5, 0.1], [0.9, 0.9]]
    answer = await ask({"only": Step("Ada", confidence)}, steps=["only"], calibration=[curve])
    assert answer.confidence == pytest.approx(expected)


async def test_a_step_may_have_a_reader_of_its_own() -> None:
    names = {"reads": Reads(), "small": Says("Ada"), "large": Says("Bo")}
    for bound, expected in ((0.4, "Ada"), (0.6, "Bo")):
        answer = await ask(names, steps=["reads:small", "reads:large"], bounds=[bound])
        assert answer.text == expected


async def test_a_cascade_without_steps_is_an_error() -> None:
    with pytest.raises(ConfigError, match="has no steps"):
        await ask({})


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"bounds": [0.1, 0.2]}, "has 2 `bounds` for 2 `steps`"),
        ({"calibration": [[[0.1, 0.2]]]}, "has 1 `calibration` for 2 `steps`"),
        ({"calibration": [[[0.9, 0.2], [0.1, 0.3]], [[0.5, 0.5]]]}, "not a list of points in ascending order"),
    ],
)
def test_options_that_do_not_fit_the_steps_are_refused(options: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        Cascade.Options(steps=["a", "b"], **options)
