"""Further conditions: repetitions, and passages without the answer, in other orders, or fewer of them."""

from __future__ import annotations

import random

from robust_qa import Order
from rqa_eval.conditions import REPEAT, Condition, PreparedQuestion
from rqa_eval.items import Item, Passage
from rqa_eval.relevance import contains_gold
from rqa_prompts import arrange


def repeated(number: int) -> Condition:
    """Return the condition that changes nothing but the samples of the model."""

    def edit(item: Item, passages: list[Passage], _: random.Random) -> PreparedQuestion:
        return PreparedQuestion(item, passages, [], number)

    return Condition(f"{REPEAT} {number}", edit, number)


def worst_case(_: bool) -> Condition:
    """Return the condition that keeps only passages without the answer (Astute RAG, Figure 6)."""

    def edit(item: Item, passages: list[Passage], _: random.Random) -> PreparedQuestion:
        return PreparedQuestion(item, [passage for passage in passages if not _has_answer(passage, item)])

    return Condition("worst case", edit)


def ordered(order: Order) -> Condition:
    """Return the condition that reorders the passages (Astute RAG, Table 8)."""

    def edit(item: Item, passages: list[Passage], rng: random.Random) -> PreparedQuestion:
        return PreparedQuestion(item, arrange(passages, order, rng.getrandbits(32)))

    return Condition(order, edit)


def first(number: int) -> Condition:
    """Return the condition that keeps the first passages (ActiveRAG, Section 5.3)."""

    def edit(item: Item, passages: list[Passage], _: random.Random) -> PreparedQuestion:
        return PreparedQuestion(item, passages[:number])

    return Condition(f"top {number}", edit)


def dropped(rate: float) -> Condition:
    """Return the condition that drops each passage with the answer with probability `rate` (CRAG, Figure 3)."""

    def edit(item: Item, passages: list[Passage], rng: random.Random) -> PreparedQuestion:
        draws = [rng.random() for _ in passages]
        kept = [p for p, draw in zip(passages, draws, strict=True) if draw >= rate or not _has_answer(p, item)]
        return PreparedQuestion(item, kept)

    return Condition(f"drop {rate:g}", edit)


def _has_answer(passage: Passage, item: Item) -> bool:
    return bool(contains_gold(passage, item.gold, item.relevant))
