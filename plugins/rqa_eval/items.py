"""A question of an evaluation as its set has it: the question, the gold answers, and the passages that come with it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from robust_qa.batch import portable
from robust_qa.kit import gold_facts

Passage = dict[str, Any]  # as `passage` gives it: text, and perhaps id, title, source and score

POOLS = ("negative_passages", "poisoned_passages", "counterfactual_passages")
_OWN = frozenset({"id", "question", "answers", "passages", "fake_answer", "relevant", *POOLS})


class Malformed(ValueError):
    """What is wrong with a row, for people."""


@dataclass(frozen=True, slots=True)
class Item:
    """A row of a set.

    `number` is its line or entry in the file, from 1. `gold` are the facts of a right answer, each with its
    alternatives; none where the set has none. `pools` are the further passages that it brings, by field.
    `fake_source` says from which questions `fake_answer` was drawn, and is empty where the set brings one.
    `relevant` are the ids of the passages or documents that answer it, where the set says so. `rest` are its other
    fields. `brought` are the passages as the set has them, where `passages` are what was retrieved.
    """

    number: int
    question: str
    id: str = ""
    gold: list[list[str]] = field(default_factory=list)
    passages: list[Passage] | None = None
    fake_answer: str = ""
    relevant: list[str] = field(default_factory=list)
    pools: Mapping[str, list[Passage]] = field(default_factory=dict)
    rest: Mapping[str, Any] = field(default_factory=dict)
    fake_source: str = ""
    brought: Sequence[Passage] = ()


def item(number: int, row: Any) -> Item:
    """The row in rqa's own form. Malformed says what does not fit."""
    if not isinstance(row, dict):
        raise Malformed("it is no JSON object")
    if "question" not in row:
        fields = " ".join(", ".join(list(row)[:8]).split())  # in one line, whatever they are called
        raise Malformed(f"it has no `question`; its fields are {fields or 'none'}")
    given = row.get("passages")
    passages = None if given is None else _passages(given, "passages")
    return Item(
        number,
        _text(row["question"], "question"),
        "" if row.get("id") is None else str(row["id"]),
        _gold(row.get("answers")),
        passages,
        _text(row["fake_answer"], "fake_answer") if row.get("fake_answer") is not None else "",
        _ids(row.get("relevant"), "relevant"),
        {name: _passages(row[name], name) for name in POOLS if row.get(name) is not None},
        {name: value for name, value in row.items() if name not in _OWN},
        brought=passages or (),
    )


def _gold(answers: Any) -> list[list[str]]:
    if answers is None:
        return []
    if isinstance(answers, str) and answers.startswith(('["', "['")):  # a list in a cell, as PopQA has it
        try:
            answers = json.loads(portable(answers.encode()))
        except (ValueError, RecursionError) as error:
            raise Malformed("`answers` is a list that is written as text, and not in JSON") from error
    given = answers if isinstance(answers, list) else [answers]
    texts = chain.from_iterable(one if isinstance(one, list) else [one] for one in given)
    if not all(isinstance(text, str | int | float) and not isinstance(text, bool) for text in texts):
        raise Malformed("`answers` must be a list of texts, or of lists of texts")
    return gold_facts(given)


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise Malformed(f"`{name}` must be text, and not empty")
    return value.strip()


def _ids(given: Any, name: str) -> list[str]:
    if not given:
        return []
    if not isinstance(given, list) or not all(isinstance(one, str | int) for one in given):
        raise Malformed(f"`{name}` must be a list of ids of passages")
    return list(map(str, given))


def _passages(given: Any, name: str) -> list[Passage]:
    if not isinstance(given, list):
        raise Malformed(f"`{name}` must be a list of texts, or of objects with `text`")
    passages = []
    for place, one in enumerate(given, start=1):
        made = {"text": one} if isinstance(one, str) else one
        if not isinstance(made, dict) or not isinstance(made.get("text"), str):
            raise Malformed(f"`{name}` must be a list of texts, or of objects with `text`; number {place} is neither")
        passages.append(passage(made))
    return passages


def passage(brought: Mapping[str, Any]) -> Passage:
    """A passage as rows bring it, in the one form that is written and read again; what says nothing is left out."""
    source = brought.get("source") or brought.get("url")
    fields = {"id": _name(brought.get("id")), "title": _name(brought.get("title")), "source": _name(source)}
    return {
        "text": brought["text"],
        **{name: value for name, value in (fields | {"score": _number(brought.get("score"))}).items() if value},
    }


def _name(value: Any) -> str:
    return "" if value is None else str(value)


def _number(value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return 0.0
    return number if math.isfinite(number) else 0.0  # JSON has no others
