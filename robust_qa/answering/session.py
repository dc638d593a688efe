"""A session: build the configured components, plan each question, answer it."""

from __future__ import annotations

import asyncio
import dataclasses
import math
import shlex
import time
from collections import Counter, deque
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from copy import copy
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from ..calls.cache import Cache, open_cache
from ..calls.contract import answer_of, attributed, cited
from ..calls.pipeline import Pipeline
from ..calls.trace import Trace, Watcher
from ..config import options as settings
from ..config.layers import Config
from ..errors import ConfigError, InputError, MissingError, RqaError
from ..expressions import Applied, Reranked, Source, Top, Tree, names_given, nodes
from ..host.loading import Host
from ..kit import fenced, final_reply, load_prompts, one_line
from ..kit.editions import newest_first
from ..kit.quotes import QUOTES, cite_quote
from ..kit.text import content_terms, with_title
from ..kit.warnings import PLAIN_TEXT, collected_warnings
from ..types import Answer, Citation, Kind, Message, Passage, Power, Question, Step, Usage
from .components import Components
from .configured import in_circle, split_reader
from .history import Recorder
from .indexing import refresh
from .retrieval import check
from .toolbox import ADD_DOCUMENTS, Toolbox

if TYPE_CHECKING:
    from ..documents import Indexed

MOST_CHARACTERS = 20_000  # of a question
_MOST_WARNINGS = 20  # of those of strategies and calls that are shown at the end
_PAUSE = 2.0  # seconds without a question after which the indexes are refreshed
_FILES_NAMED = 5  # stale files in a warning
_LIKELY = 0.3  # probability from which a quote is shown although it shares no word with the question


