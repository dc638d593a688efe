"""One run: builds the components that the configuration names, once each, and takes questions to answers."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import time
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from functools import cached_property, partial
from types import TracebackType
from typing import Any, Literal, Self

from ..calls.cache import Cache, open_cache
from ..calls.contract import check_component, closed
from ..calls.pipeline import Pipeline
from ..calls.trace import Trace
from ..config import options as settings
from ..config.layers import Config
from ..errors import ConfigError, MissingError, RqaError
from ..expressions import Applied, Reranked, Source, Top, Tree, names_given, nodes
from ..host.loading import Host
from ..types import Answer, Kind, Power, Question, Usage
from .assembly import Assembly, in_circle
from .components import Components, Names, Plan
from .retrieval import check
from .strategies import answer_of
from .toolbox import Toolbox


class Session:
    """Components of one run and what they share. Use it as an async context manager, once.

    `overrides` are option values by component ("retriever", name) that no file holds, such as the index of
    `--docs`; `detailed` false keeps only the costs of a trace; with `prefer_retriever` passages that a question
    brings are left aside, unless the retriever that is asked for is an expression that names them.
    """

    def __init__(
        self,
        config: Config,
        host: Host,
        *,
        detailed: bool = True,
        prefer_retriever: bool = False,
        overrides: Mapping[tuple[Kind, str], Mapping[str, Any]] | None = None,
    ) -> None:
        self.assembly = Assembly(config, host, overrides=overrides)
        self.defaults = self.assembly.defaults
        self.detailed = detailed
        self._prefer_retriever = prefer_retriever
        self._cache: Cache | None = None
        self._unclosed: list[str] = []
        self._ended = False
        self._pipelines: dict[tuple[Kind, str], Pipeline] = {}
        self._strategies: dict[str, Any] = {}
        self._built: dict[str, Any] = {}  # all that is to be closed, also what was then found to be of no use
        self._plans: dict[tuple[bool, str | None, bool], Plan] = {}

    @property
    def trouble(self) -> str:
        """What went wrong beside the answers, for people: why the cache remembers nothing, what cannot be closed."""
        troubles = [*([self._cache.trouble] if self._cache is not None else []), *self._unclosed]
        return "\n".join(filter(None, troubles))

    async def __aenter__(self) -> Self:
        self._check_not_ended()
        self._cache = open_cache(self.assembly.config)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._ended = True
        try:
            await asyncio.gather(*(each.end() for each in self._pipelines.values()))
            # An engine that works on in a thread cannot be stopped: it is neither waited for nor closed at its work.
            busy = {each.name for each in self._pipelines.values() if each.busy}
            idle = [(name, component) for name, component in self._built.items() if name not in busy]
            self._unclosed = [failure for each in idle if (failure := await closed(*each))]
        finally:
            if self._cache is not None:
                self._cache.close()

    async def answer(
        self, question: Question, *, strategy: str | None = None, as_given: bool = False, trace: Trace | None = None
    ) -> Answer:
        """The answer to `question`, by the configured strategy or by the one of that name.

        With `as_given` what is retrieved are the passages that the question brings, whatever the configuration says.
        A `trace` handed in has what was done also when that fails. Raises RqaError, with the usage until then, when
        there can be no answer.
        """
        self._check_not_ended()
        began = time.perf_counter()
        has_passages = question.passages is not None
        name, component, components = self.plan(has_passages=has_passages, strategy=strategy, as_given=as_given)
        toolbox = Toolbox(question, components, trace or Trace(detailed=self.detailed))
        try:
            given = await answer_of(name, component, toolbox)
        except RqaError as error:
            told = copy(error)  # others may be told the same one
            told.usage = toolbox.trace.usage
            cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
            raise told.with_traceback(error.__traceback__) from cause
        return dataclasses.replace(
            given,
            question=question.text,
            strategy=name,
            usage=toolbox.trace.usage,
            seconds=time.perf_counter() - began,
            trace=tuple(toolbox.trace.steps),
        )

    @property
    def strategies(self) -> list[str]:
        """The names of those installed, the highest rank first, and of those that are configured besides."""
        installed = [registration.name for registration in self.assembly.host.components("strategy")]
        return list(dict.fromkeys([*installed, *self.assembly.config.names("strategy")]))

    def check_strategy(self, name: str) -> None:
        """ConfigError where there is no strategy of that name, or its options are wrong; nothing is built."""
        self.assembly.part("strategy", name)

    def _check_not_ended(self) -> None:
        if self._ended:  # its components are closed, and their threads have ended
            raise RqaError("This session has ended.", hint="Make another one.")

    def toolbox_for(self, question: Question) -> Toolbox:
        """What the configured strategy would be handed for `question`, for calls that no strategy makes."""
        return Toolbox(question, self._components_for(question.passages is not None), Trace(detailed=False))

    def cost(self, usage: Usage) -> float | None:
        """What the reader asks for `usage`, cached calls included; None where the configuration has no prices."""
        reader = self._chosen("reader", self.defaults.reader)
        return reader.limits.cost(usage) if reader else None

    def plan(self, *, has_passages: bool, strategy: str | None = None, as_given: bool = False) -> Plan:
        """How questions are answered that bring passages, or do not.

        Raises ConfigError or MissingError when the configuration cannot answer such questions.
        """
        key = has_passages, strategy, as_given
        if key not in self._plans:
            self._plans[key] = self._plan(has_passages, strategy, as_given)
        return self._plans[key]

    def _plan(self, has_passages: bool, strategy: str | None, as_given: bool) -> Plan:
        components = self._components_for(has_passages, as_given=as_given)
        self.assembly.check_default("evaluator")  # built or not, what names it is right
        asked = components.expression
        retrieves = has_passages if asked is None else has_passages or not names_given(asked)

        def can(power: Power) -> bool:
            return retrieves if power == "retrieve" else components.can(power)

        chosen = strategy or self.defaults.strategy
        if asked is not None and (chosen is None or retrieves or "retrieve" in self._strategy(chosen).needs):
            check(asked, components, has_passages=has_passages)
        name = chosen or self._best_strategy(can)
        component = self._strategy(name)
        if lacking := frozenset(power for power in self._needs(name) if not can(power)):
            raise self._cannot(name, lacking, components)
        if self.judged(name, [asked] if asked else []):
            components.judge()  # what is missing is told before the first call
        return Plan(name, component, components)

    def _components_for(self, has_passages: bool, *, as_given: bool = False) -> Components:
        asked = self.assembly.retriever
        own = has_passages and not self._prefer_retriever and not (asked and names_given(asked))
        if as_given:
            own, asked = True, None
        if not own and asked is None and (chosen := self._chosen("retriever", None)):
            asked = Source(chosen.name.removeprefix("retriever."))
        k_is_set = "k" in self.assembly.config.table("defaults").values
        return Components(
            reader=self._chosen("reader", self.defaults.reader),
            judge=lambda: self._evaluator,
            k=self.defaults.k,
            given_k=asked.k if own and isinstance(asked, Top) else self.defaults.k if k_is_set else None,
            expression=None if own else asked,
            asked_for=self._prefer_retriever and not own,
            names=self._names,
        )

    def toolbox(self, *kinds: Literal["reader", "evaluator"]) -> Toolbox:
        """A toolbox over the configured components of those kinds, for what is done without a question."""
        chosen: dict[str, Any] = {kind: self._chosen(kind, getattr(self.defaults, kind)) for kind in kinds}
        components = Components(chosen.get("reader"), partial(chosen.get, "evaluator"))
        return Toolbox(Question(""), components, Trace(detailed=False))

    def pipeline(self, kind: Kind, name: str) -> Pipeline:
        """The component of that name behind its limits, built on first use."""
        if (kind, name) not in self._pipelines:
            self._pipelines[kind, name] = self._build_pipeline(kind, name)
        return self._pipelines[kind, name]

    def _build_pipeline(self, kind: Kind, name: str) -> Pipeline:
        part = self.assembly.part(kind, name)
        component = self._built[f"{kind}.{name}"] = part.build()
        with part.attributed():
            check_component(kind, name, component)
            # Asked of every one: an index or a model that is missing says so here, before the first call.
            fingerprint = component.fingerprint() if hasattr(component, "fingerprint") else None
        identity = None
        if getattr(component, "cached", True) and not hasattr(component, "needs"):  # what it calls is cached
            content = repr((*part.identity, fingerprint or ""))
            identity = hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()
        return Pipeline(
            f"{kind}.{name}",
            component,
            part.limits,
            options=part.options,
            identity=identity,
            fingerprint=fingerprint,
            cache=self._cache,
        )

    def _chosen(self, kind: Kind, name: str | None) -> Pipeline | None:
        if name is not None:
            return self.pipeline(kind, name)
        configured = self.assembly.config.names(kind)
        if len(configured) == 1:
            return self.pipeline(kind, configured[0])
        chosen = [registration.name for registration in self.assembly.host.components(kind) if registration.rank > 0]
        if kind == "retriever":  # the configured ones before, in the order in which `rqa index` looks for one
            chosen = [*dict.fromkeys((*self.assembly.indexing(configured), *chosen))]
        for each in chosen:
            try:
                return self.pipeline(kind, each)
            except ConfigError:
                if each in configured:
                    raise  # what the user wrote is wrong, and not passed over
            except MissingError:
                continue  # its model or index is not there
        return None

    @cached_property
    def _evaluator(self) -> Pipeline | None:
        return self._chosen("evaluator", self.defaults.evaluator)

    def _best_strategy(self, can: Callable[[Power], bool]) -> str:
        for registration in self.assembly.host.components("strategy"):
            # "score" is last: to know, the evaluator is built.
            if registration.rank > 0 and all(map(can, sorted(registration.needs))):
                return registration.name
        raise MissingError(
            "There is nothing to answer from: no documents, no passages and no language model.",
            hint="\n".join(
                [
                    "Give documents with --docs PATH, or index them once with `rqa index PATH`.",
                    *self._advice(),
                ]
            ),
        )

    @cached_property
    def _names(self) -> Names:
        return Names(
            retriever=partial(self.pipeline, "retriever"),
            corrector=self._corrector,
            strategy=self._strategy,
            evaluator=partial(self.pipeline, "evaluator"),
            expressions=self.assembly.expressions,
            prompts=self.assembly.prompts,
        )

    def _corrector(self, name: str) -> Any:
        self.assembly.check_corrects(name)
        return self._strategy(name)

    def _strategy(self, name: str) -> Any:
        if name not in self._strategies:
            strategy = self._built[f"strategy.{name}"] = self.assembly.part("strategy", name).build()
            check_component("strategy", name, strategy)
            self._strategies[name] = strategy
        return self._strategies[name]

    def judged(self, strategy: str, expressions: Iterable[Tree]) -> bool:
        """Whether the evaluator may have a part in what the strategy answers from these expressions.

        It may rerank in those that the strategy has of its own, where it takes some as options.
        """
        options = self.assembly.part("strategy", strategy).registration.options
        return (
            "score" in self._needs(strategy)
            or any(isinstance(node, Reranked | Applied) for tree in expressions for node in nodes(tree))
            or (options is not None and bool(settings.expression_options(options)))
        )

    def _needs(self, name: str, before: tuple[str, ...] = ()) -> frozenset[Power]:
        """What the strategy needs, and those that it hands passages to."""
        strategy, path = self._strategy(name), (*before, name)
        needs: frozenset[Power] = frozenset(strategy.needs)
        for other in getattr(strategy, "hands_to", ()):
            if other in path:
                raise in_circle((*path, other))
            needs |= self._needs(other, path) - {"retrieve"}
        return needs

    def _advice(self) -> list[str]:
        """What readers that are not configured say of getting one that is."""
        return [reader.advice for reader in self.assembly.host.components("reader") if reader.advice]

    def _reader_can(self, power: str, name: str) -> bool:
        """Whether the configured reader of that name has `power`. One whose table is wrong has none."""
        try:
            return hasattr(self.assembly.part("reader", name).registration.factory, power)
        except ConfigError:
            return False

    def _cannot(self, strategy: str, lacking: frozenset[Power], components: Components) -> RqaError:
        if "retrieve" in lacking:
            return MissingError(
                f"Strategy {strategy!r} retrieves passages, and there are no documents to retrieve from.",
                hint="Give documents with --docs PATH, or index them once with `rqa index PATH`.",
            )
        if {"generate", "continue_text"} & lacking:
            reader = components.reader.name if components.reader else "no reader"
            advice = self._advice()
            message = f"Strategy {strategy!r} needs a language model, and {reader} does not write text."
            if "continue_text" in lacking:
                message = (
                    f"Strategy {strategy!r} needs a language model that continues a text and tells the probabilities "
                    f"of its tokens, and {reader} does not."
                )
                able = [r.name for r in self.assembly.host.components("reader") if hasattr(r.factory, "continue_text")]
                advice.append(f"Installed plugins whose readers do: {', '.join(able) or 'none'}.")
            power = next(power for power in ("continue_text", "generate") if power in lacking)
            others = [name for name in self.assembly.config.names("reader") if self._reader_can(power, name)]
            if others:
                advice.append(f"Of those configured, choose one that does with --reader: {', '.join(others)}.")
            else:
                advice.append("For one that is served elsewhere, `rqa init` starts a configuration.")
            hint = "\n".join(advice)
            if self.defaults.reader:
                return ConfigError(message, hint=hint)
            return MissingError(message, hint=hint)
        kind, one = ("reader", "a reader") if "read" in lacking else ("evaluator", "an evaluator")
        return ConfigError(
            f"Strategy {strategy!r} needs {one}, and none is configured.",
            hint=f"Set `{kind} = ...` under [defaults]; `rqa plugins` lists what is installed.",
        )
