"""What a configured evaluator says of many texts: its scores, or vectors of single words."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    import numpy as np
    from numpy.typing import NDArray

    from robust_qa import Run, Toolbox

_AT_ONCE = 512  # questions scored at once


def scores(
    run: Run,
    name: str | None,
    requests: Sequence[tuple[str, list[str]]],
    told: Callable[[int], None] = lambda done: None,
) -> list[list[float]]:
    """The configured evaluator's scores; all requests meet in its queue, as those of a batch do."""

    async def ask() -> list[list[float]]:
        found: list[list[float]] = []
        async with _toolbox(run, name) as toolbox:
            for at in range(0, len(requests), _AT_ONCE):
                calls = [toolbox.score(question, texts) for question, texts in requests[at : at + _AT_ONCE]]
                found += await asyncio.gather(*calls)
                told(len(found))
        return found

    return asyncio.run(ask())


def word_vectors(run: Run, name: str, words: Sequence[str]) -> NDArray[np.floating]:
    """A vector of each of `words`, (words, width): the mean of its tokens', by the configured evaluator `name`.

    Raises ConfigError where that one has no vectors.
    """
    import numpy as np

    async def ask() -> NDArray[np.floating]:
        async with _toolbox(run, name) as toolbox:
            return np.stack([tokens.mean(0) for tokens in await toolbox.token_vectors(words)])

    return asyncio.run(ask())


def _toolbox(run: Run, name: str | None) -> AbstractAsyncContextManager[Toolbox]:
    return run.toolbox("reader", "evaluator", overrides=[("defaults.evaluator", name)] if name else [])