class Session:
    """Answers questions with the configured components. Use it once, as an async context manager.

    `overrides`: option values by kind and name that are in no file, such as the index folder of `--docs`.
    `detailed`: keep every step in the trace. If false, keep only the usage.
    `history`: gets each answer. The session closes it.
    `prefer_retriever`: ignore a question's own passages, unless the retriever expression names them.
    """

    def __init__(
        self,
        config: Config,
        host: Host,
        *,
        detailed: bool = True,
        prefer_retriever: bool = False,
        history: Recorder | None = None,
        overrides: Mapping[tuple[Kind, str], Mapping[str, Any]] | None = None,
    ) -> None:
        self.components = Components(config, host, overrides=overrides)
        self.defaults = self.components.defaults
        self.detailed = detailed
        self._history = history
        self.prefer_retriever = prefer_retriever
        self._cache: Cache | None = None
        self.unclosed: list[str] = []  # warnings about components that did not close
        self._warned = Counter[str]()  # by text, the number of questions
        self._replies = self._unread = 0  # of language models, and those that did not have their form
        self._stale: dict[str, None] = {}  # cited files that are not as they were indexed
        self._pending: list[str] = []  # what is not up to date in the indexes
        self._fresh_at = math.inf  # when the indexes were last known to be up to date
        self._ended = False
        self._chosen: dict[tuple[bool, str | None, bool], tuple[str, Toolbox]] = {}

    @property
    def trouble(self) -> str:
        """Warnings for the user: unusable cache, stale files, those of strategies, components that failed to close.

        "" if there are none.
        """
        small = f"{self._unread:,} of {self._replies:,} replies {PLAIN_TEXT}" if self._unread else ""
        warned = [text if count == 1 else f"{text} ({count:,} questions)" for text, count in self._warned.items()]
        warnings = [
            *([self._cache.trouble] if self._cache is not None else []),
            *(self._pending or [_advice_on_stale(list(self._stale))]),
            small,
            *warned,
            *self.unclosed,
        ]
        return "\n".join(filter(None, warnings))

    def refresh(self) -> None:
        """Update the indexes with what changed in their files, where that is quick. `trouble` says what is left.

        From then on the session does so again before a question that comes after a pause.
        """
        components = self.components
        self._pending = refresh(components.config, components.host, components.overrides)
        self._fresh_at = time.monotonic()

    async def keep_fresh(self) -> None:
        """Refresh the indexes after a pause. Not amid the questions of a batch, which all get the same index."""
        if time.monotonic() - self._fresh_at > _PAUSE:
            self._fresh_at = time.monotonic()
            await asyncio.to_thread(self.refresh)

    async def __aenter__(self) -> Self:
        self._check_not_ended()
        self._cache = self.components.cache = open_cache(self.components.config)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._ended = True
        try:
            self.unclosed = await self.components.close()
        finally:
            if self._cache is not None:
                self._cache.close()
            if self._history is not None:
                self._history.close()

    async def answer_many(
        self, questions: Iterable[str | Question], *, strategy: str | None = None, jobs: int = 8
    ) -> AsyncGenerator[Answer, None]:
        """Yield the answers in the order of the questions, `jobs` of which are in flight at once.

        Raises the error of the first question that has one. To go on after errors, call `answer` for each.
        """
        pending: deque[asyncio.Task[Answer]] = deque()
        try:
            for question in questions:
                pending.append(asyncio.create_task(self.answer(question, strategy=strategy)))
                if len(pending) >= jobs:
                    yield await pending[0]
                    pending.popleft()
            while pending:
                yield await pending[0]
                pending.popleft()
        finally:
            for task in pending:
                task.cancel()
            await asyncio.gather(*pending, return_exceptions=True)

    async def answer(
        self,
        question: str | Question,
        *,
        strategy: str | None = None,
        as_given: bool = False,
        trace: Trace | None = None,
        watcher: Watcher | None = None,
    ) -> Answer:
        """The answer to `question` by `strategy` (default: the configured one).

        `as_given`: retrieve only the question's own passages, whatever the configuration says.
        `trace`: filled with the steps, also if the question fails.
        `watcher`: told of each step, and of the answer while it is written. Not with `trace`, which has its own.
        Raises RqaError, with the usage so far, if there is no answer.
        """
        self._check_not_ended()
        began = time.perf_counter()
        question = Question(question) if isinstance(question, str) else question
        check_question(question.text)
        await self.keep_fresh()
        has_passages = question.passages is not None
        name, chosen = self.choose(has_passages=has_passages, strategy=strategy, as_given=as_given)
        toolbox = chosen.replaced(question=question, trace=trace or Trace(detailed=self.detailed, watcher=watcher))
        try:
            with collected_warnings() as warnings:
                answer = await answer_of(name, self.components.strategy(name), toolbox, toolbox.received)
                if toolbox.replies:  # a language model wrote it
                    answer = await toolbox.check(answer)
            closest = answer.closest or await _closest(answer, toolbox)
            if answer.text is None and toolbox.retrieved and not (closest or cited(answer)):
                answer = dataclasses.replace(answer, reason="No passage that was found is about the question.")
        except RqaError as error:
            own_error = copy(error)  # several questions may share the error of one call
            own_error.usage = toolbox.trace.usage
            cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
            raise own_error.with_traceback(error.__traceback__) from cause
        finally:
            self._replies += len(toolbox.replies)
            self._unread += warnings.count(PLAIN_TEXT)
            for text in set(warnings) - {PLAIN_TEXT}:
                is_shown = text in self._warned or len(self._warned) < _MOST_WARNINGS
                self._warned[text if is_shown else "There were other warnings."] += 1
            if self._fresh_at != math.inf:
                self._fresh_at = time.monotonic()
        answer = dataclasses.replace(
            answer,
            conflicts=newest_first(answer.conflicts),
            closest=closest,
            question=question.text,
            strategy=name,
            usage=toolbox.trace.usage,
            seconds=time.perf_counter() - began,
            trace=tuple(toolbox.trace.steps),
        )
        self._stale.update((each.file, None) for each in (*cited(answer), *closest) if each.stale)
        if self._history is not None:
            await asyncio.to_thread(self._history.add, answer)
        return answer

    async def documents(self) -> dict[str, Indexed]:
        """The files in the indexes that are searched, by name. Empty if no retriever lists its files."""
        found: dict[str, Indexed] = {}
        for name in self.components.retriever_names():
            if self.components.has("retriever", name, "files"):
                retriever = self.components.pipeline("retriever", name).component
                with attributed(f"retriever.{name}"), suppress(MissingError):  # there is no index yet
                    found |= await asyncio.to_thread(retriever.files)
        return {file: kept for file, kept in found.items() if kept.passages}

    @property
    def strategies(self) -> list[str]:
        """The names of all strategies: the installed ones by rank, then the configured ones."""
        installed = [registration.name for registration in self.components.host.components("strategy")]
        return list(dict.fromkeys([*installed, *self.components.config.names("strategy")]))

    def check_strategy(self, name: str) -> None:
        """Raises ConfigError if there is no such strategy or its options are invalid. Builds nothing."""
        self.components.component("strategy", name)

    def _check_not_ended(self) -> None:
        if self._ended:  # its components are closed
            raise RqaError("This session has ended.", hint="Create a new one.")

    def toolbox_for(self, question: Question, *, as_given: bool = False) -> Toolbox:
        """The toolbox that strategies get for `question`. Use it to call components directly."""
        components, own = self.components, question.passages is not None
        expression = components.retriever
        from_question = own and not self.prefer_retriever and not (expression and names_given(expression))
        if as_given:
            from_question, expression = True, None
        if not from_question and expression is None and (retriever := components.default("retriever")):
            expression = Source(retriever.name.removeprefix("retriever."))
        k, k_is_set = self.defaults.k, "k" in components.config.table("defaults").values
        return Toolbox(
            question,
            components,
            Trace(detailed=False),
            get_reader=lambda: self._reader,
            get_evaluator=lambda: self._evaluator,
            expression=None if from_question else expression,
            k=k,
            given_k=expression.k if from_question and isinstance(expression, Top) else k if k_is_set else None,
            asked_for=self.prefer_retriever and not from_question,
        )

    def toolbox(self, *kinds: Literal["reader", "evaluator"]) -> Toolbox:
        """A toolbox over the configured components of those kinds, for work without a question."""
        chosen = {kind: self.components.default(kind) for kind in kinds}
        get_evaluator = partial(chosen.get, "evaluator")
        trace = Trace(detailed=False)
        return Toolbox(Question(""), self.components, trace, reader=chosen.get("reader"), get_evaluator=get_evaluator)

    def cost(self, trace: Iterable[Step]) -> float | None:
        """The price of the calls in a trace by their readers' prices, cached calls included. None without prices."""
        default = self.components.default("reader")
        costs = [default.cost(Usage())] if default else []
        for step in trace:
            kind, _, name = step.component.partition(".")
            if kind == "reader":
                costs.append(self.components.pipeline("reader", name).cost(step.usage))
        known = [cost for cost in costs if cost is not None]
        return math.fsum(known) if known else None

    def choose(self, *, has_passages: bool, strategy: str | None = None, as_given: bool = False) -> tuple[str, Toolbox]:
        """The strategy for questions with or without passages of their own, and its toolbox but for the question.

        Raises ConfigError or MissingError if the configuration cannot answer such questions.
        """
        key = has_passages, strategy, as_given
        if key not in self._chosen:
            self._chosen[key] = self._choose(has_passages, strategy, as_given)
        return self._chosen[key]

    def _choose(self, has_passages: bool, strategy: str | None, as_given: bool) -> tuple[str, Toolbox]:
        components = self.components
        toolbox = self.toolbox_for(Question("", passages=() if has_passages else None), as_given=as_given)
        components.check_default("evaluator")
        components.check_default("embedder")
        expression = toolbox.expression
        retrieves = has_passages if expression is None else has_passages or not names_given(expression)

        def can(power: Power, toolbox: Toolbox = toolbox) -> bool:
            return retrieves if power == "retrieve" else toolbox.can(power)

        named = strategy or self.defaults.strategy
        if named and (reader := split_reader(named)[1]):
            toolbox = toolbox.replaced(reader=components.pipeline("reader", reader))
        if expression is not None and (named is None or retrieves or "retrieve" in components.strategy(named).needs):
            check(expression, toolbox)
        name = named or self._best_strategy(can)
        chosen = components.strategy(name)
        for reader, powers in self._needs(name).items():
            reading = toolbox if reader is None else toolbox.replaced(reader=components.pipeline("reader", reader))
            if lacking := frozenset(power for power in powers if not can(power, reading)):
                raise self._cannot(name, lacking, reading)
        if self.judged(name, [expression] if expression else []):
            toolbox.evaluator  # noqa: B018 (a missing model is an error before the first call)
        if check_strategy := getattr(chosen, "check", None):
            check_strategy(toolbox)
        return name, toolbox

    @cached_property
    def _reader(self) -> Pipeline | None:
        return self.components.default("reader")

    @cached_property
    def _evaluator(self) -> Pipeline | None:
        return self.components.default("evaluator")

    def _best_strategy(self, can: Callable[[Power], bool]) -> str:
        for registration in self.components.host.components("strategy"):
            # "score" sorts last: checking it builds the evaluator.
            if registration.rank > 0 and all(map(can, sorted(registration.needs))):
                return registration.name
        raise MissingError(
            "There is nothing to answer from: no documents, no passages and no language model.",
            hint="\n".join([ADD_DOCUMENTS, *self._advice()]),
        )

    def judged(self, strategy: str, expressions: Iterable[Tree]) -> bool:
        """Whether the strategy may use the evaluator: it scores itself, or a retriever expression reranks."""
        options = self.components.component("strategy", strategy).registration.options
        return (
            any("score" in powers for powers in self._needs(strategy).values())
            or any(isinstance(node, Reranked | Applied) for tree in expressions for node in nodes(tree))
            or (options is not None and bool(settings.expression_options(options)))
        )

    def _needs(self, name: str, before: tuple[str, ...] = ()) -> dict[str | None, frozenset[Power]]:
        """The powers that the strategy needs, and the strategies that it hands passages to, by reader.

        None is the reader of the question.
        """
        name, own = split_reader(name)
        strategy, path = self.components.strategy(name), (*before, name)
        needs: dict[str | None, frozenset[Power]] = {own if before else None: frozenset(strategy.needs)}
        for writer in getattr(strategy, "read_by", ()):
            needs[writer] = frozenset({"generate"})
        for other in getattr(strategy, "hands_to", ()):
            if split_reader(other)[0] in path:
                raise in_circle((*path, split_reader(other)[0]))
            for reader, powers in self._needs(other, path).items():
                named = reader or (own if before else None)
                needs[named] = needs.get(named, frozenset()) | powers - {"retrieve"}
        return needs

    def _advice(self) -> list[str]:
        """How to get a language model, by each reader plugin."""
        factories: list[Any] = [
            each.factory for each in self.components.host.components("reader") if each.has("advice")
        ]
        return [factory.advice() for factory in factories]

    def _reader_can(self, power: str, name: str) -> bool:
        """Whether the configured reader of that name has `power`. False if its table is invalid."""
        try:
            return self.components.component("reader", name).registration.has(power)
        except ConfigError:
            return False

    def _cannot(self, strategy: str, lacking: frozenset[Power], toolbox: Toolbox) -> RqaError:
        if "retrieve" in lacking:
            return MissingError(
                f"Strategy {strategy!r} retrieves passages, but there are no documents.", hint=ADD_DOCUMENTS
            )
        if {"generate", "continue_text"} & lacking:
            return self._no_model(strategy, lacking, toolbox)
        if "quote" in lacking:
            return ConfigError(
                f"Strategy {strategy!r} needs a reader that points at text, such as `embedded`.",
                hint="Name one with --reader, or another strategy with -s.",
            )
        kind, one = ("reader", "a reader") if "read" in lacking else ("evaluator", "an evaluator")
        return ConfigError(
            f"Strategy {strategy!r} needs {one}, and none is configured.",
            hint=f"Set `{kind} = ...` under [defaults]. `rqa plugins` lists installed plugins.",
        )

    def _no_model(self, strategy: str, lacking: frozenset[Power], toolbox: Toolbox) -> RqaError:
        reader = toolbox.reader.name if toolbox.reader else "no reader"
        advice = self._advice()
        power: Power = "generate"
        message = f"Strategy {strategy!r} needs a language model, and {reader} does not write text."
        if "continue_text" in lacking:
            power = "continue_text"
            message = (
                f"Strategy {strategy!r} needs token probabilities from the reader, and {reader} does not return any."
            )
            plugins = [r.name for r in self.components.host.components("reader") if r.has(power)]
            advice.append(f"Reader plugins with token probabilities: {', '.join(plugins) or 'none'}.")
        if configured := [name for name in self.components.config.names("reader") if self._reader_can(power, name)]:
            advice.append(f"Choose a configured reader with --reader: {', '.join(configured)}.")
        else:
            advice.append("To use a model on a server, create a configuration with `rqa init`.")
        error = ConfigError if self.defaults.reader else MissingError
        return error(message, hint="\n".join(advice))


