"""A row of a question set: the question, its gold answers and its passages."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from robust_qa import InputError
from robust_qa.answering import portable
from robust_qa.kit import gold_facts
from rqa_rows import question_column

Passage = dict[str, Any]  # text, and optionally id, title, source and score

POOLS = ("negative_passages", "poisoned_passages", "counterfactual_passages")
_OWN = frozenset({"id", "question", "answers", "passages", "fake_answer", "relevant", *POOLS})
# Names of the gold answers, the first that a row has counts. `answer` is last: in files of ragas a model wrote it.
_GOLD = """answers ground_truths ground_truth golden_answers gold_answers possible_answers gold reference
expected_answers expected_answer expected answer""".split()


class Malformed(ValueError):
    """A row is invalid. The message gives the reason."""


@dataclass(frozen=True, slots=True)
class Item:
    """A row of a set.

    `number`: its line or entry in the file, from 1.
    `gold`: the facts of a right answer, each with its alternatives. `gold_column`: the field with them.
    `unanswerable`: the set has an empty list of answers, so the right answer is none.
    `passages`: the passages to answer from, possibly retrieved; `own_passages` are always those of the set.
    `pools`: negative, poisoned and counterfactual passages.
    `fake_source`: where `fake_answer` was drawn from, empty if the set has one.
    `relevant`: the ids of the passages or documents that answer it.
    `rest`: all other fields.
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
    own_passages: Sequence[Passage] = ()
    unanswerable: bool = False
    gold_column: str = ""


def gold_column(names: Iterable[str]) -> str:
    """Return the name that holds the gold answers, "" if there is none. Case, spaces and hyphens do not matter."""
    known = {re.sub(r"[\s-]+", "_", name.strip()).lower(): name for name in names}
    return next((known[name] for name in _GOLD if name in known), "")


def item(number: int, row: Any) -> Item:
    """Return the validated item of a row. Raises Malformed."""
    if not isinstance(row, dict):
        raise Malformed("it is not a JSON object")
    try:
        column = question_column(row)
    except InputError as error:
        raise Malformed(error.message.rstrip(".")) from error
    if not column:
        fields = " ".join(", ".join(list(row)[:8]).split())  # on one line
        raise Malformed(f"it has no `question`; its fields are {fields or 'none'}")
    if column == "user_input":  # a file of ragas
        row = {"passages": row.get("retrieved_contexts"), **row}
    given, gold = row.get("passages"), gold_column(row)
    passages = None if given is None else _passages(given, "passages")
    return Item(
        number,
        _text(row[column], column),
        "" if row.get("id") is None else str(row["id"]),
        _gold(row.get(gold), gold),
        passages,
        _text(row["fake_answer"], "fake_answer") if row.get("fake_answer") is not None else "",
        _ids(row.get("relevant"), "relevant"),
        {name: _passages(row[name], name) for name in POOLS if row.get(name) is not None},
        {name: value for name, value in row.items() if name not in (*_OWN, column, gold)},
        own_passages=passages or (),
        unanswerable=row.get(gold) == [],
        gold_column=gold,
    )


def _gold(answers: Any, name: str) -> list[list[str]]:
    if answers is None:
        return []
    if isinstance(answers, dict):  # as in TriviaQA: the answer and its aliases
        found = {key.lower(): value for key, value in answers.items()}
        aliases = found.get("aliases") or []
        answers = [found.get("value"), *(aliases if isinstance(aliases, list) else [None])]
    if isinstance(answers, str) and answers.startswith(('["', "['")):  # a list in a cell, as in PopQA
        try:
            answers = json.loads(portable(answers.encode()))
        except ValueError as error:
            raise Malformed(f"`{name}` is text that looks like a list but is not JSON") from error
    given = answers if isinstance(answers, list) else [answers]
    texts = chain.from_iterable(one if isinstance(one, list) else [one] for one in given)
    if not all(isinstance(text, str | int | float) and not isinstance(text, bool) for text in texts):
        raise Malformed(f"`{name}` must be a list of strings, or of lists of strings")
    return gold_facts(given)


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise Malformed(f"`{name}` must be a string that is not empty")
    return value.strip()


def _ids(given: Any, name: str) -> list[str]:
    if not given:
        return []
    if not isinstance(given, list) or not all(isinstance(one, str | int) for one in given):
        raise Malformed(f"`{name}` must be a list of passage ids")
    return list(map(str, given))


def _passages(given: Any, name: str) -> list[Passage]:
    if not isinstance(given, list):
        raise Malformed(f"`{name}` must be a list of strings, or of objects with `text`")
    passages = []
    for number, one in enumerate(given, start=1):
        row = {"text": one} if isinstance(one, str) else one
        if not isinstance(row, dict) or not isinstance(row.get("text"), str):
            raise Malformed(f"`{name}` must be a list of strings, or of objects with `text`; item {number} is neither")
        passages.append(passage(row))
    return passages


def passage(row: Mapping[str, Any]) -> Passage:
    """Return a passage in the form of questions.jsonl, without empty fields."""
    fields = {
        "id": _name(row.get("id")),
        "title": _name(row.get("title")),
        "source": _name(row.get("source") or row.get("url")),
        "score": _number(row.get("score")),
    }
    return {"text": row["text"], **{name: value for name, value in fields.items() if value}}


def _name(value: Any) -> str:
    return "" if value is None else str(value)


def _number(value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return 0.0
    return number if math.isfinite(number) else 0.0  # JSON has no NaN or infinity
