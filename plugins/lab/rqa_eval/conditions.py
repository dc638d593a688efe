"""Conditions change the passages of a question.

Each question seeds its own random generator. Runs are therefore reproducible, and a higher rate changes a superset.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from .attacks import POISON, attack
from .extras import ATTACKS
from .items import Item, Passage

AS_GIVEN = "as given"
REPEAT = "repeat"


@dataclass(frozen=True, slots=True)
class PreparedQuestion:
    """A question under a condition: its passages (None without any), and the positions of the planted ones.

    `repetition` is the number of a repetition, from 1, or 0. `attack` is the attack that planted them.
    """

    item: Item
    passages: list[Passage] | None
    planted: list[int] = field(default_factory=list)
    repetition: int = 0
    attack: str = ""


Edit: TypeAlias = Callable[[Item, list[Passage], random.Random], PreparedQuestion]


@dataclass(frozen=True, slots=True)
class Condition:
    """A named change of the passages."""

    name: str
    edit: Edit
    repetition: int = 0

    def apply(self, item: Item, *, seed: str) -> PreparedQuestion:
        """Return the question under this condition. Questions without passages do not change."""
        if item.passages is None:
            return PreparedQuestion(item, None, [], self.repetition)
        return self.edit(item, item.passages, random.Random(seed))


def untouched() -> Condition:
    """Return the condition that changes nothing."""
    return Condition(AS_GIVEN, lambda item, passages, _: PreparedQuestion(item, passages))


def attacked(name: str, rate: float) -> Condition:
    """Return the condition that replaces a share of the passages, rounded up, by versions of that attack."""
    planting = attack(name)

    def edit(item: Item, passages: list[Passage], rng: random.Random) -> PreparedQuestion:
        if (fake := planting.fake(item)) != item.fake_answer:
            item = replace(item, fake_answer=fake, fake_source="")
        if not item.fake_answer:
            return PreparedQuestion(item, passages)
        order = list(range(len(passages)))
        rng.shuffle(order)
        versions = planting.plant(item, passages, order)
        places = [place for place in order if versions[place] != passages[place]]
        count = math.ceil(rate * len(versions) - 1e-9)
        chosen = sorted(places[: count if planting.at_most is None else min(count, planting.at_most)])
        return PreparedQuestion(
            item, [versions[n] if n in chosen else passage for n, passage in enumerate(passages)], chosen, attack=name
        )

    return Condition(f"{name} {rate:g}", edit)


def all_attacks(rates: Sequence[float]) -> list[Condition]:
    """Return the untouched passages, and every attack at every rate."""
    found = [untouched()]
    for name in (POISON, *ATTACKS):
        found += [attacked(name, rate) for rate in (rates if attack(name).at_most is None else rates[-1:])]
    return found
