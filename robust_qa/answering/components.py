"""The components that a question may call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from ..calls.pipeline import Pipeline
from ..errors import ConfigError
from ..expressions import Tree
from ..kit.prompts import load_prompts
from ..prompt import Prompt
from ..types import Passage, Power

EXPRESSION_PROMPTS = Path(__file__).parents[1] / "prompts" / "expressions"


def _unknown(name: str) -> NoReturn:
    raise ConfigError(f"There is nothing named {name!r}.")


@dataclass(frozen=True, slots=True)
class Names:
    """Components by name: retrievers, readers, strategies that correct passages, all strategies, evaluators.

    Also retriever expressions and their prompts.

    The functions raise ConfigError or MissingError if there is no such component.
    """

    retriever: Callable[[str], Pipeline] = _unknown
    reader: Callable[[str], Pipeline] = _unknown
    corrector: Callable[[str], Any] = _unknown
    strategy: Callable[[str], Any] = _unknown
    evaluator: Callable[[str], Pipeline] = _unknown
    expressions: Mapping[str, Tree] = field(default_factory=dict)
    prompts: Mapping[str, Prompt] = field(default_factory=lambda: load_prompts(EXPRESSION_PROMPTS))


@dataclass(frozen=True, slots=True)
class Components:
    """The reader, the evaluator, and all others by name.

    `get_evaluator`: returns the evaluator, which is built only if a question needs it.
    `k`: the number of passages to retrieve.
    `given_k`: how many of a question's own passages to use (None: all).
    `expression`: the retriever expression to use by default (None: the question's own passages).
    `asked_for`: the command line named the retriever, with -r or --docs.
    `trust`: returns the weight of a passage's source.
    `within`: the strategies and evaluators that are working on this question, and may not be called again.
    """

    reader: Pipeline | None = None
    get_evaluator: Callable[[], Pipeline | None] = lambda: None
    k: int = 10
    given_k: int | None = None
    expression: Tree | None = None
    asked_for: bool = False
    names: Names = field(default_factory=Names)
    trust: Callable[[Passage], float] = lambda passage: 1.0
    within: frozenset[str] = frozenset()

    @property
    def evaluator(self) -> Pipeline | None:
        """The evaluator. Raises the error of building it."""
        return self.get_evaluator()

    def with_reader(self, reader: Pipeline) -> Components:
        """The same components with another reader."""
        return replace(self, reader=reader)

    def can(self, power: Power) -> bool:
        """Whether the reader or the evaluator has that power. False for "retrieve"."""
        if power == "score":
            return self.evaluator is not None
        if power == "retrieve" or self.reader is None:
            return False
        return power == "read" or hasattr(self.reader.component, power)  # a model reads with the host's prompt


def split_reader(name: str) -> tuple[str, str | None]:
    """Return the strategy and the reader of a name such as "rag:small". None: the reader of the question."""
    strategy, _, reader = name.partition(":")
    return strategy, reader or None


class Plan(NamedTuple):
    """How to answer a question: the strategy, its name and the components that it may call."""

    name: str
    strategy: Any
    components: Components
