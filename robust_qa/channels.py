"""What a question may call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .calls import Channel
from .expressions import Tree
from .pool import Names
from .types import Power


@dataclass(frozen=True, slots=True)
class Channels:
    """The reader, the evaluator, and by its name whatever retrieves.

    The evaluator is what `judge` gives: many a question is answered without it, and it need not be built for those.
    `expression` is what is retrieved by default; None: the passages that the question brings. `asked_for` is
    whether this run names it, with -r or --docs. `k` is how many are retrieved by default, `given_k` how many of a
    question's own are used (all). `within` are the strategies that were handed passages and the evaluators that ask
    on, one within the other.
    """

    reader: Channel | None = None
    judge: Callable[[], Channel | None] = lambda: None
    k: int = 10
    given_k: int | None = None
    expression: Tree | None = None
    asked_for: bool = False
    names: Names = field(default_factory=Names)
    within: frozenset[str] = frozenset()

    @property
    def evaluator(self) -> Channel | None:
        """The evaluator. Raises what keeps it from being built."""
        return self.judge()

    def can(self, power: Power) -> bool:
        """Whether the reader, or the evaluator, has that power; what retrieves is another matter."""
        if power == "score":
            return self.evaluator is not None
        if power == "retrieve" or self.reader is None:
            return False
        return power == "read" or hasattr(self.reader.component, power)  # a model reads with the host's prompt


class Plan(NamedTuple):
    """How questions are answered: the strategy's name, the strategy, and what it may call."""

    name: str
    strategy: Any
    channels: Channels