def check_question(question: str) -> None:
    """Raises InputError if `question` is too long: readers and retrievers would take minutes and gigabytes for it."""
    if len(question) > MOST_CHARACTERS:
        raise InputError(
            f"The question has {len(question):,} characters, and at most {MOST_CHARACTERS:,} are allowed.",
            hint="Ask a shorter question, and give long texts as documents or passages.",
        )


def _advice_on_stale(files: list[str]) -> str:
    """How to update the index with these files, "" if there are none."""
    if not files:
        return ""
    more = f" {len(files) - _FILES_NAMED:,} more are marked in the answers." if len(files) > _FILES_NAMED else ""
    command = shlex.join(["rqa", "index", *files[:_FILES_NAMED]])
    return f"The index no longer agrees with files that it quotes. Update it with `{command}`.{more}"


async def _closest(answer: Answer, toolbox: Toolbox) -> tuple[Citation, ...]:
    """Quotes of what the strategy retrieved, for a reader that points at text or found no answer."""
    if answer.text is not None and toolbox.generative:
        return ()
    known = {(citation.source, citation.id) for citation in cited(answer)}
    guessed = {(each.source, each.id) for each in (answer.probable.citations[:1] if answer.probable else ())}
    asked = set(content_terms(toolbox.question.text))
    quotes = [
        cite_quote(quote, toolbox.retrieved)
        for quote in await toolbox.quote(toolbox.retrieved)
        if (quote.score or 0) >= _LIKELY or _about(toolbox.retrieved[quote.passage], asked)
    ]
    others = [quote for quote in quotes if (quote.source, quote.id) not in known]
    return tuple(sorted(others, key=lambda quote: (quote.source, quote.id) not in guessed)[:QUOTES])


def _about(passage: Passage, asked: Set[str]) -> bool:
    """Whether the passage shares a word with the question, whose words are `asked`."""
    return not asked or not asked.isdisjoint(content_terms(with_title(passage.title, passage.text)))


_PROMPTS = Path(__file__).parents[1] / "prompts" / "conversation"
_TURNS, _CHARACTERS = 8, 1000  # turns read, and characters of each


async def condensed(session: Session, question: str, earlier: Sequence[Message]) -> tuple[str, Usage]:
    """Return a question that stands alone, and what it cost to write.

    It is `question` itself if there are no `earlier` messages or the reader writes no text. Raises InputError if it is
    too long, and CallError if the reader fails.
    """
    check_question(question)
    toolbox = session.toolbox("reader")
    if not earlier or not toolbox.generative:
        return question, Usage()
    turns = [f"{message.role}: {fenced(message.content[:_CHARACTERS])}" for message in earlier[-_TURNS:]]
    fields = {"conversation": "\n".join(turns), "question": fenced(question)}
    reply = final_reply(await toolbox.generate(load_prompts(_PROMPTS)["condense"], fields=fields))
    return one_line(reply.text) or question, toolbox.trace.usage
