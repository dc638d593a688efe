"""Results of components are validated, and errors name the component."""

import errno
from collections.abc import Sequence
from typing import Any

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


def test_a_reading_of_an_unknown_passage_is_described() -> None:
    told = "a Reading that points at passage 3 of 3, counted from 0"
    for reading in (Reading("x", passages=(0, 3)), Reading("x", rivals=(Reading("y", passages=(3,)),))):
        assert problem(reading, Reading, ("question", [Passage("x")] * 3)) == told


def test_lone_surrogates_are_replaced() -> None:
    given = Answer("x\ud800y", citations=(Citation("é\udfff"),), details={"\ud800": ["\ud800"]})
    whole = Answer("x\ufffdy", citations=(Citation("é\ufffd"),), details={"\ufffd": ["\ufffd"]})
    assert validated(given, Answer) == (whole, "")


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
def test_numbers_out_of_range_are_described(result: Any, promised: Any, told: str) -> None:
    assert problem(result, promised, ("q", [Passage("x")])) == told


def test_a_full_disk_is_not_blamed_on_the_plugin() -> None:
    with pytest.raises(RqaError) as caught, attributed("retriever.notes"):
        raise OSError(errno.ENOSPC, "No space left on device", "/data/notes")
    assert caught.value.message == "retriever.notes cannot write: No space left on device (/data/notes)."
    assert caught.value.hint.startswith("The disk is full.")
