"""Fake answers for attacks on sets without their own: gold answers of similar questions.

Readers easily dismiss a fake answer of another kind, such as a film title where a country is asked for.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

from robust_qa.kit import contains_answer, normalise

from .items import Item

Kind: TypeAlias = tuple[str, tuple[str, ...], tuple[str, ...]]  # kind of the answer, first words, last words
Source: TypeAlias = Literal["alike", "other"]

# Number of first and last words that show the kind of a question: "in what country is", "what is ... s occupation".
_LEADING, _TRAILING, _FEWEST = 4, 2, 2
_QUESTION_WORDS = frozenset({"who", "whom", "when", "where"})  # enough as the first word
_YES_OR_NO = "yes or no"


def with_fakes(items: Sequence[Item], seed: int) -> list[Item]:
    """Return the items, each with a fake answer: the set's own or a random gold answer of another question.

    The other question begins and ends with the same words, as many as possible, and has the same kind of answer (yes
    or no, a number, words): `fake_source` is "alike". Without such a question any other is used: "other".
    """
    golds: dict[Kind, dict[str, None]] = {}
    for item in items:
        for kind in _kinds(item):
            golds.setdefault(kind, {})[item.gold[0][0]] = None
    by_kind = {kind: list(found) for kind, found in golds.items()}
    rng = random.Random(seed)
    return [item if item.fake_answer else _with_fake(item, by_kind, rng) for item in items]


def _with_fake(item: Item, golds: Mapping[Kind, Sequence[str]], rng: random.Random) -> Item:
    own = [answer for fact in item.gold for answer in fact]
    for kind in _kinds(item):
        for gold in rng.sample(golds[kind], min(len(golds[kind]), 20)):
            if not contains_answer(gold, own) and not any(contains_answer(answer, [gold]) for answer in own):
                source: Source = "alike" if kind[1] or kind[0] == _YES_OR_NO else "other"
                return replace(item, fake_answer=gold, fake_source=source)
    return item


def _kinds(item: Item) -> Iterator[Kind]:
    """Yield the kinds of an item with a gold answer, the narrowest first."""
    if not item.gold:
        return
    answers = _kind_of_answer(item.gold[0][0])
    words = tuple(re.findall(r"\w+", item.question.lower()))
    for shared in range(min(_LEADING + _TRAILING, len(words)), _FEWEST - 1, -1):
        for leading in range(_FEWEST, min(shared, _LEADING) + 1):
            if shared - leading <= _TRAILING:
                yield answers, words[:leading], words[len(words) - shared + leading :]
    if words[:1] and words[0] in _QUESTION_WORDS:
        yield answers, words[:1], ()
    yield answers, (), ()
    yield "", (), ()


def _kind_of_answer(gold: str) -> str:
    if normalise(gold) in ("yes", "no"):
        return _YES_OR_NO
    return "number" if re.search(r"\d", gold) else "words"
