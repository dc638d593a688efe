"""Results of components are validated, and errors name the component."""

import errno
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from robust_qa import Answer, Citation, Completion, Passage, Position, Reading, RqaError, Usage
from robust_qa.calls.contract import attributed, validated


def problem(result: Any, promised: Any, arguments: Sequence[Any] = ()) -> str:
    return validated(result, promised, arguments)[1]


def nothing() -> Any:
    yield from ()


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (None, "None, not a list"),
        ("text", "a str, not a list"),
        (nothing(), "a generator, not a list"),
        (["text"], "a list with a str, not a Passage"),
        ([{"text": "x"}], "a list with a dict, not a Passage"),
        ([Passage("x"), None], "a list with None, not a Passage"),
        ([Passage(None)], "a list with a Passage that is not valid: Expected `str`, got `null` - at `$.text`"),  # type: ignore[arg-type]
        (
            [Passage("x", id=1)],
            "a list with a Passage that is not valid: Expected `str`, got `int` - at `$.id`",
        ),  # type: ignore[arg-type]
    ],
)
def test_invalid_passages_are_described(result: Any, told: str) -> None:
    assert problem(result, list[Passage], ("query", 3)) == told


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (["0.5"], "a list with a str, not a float"),
        ([0.5, 0.5], "2 scores for 1 texts"),
        ([float("nan")], "a list with a score of nan, not one from -1 to 1"),
        ([float("inf")], "a list with a score of inf, not one from -1 to 1"),
        ([7], "a list with a score of 7, not one from -1 to 1"),
    ],
)
def test_invalid_scores_are_described(result: Any, told: str) -> None:
    assert problem(result, list[float], ("question", ["text"])) == told


def test_a_reading_of_a_passage_that_was_not_there_is_told() -> None:
    told = "a Reading that points at passage 3 of 3, counted from 0"
    for reading in (Reading("x", passages=(0, 3)), Reading("x", rivals=(Reading("y", passages=(3,)),))):
        assert problem(reading, Reading, ("question", [Passage("x")] * 3)) == told


@pytest.mark.parametrize("text", [b"x", bytearray(b"x"), memoryview(b"x"), date(1911, 1, 1), Decimal(1), UUID(int=1)])
@pytest.mark.parametrize("kind", [Completion, Reading, Answer, Passage])
def test_what_could_only_be_written_as_text_is_none(kind: Any, text: Any) -> None:
    told = problem(kind(text), kind, ("question", ["text"]))
    assert f"{kind.__name__} that is not valid: Expected `str" in told and told.endswith("at `$.text`")


def test_what_is_passed_on_is_what_was_promised() -> None:
    given: Any = Answer("x", confidence=1, citations=({"quote": "a"},), conflicts=[{"text": "b", "confidence": 1}])  # type: ignore[arg-type]
    answer, wrong = validated(given, Answer)
    assert (answer, wrong) == (Answer("x", 1.0, (Citation("a"),), (Position("b", 1.0),)), "")
    assert (type(answer.confidence), type(answer.conflicts[0].confidence)) == (float, float)


class Text(str):
    """As parsers give it: what is found in a document, and knows its place there."""


def test_what_is_a_kind_of_number_or_text_is_taken_for_it() -> None:
    found, wrong = validated([Passage(Text("x"), score=np.float64(0.5))], list[Passage])
    assert (found, wrong, type(found[0].text), type(found[0].score)) == ([Passage("x", score=0.5)], "", str, float)
    scores, wrong = validated(list(np.linspace(0, 1, 2)), list[float], ("question", ["a", "b"]))
    assert (scores, wrong, {*map(type, scores)}) == ([0.0, 1.0], "", {float})
    answer, wrong = validated(Answer("x", np.float64(0.3), details={"by": np.float64(0.3)}), Answer)
    assert (answer, wrong, type(answer.details["by"])) == (Answer("x", 0.3, details={"by": 0.3}), "", float)


def test_a_number_of_another_kind_is_named() -> None:
    assert problem([Passage("x", score=np.float32(0.5))], list[Passage]) == (  # type: ignore[arg-type]
        "a list with a Passage that is not valid: it holds a float32"
    )


def test_lone_surrogates_are_replaced() -> None:
    given = Answer("x\ud800y", citations=(Citation("é\udfff"),), details={"\ud800": ["\ud800"]})
    whole = Answer("x\ufffdy", citations=(Citation("é\ufffd"),), details={"\ufffd": ["\ufffd"]})
    assert validated(given, Answer) == (whole, "")


def test_an_answer_whose_details_are_no_json_is_told() -> None:
    assert "not valid" in problem(Answer("x", details={"engine": object()}), Answer)


@pytest.mark.parametrize(
    ("result", "promised"),
    [
        ([], list[Passage]),
        ([Passage("x", score=2)], list[Passage]),
        ([1, 0.5], list[float]),
        (Completion("\ud800"), Completion),
        (Reading(None), Reading),
        (Reading("x", 0.5, (1, 0)), Reading),
        (Answer("x", details={"n": [1, None, {"a": 0.5}]}), Answer),
    ],
)
def test_what_is_promised_fits(result: Any, promised: Any) -> None:
    assert problem(result, promised, ("question", ["a", "b"])) == ""


@pytest.mark.parametrize(
    ("result", "promised", "told"),
    [
        (Reading("x", score=7.0), Reading, "a confidence of 7, not one from 0 to 1"),
        (Reading("x", score=float("nan")), Reading, "a confidence of nan, not one from 0 to 1"),
        (Reading(None, score=0.4), Reading, "a confidence without an answer"),
        (Answer(None, confidence=0.4), Answer, "a confidence without an answer"),
        (Answer("x", confidence=-0.5), Answer, "a confidence of -0.5, not one from 0 to 1"),
        (
            Answer("x", conflicts=(Position("y", confidence=2.0),)),
            Answer,
            "a confidence of 2, not one from 0 to 1",
        ),
        (
            Completion("x", Usage(calls=1, prompt_tokens=-10)),
            Completion,
            "a negative usage: Usage(calls=1, prompt_tokens=-10, completion_tokens=0, cached=0, batched=0)",
        ),
        ([Passage("x", score=float("nan"))], list[Passage], "a list with a passage with a score of nan"),
    ],
)
def test_numbers_out_of_their_range_are_told(result: Any, promised: Any, told: str) -> None:
    assert problem(result, promised, ("q", [Passage("x")])) == told


def test_a_sum_of_floats_may_end_beside_its_bound() -> None:
    assert not problem([1.0000001], list[float], ("q", ["x"]))


def test_a_full_disk_is_no_fault_of_the_plugin() -> None:
    with pytest.raises(RqaError) as caught, attributed("retriever.notes"):
        raise OSError(errno.ENOSPC, "No space left on device", "/data/notes")
    assert caught.value.message == "retriever.notes cannot write: No space left on device (/data/notes)."
    assert caught.value.hint.startswith("The disk is full.")
