"""The host's toolbox with a test's components, without configuration, cache or retries."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

from ..answering.components import Components, Names, split_reader
from ..answering.embedding import Handle
from ..answering.toolbox import Toolbox
from ..calls.limits import Limits
from ..calls.pipeline import Pipeline
from ..errors import ConfigError
from ..expressions import Source
from ..protocols import EmbedderHandle
from ..types import Answer, Passage, Question


def toolbox(
    question: str | Question,
    *,
    retriever: Any = None,
    reader: Any = None,
    evaluator: Any = None,
    k: int = 10,
    names: Mapping[str, Any] | None = None,
    trust: Callable[[Passage], float] = lambda passage: 1.0,
) -> Toolbox:
    """A real toolbox for one question. Its `trace.steps` has the calls and the strategy's notes.

    `names`: further components by name, for retriever expressions, `answer_with` (strategies and readers) and
    `score(..., evaluator=NAME)`.
    `trust`: returns the weight of a passage's source.
    Pass a Question to give it passages. Failed calls are not retried.
    """
    question = question if isinstance(question, Question) else Question(question)
    known = {} if names is None else names  # not `names or {}`: an empty defaultdict has every name

    def pipeline(name: str, component: Any) -> Pipeline:
        fingerprint = component.fingerprint() if hasattr(component, "fingerprint") else None
        limits = Limits(retries=0)
        return Pipeline(name, component, limits, identity=None, fingerprint=fingerprint, cache=None)

    def named(powers: str, name: str) -> Any:
        try:
            component = retriever if name == "test" else known[name]
        except KeyError:
            component = None
        if not any(hasattr(component, power) for power in powers.split(" or ")):
            raise ConfigError(f"This toolbox has no component named {name!r} that can {powers}.")
        return component

    judge = pipeline("evaluator.test", evaluator) if evaluator else None
    components = Components(
        reader=pipeline("reader.test", reader) if reader else None,
        get_evaluator=lambda: judge,
        k=k,
        expression=Source("test") if retriever and question.passages is None else None,
        names=Names(
            retriever=cache(lambda name: pipeline(f"retriever.{name}", named("retrieve", name))),
            reader=cache(lambda name: pipeline(f"reader.{name}", named("read or generate", name))),
            corrector=partial(named, "correct"),
            strategy=lambda name: named("answer", split_reader(name)[0]),
            evaluator=cache(lambda name: pipeline(f"evaluator.{name}", named("score", name))),
        ),
        trust=trust,
    )
    return Toolbox(question, components)


def embedder_handle(embedder: Any) -> EmbedderHandle:
    """The handle that a component with an option of type EmbedderName gets, over this embedder, without cache."""
    fingerprint = embedder.fingerprint() if hasattr(embedder, "fingerprint") else ""
    digest = hashlib.sha256(f"{type(embedder).__qualname__} {fingerprint}".encode()).hexdigest()
    pipeline = Pipeline("embedder.test", embedder, Limits(retries=0), identity=None, digest=digest, cache=None)
    return Handle("test", lambda name: pipeline)


def ask(
    strategy: Any,
    question: str | Question,
    *,
    retriever: Any = None,
    reader: Any = None,
    evaluator: Any = None,
    k: int = 10,
    names: Mapping[str, Any] | None = None,
    trust: Callable[[Passage], float] = lambda passage: 1.0,
) -> Answer:
    """The answer of the strategy with these components, for tests that are a plain `def`."""
    tools = toolbox(question, retriever=retriever, reader=reader, evaluator=evaluator, k=k, names=names, trust=trust)
    answer: Answer = asyncio.run(strategy.answer(tools.question.text, tools))
    return answer
