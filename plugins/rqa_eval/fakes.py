"""What an attack on a question wants to be answered, where its set does not say: the answer to a question like it.

A reader dismisses a fantasy for the name of a country, so that an attack with an answer of another kind says little.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

from robust_qa.kit import contains_answer, normalise

from .items import Item

Kind: TypeAlias = tuple[str, tuple[str, ...], tuple[str, ...]]  # what the answer is; how the question begins, and ends
Source: TypeAlias = Literal["alike", "other"]

# As many words tell the kind of a question, "in what country is", "what is ... s occupation"; more are of its subject.
_LEADING, _TRAILING, _FEWEST = 4, 2, 2
_ALONE = frozenset({"who", "whom", "when", "where"})  # tell it as the first word alone
_YES_OR_NO = "yes or no"


def with_fakes(items: Sequence[Item], seed: int) -> list[Item]:
    """The items, each with a fake answer: the set's own, or the gold answer of another question, drawn at random.

    It is drawn from the questions that begin and end with the same words and are answered in the same way (yes or no,
    a number, words), and from those that share most words; `fake_source` is then "alike". Where there is none it is
    drawn from all, and "other".
    """
    golds: dict[Kind, dict[str, None]] = {}
    for item in items:
        for kind in _kinds(item):
            golds.setdefault(kind, {})[item.gold[0][0]] = None
    listed = {kind: list(found) for kind, found in golds.items()}
    chance = random.Random(seed)
    return [item if item.fake_answer else _with_fake(item, listed, chance) for item in items]


def _with_fake(item: Item, golds: Mapping[Kind, Sequence[str]], chance: random.Random) -> Item:
    own = [answer for fact in item.gold for answer in fact]
    for kind in _kinds(item):
        for gold in chance.sample(golds[kind], min(len(golds[kind]), 20)):
            if not contains_answer(gold, own) and not any(contains_answer(answer, [gold]) for answer in own):
                source: Source = "alike" if kind[1] or kind[0] == _YES_OR_NO else "other"
                return replace(item, fake_answer=gold, fake_source=source)
    return item


def _kinds(item: Item) -> Iterator[Kind]:
    """What an item with a gold answer is of, from the narrowest on."""
    if not item.gold:
        return
    answers = _kind_of_answer(item.gold[0][0])
    words = tuple(re.findall(r"\w+", item.question.lower()))
    for shared in range(min(_LEADING + _TRAILING, len(words)), _FEWEST - 1, -1):
        for leading in range(_FEWEST, min(shared, _LEADING) + 1):
            if shared - leading <= _TRAILING:
                yield answers, words[:leading], words[len(words) - shared + leading :]
    if words[:1] and words[0] in _ALONE:
        yield answers, words[:1], ()
    yield answers, (), ()
    yield "", (), ()


def _kind_of_answer(gold: str) -> str:
    if normalise(gold) in ("yes", "no"):
        return _YES_OR_NO
    return "number" if re.search(r"\d", gold) else "words"
