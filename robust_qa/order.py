"""The orders in which passages can be laid out in a prompt (Astute RAG, Appendix F, Table 8)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Literal, TypeVar, get_args

T = TypeVar("T")

Order = Literal["descending", "ascending", "random", "ping-pong-top", "ping-pong-bottom"]
ORDERS: tuple[Order, ...] = get_args(Order)


def arrange(ranked: Sequence[T], order: Order, seed: int | str = 0) -> list[T]:
    """`ranked` (most relevant first) in the given order.

    "descending" keeps it, "ascending" reverses it, "random" shuffles it by `seed`. The ping-pong orders put
    the most relevant at both ends and the least in the middle, dealing alternately from the top:
    "ping-pong-top" gives the best to the top (1 3 5 4 2), "ping-pong-bottom" to the bottom (2 4 5 3 1).
    """
    if order == "descending":
        return list(ranked)
    if order == "ascending":
        return list(reversed(ranked))
    if order == "random":
        return random.Random(seed).sample(list(ranked), len(ranked))
    first, second = list(ranked[0::2]), list(ranked[1::2])
    return first + second[::-1] if order == "ping-pong-top" else second + first[::-1]
