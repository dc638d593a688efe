"""What a configured evaluator says of many texts: its scores, or vectors of single words."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from robust_qa.cli import Answering
from robust_qa.cli.batch_run import in_session

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from robust_qa import Toolbox
    from robust_qa.cli import Run

T = TypeVar("T")

_AT_ONCE = 512  # questions scored at once


def scores(
    run: Run,
    name: str | None,
    requests: Sequence[tuple[str, list[str]]],
    told: Callable[[int], None] = lambda done: None,
) -> list[list[float]]:
    """The configured evaluator's scores; all requests meet in its queue, as those of a batch do."""

    async def ask(toolbox: Toolbox) -> list[list[float]]:
        found: list[list[float]] = []
        for at in range(0, len(requests), _AT_ONCE):
            found += await asyncio.gather(*(toolbox.score(*request) for request in requests[at : at + _AT_ONCE]))
            told(len(found))
        return found

    return _asked(run, name, ask)


def word_vectors(run: Run, name: str, words: Sequence[str]) -> NDArray[np.floating]:
    """A vector of each of `words`, (words, width): the mean of its tokens', by the configured evaluator `name`.

    Raises ConfigError where that one has no vectors.
    """
    import numpy as np

    async def ask(toolbox: Toolbox) -> NDArray[np.floating]:
        return np.stack([tokens.mean(0) for tokens in await toolbox.token_vectors(words)])

    return _asked(run, name, ask)


def _asked(run: Run, name: str | None, ask: Callable[[Toolbox], Awaitable[T]]) -> T:
    answering = Answering(option=(("defaults.evaluator", name),) if name else ())
    return in_session(run, answering, lambda session: ask(session.toolbox("reader", "evaluator")), detailed=False)
