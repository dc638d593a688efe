"""What a question may call."""

from __future__ import annotations

from dataclasses import dataclass, field

from .calls import Channel
from .expressions import Tree
from .pool import Names
from .types import Power


@dataclass(frozen=True, slots=True)
class Channels:
    """The reader, the evaluator, and by its name whatever retrieves.

    `expression` is what is retrieved by default; None: the passages that the question brings. `asked_for` is
    whether this run names it, with -r or --docs. `k` is how many are retrieved by default, `given_k` how many of a
    question's own are used (all). `within` are the strategies that were handed passages, one within the other.
    """

    reader: Channel | None = None
    evaluator: Channel | None = None
    k: int = 10
    given_k: int | None = None
    expression: Tree | None = None
    asked_for: bool = False
    names: Names = field(default_factory=Names)
    within: frozenset[str] = frozenset()

    @property
    def powers(self) -> frozenset[Power]:
        """What the reader and the evaluator can do."""
        powers: set[Power] = set()
        if self.reader:
            powers.add("read")  # a language model reads with the host's prompt
            if hasattr(self.reader.component, "generate"):
                powers.add("generate")
            if hasattr(self.reader.component, "continue_text"):
                powers.add("continue_text")
        if self.evaluator:
            powers.add("score")
        return frozenset(powers)
