"""Attacks: false versions of passages that promote a fake answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .extras import find

if TYPE_CHECKING:
    from .items import Item, Passage

POISON = "poison"


@dataclass(frozen=True, slots=True)
class Attack:
    """An attack.

    `plant(item, passages, order)` returns a version of each passage. The versions that differ are planted, at first
    those whose places come first in `order`. `fake` returns the answer that it promotes, "" if it cannot attack.
    `at_most` limits the number of planted passages.
    """

    plant: Callable[[Item, Sequence[Passage], Sequence[int]], list[Passage]]
    fake: Callable[[Item], str] = lambda item: item.fake_answer
    at_most: int | None = None


def _poison(item: Item, passages: Sequence[Passage], order: Sequence[int]) -> list[Passage]:
    """Return passages that state the fake answer, from the set or generated (PoisonedRAG, RobustRAG)."""
    own = false_passages(item)
    # Plant every text once before repeating one.
    return [own[rank % len(own)] for rank in ranks(order)]


def false_passages(item: Item) -> Sequence[Passage]:
    """Return passages that state the fake answer: those of the set, or one that is generated."""
    statement = f"To “{item.question.rstrip(' ?')}”, the correct answer is {item.fake_answer}."
    return item.pools.get("poisoned_passages") or [{"text": statement}]


def ranks(order: Sequence[int]) -> list[int]:
    """Return the rank of each place in `order`."""
    rank_of = {place: rank for rank, place in enumerate(order)}
    return [rank_of[place] for place in range(len(order))]


def attack(name: str) -> Attack:
    """Return the attack of that name. Raises MissingError if its distribution is not installed."""
    found: Attack = Attack(_poison) if name == POISON else find("attacks", name)
    return found
