"""The host's toolbox with a test's components, without configuration, cache or retries."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from robust_qa import Answer, ConfigError, EmbedderHandle, Passage, Question
from robust_qa.answering import (
    Components,
    Config,
    ExpressionPool,
    Handle,
    Host,
    Kind,
    Limits,
    Pipeline,
    SessionToolbox,
    Source,
    answer_of,
    split_reader,
)


def toolbox(
    question: str | Question,
    *,
    retriever: Any = None,
    reader: Any = None,
    evaluator: Any = None,
    k: int = 10,
    names: Mapping[str, Any] | None = None,
    trust: Callable[[Passage], float] = lambda passage: 1.0,
) -> SessionToolbox:
    """A real toolbox for one question. Its `trace.steps` has the calls and the strategy's notes.

    `names`: further components by name, for retriever expressions, `answer_with` (strategies and readers) and
    `score(..., evaluator=NAME)`.
    `trust`: returns the weight of a passage's source.
    Pass a Question to give it passages. Failed calls are not retried.
    """
    question = question if isinstance(question, Question) else Question(question)
    own = {"retriever": retriever, "reader": reader, "evaluator": evaluator}
    components = _Given(own, {} if names is None else names, trust)
    return SessionToolbox(
        question,
        components,
        pool=ExpressionPool,
        reader=components.default("reader"),
        get_evaluator=lambda: components.default("evaluator"),
        k=k,
        expression=Source("test") if retriever and question.passages is None else None,
    )


@cache
def _checkers() -> Host:
    return Host(only=["checker"])  # the components are those of the test


class _Given(Components):
    """The components that a test gives, the default ones under the name "test"."""

    _POWERS: Mapping[str, tuple[str, ...]] = {
        "retriever": ("retrieve",),
        "reader": ("read", "generate"),
        "evaluator": ("score",),
        "strategy": ("answer",),
        "corrector": ("correct",),
    }

    def __init__(self, own: Mapping[str, Any], named: Mapping[str, Any], trust: Callable[[Passage], float]) -> None:
        super().__init__(Config([]), _checkers())
        self._own = own
        self._named = named  # an empty defaultdict has every name
        self._weight = trust

    def trust(self, passage: Passage) -> float:
        """The weight of the passage's source."""
        return self._weight(passage)

    def pipeline(self, kind: Kind, name: str) -> Pipeline:
        """The call pipeline of that component, without retries."""
        if (kind, name) not in self._pipelines:
            component = self._find(kind, name)
            fingerprint = component.fingerprint() if hasattr(component, "fingerprint") else None
            self._pipelines[kind, name] = Pipeline(
                f"{kind}.{name}", component, Limits(retries=0), identity=None, fingerprint=fingerprint, cache=None
            )
        return self._pipelines[kind, name]

    def default(self, kind: Kind) -> Pipeline | None:
        """The component of that kind that the test gives."""
        return self.pipeline(kind, "test") if self._own[kind] else None

    def strategy(self, name: str) -> Any:
        """The strategy of that name."""
        return self._find("strategy", split_reader(name)[0])

    def corrector(self, name: str) -> Any:
        """The strategy of that name, which corrects passages."""
        return self._find("corrector", name)

    def _find(self, kind: str, name: str) -> Any:
        if name == "test" and kind in self._own:
            return self._own[kind]
        try:
            component = self._named[name]
        except KeyError:
            component = None
        powers = self._POWERS[kind]
        if not any(hasattr(component, power) for power in powers):
            raise ConfigError(f"This toolbox has no component named {name!r} that can {' or '.join(powers)}.")
        return component


def embedder_handle(embedder: Any) -> EmbedderHandle:
    """The handle that a component with an option of type EmbedderName gets, over this embedder, without cache."""
    fingerprint = embedder.fingerprint() if hasattr(embedder, "fingerprint") else ""
    digest = hashlib.sha256(f"{type(embedder).__qualname__} {fingerprint}".encode()).hexdigest()
    pipeline = Pipeline("embedder.test", embedder, Limits(retries=0), identity=None, digest=digest, cache=None)
    return Handle("test", lambda name: pipeline)


def ask(strategy: Any, question: str | Question, **components: Any) -> Answer:
    """The answer of the strategy with the components of a `toolbox`, for tests that are a plain `def`.

    Raises PluginError if it breaks the contract, for example by a made-up citation.
    """
    tools = toolbox(question, **components)
    return asyncio.run(answer_of(type(strategy).__name__, strategy, tools, tools.received))
