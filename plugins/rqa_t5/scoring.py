"""The scores that a configured evaluator gives many texts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

_AT_ONCE = 512  # questions scored at once


def scores(
    run: Any,
    name: str | None,
    requests: Sequence[tuple[str, list[str]]],
    told: Callable[[int], None] = lambda done: None,
) -> list[list[float]]:
    """The configured evaluator's scores; all requests meet in its queue, as those of a batch do."""

    async def ask() -> list[list[float]]:
        found: list[list[float]] = []
        async with run.toolbox(
            "reader", "evaluator", overrides=[("defaults.evaluator", name)] if name else []
        ) as toolbox:
            for at in range(0, len(requests), _AT_ONCE):
                calls = [toolbox.score(question, texts) for question, texts in requests[at : at + _AT_ONCE]]
                found += await asyncio.gather(*calls)
                told(len(found))
        return found

    return asyncio.run(ask())
