"""A session: build the configured components, plan each question, answer it."""

from __future__ import annotations

import asyncio
import dataclasses
import math
import re
import time
from collections import Counter, deque
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from copy import copy
from functools import cached_property, partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from ..calls.cache import Cache, open_cache
from ..calls.contract import answer_of, attributed, cited
from ..calls.pipeline import Pipeline
from ..calls.trace import Trace, Watcher
from ..config import options as settings
from ..config.layers import Config
from ..errors import InputError, MissingError, RqaError, disk_hint
from ..expressions import BUILT_IN, Applied, Reranked, Source, Top, Tree, names_given, nodes, sources
from ..host.loading import Host
from ..kit.dates import newest_first
from ..kit.language import language_of_question
from ..kit.quotes import QUOTES, cite_quote
from ..kit.text import content_terms, with_title
from ..kit.warnings import PLAIN_TEXT, collected_warnings
from ..types import Answer, Citation, Kind, Passage, Power, Question, Step, Usage
from .components import Components
from .configured import in_circle, split_reader
from .toolbox import SessionToolbox

if TYPE_CHECKING:
    from ..protocols import IndexedFile
    from .retrieval import ExpressionPool

MOST_CHARACTERS = 20_000  # of a question
_MOST_WARNINGS = 20  # of those of strategies and calls that are shown at the end
_PAUSE = 2.0  # seconds without a question after which the indexes are refreshed
_LIKELY = 0.3  # probability from which a quote is shown although it shares no word with the question


class Session:
    """Answers questions with the configured components. Use it once, as an async context manager.

    `overrides`: option values by kind and name that are in no file, such as the index folder of `--docs`.
    `detailed`: keep every step in the trace. If false, keep only the usage.
    `record`: a command, such as "ask", whose answers the recorders keep. `say` tells the user a line.
    `prefer_retriever`: ignore a question's own passages, unless the retriever expression names them.
    """

    def __init__(
        self,
        config: Config,
        host: Host,
        *,
        detailed: bool = True,
        prefer_retriever: bool = False,
        record: str = "",
        say: Callable[[str], None] = lambda text: None,
        overrides: Mapping[tuple[Kind, str], Mapping[str, Any]] | None = None,
    ) -> None:
        self.components = Components(config, host, overrides=overrides)
        self.defaults = self.components.defaults
        self.detailed = detailed
        self._record, self._say = record, say
        self._unrecorded: set[str] = set()  # recorders that failed
        self.prefer_retriever = prefer_retriever
        self._cache: Cache | None = None
        self.unclosed: list[str] = []  # warnings about components that did not close
        self._warned = Counter[str]()  # by text, the number of questions
        self._replies = self._unread = 0  # of language models, and those that did not have their form
        self._stale: dict[str, None] = {}  # cited files that are not as they were indexed
        self._pending: list[str] = []  # what is not up to date in the indexes
        self._fresh_at = math.inf  # when the indexes were last known to be up to date
        self._ended = False
        self._chosen: dict[tuple[bool, str | None, bool], tuple[str, SessionToolbox]] = {}

    @property
    def trouble(self) -> str:
        """Warnings for the user: unusable cache, stale files, those of strategies, components that failed to close.

        "" if there are none.
        """
        small = f"{self._unread:,} of {self._replies:,} replies {PLAIN_TEXT}" if self._unread else ""
        warned = [text if count == 1 else f"{text} ({count:,} questions)" for text, count in self._warned.items()]
        warnings = [
            *([self._cache.trouble] if self._cache is not None else []),
            *(self._pending or self._advice_on_stale()),
            small,
            *warned,
            *self.unclosed,
        ]
        return "\n".join(filter(None, warnings))

    def _advice_on_stale(self) -> list[str]:
        if not self._stale:
            return []
        from .advice import on_stale

        return [on_stale([*self._stale])]

    def refresh(self) -> None:
        """Update the indexes with what changed in their files, where that is quick. `trouble` says what is left."""
        from .indexing import refresh

        self._pending = refresh(self.components)
        self.are_fresh()

    def are_fresh(self) -> None:
        """Say that the indexes are up to date now. From then on the session refreshes them after a pause."""
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
        corrections = await self.corrections(question.text, chosen)
        asked = dataclasses.replace(question, text=corrected(question.text, corrections)) if corrections else question
        toolbox = chosen.replaced(question=asked, trace=trace or Trace(detailed=self.detailed, watcher=watcher))
        try:
            with collected_warnings() as warnings:
                answer = await answer_of(name, self.components.strategy(name), toolbox, toolbox.received)
                if toolbox.replies:  # a language model wrote it
                    answer = await toolbox.check(answer)
            closest = answer.closest or await _closest(answer, toolbox)
            lost = answer.text is None and toolbox.retrieved and not (closest or cited(answer))
            if lost and language_of_question(question.text) == "en":  # of another language the reader says what to do
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
            corrections=corrections,
            strategy=name,
            usage=toolbox.trace.usage,
            seconds=time.perf_counter() - began,
            trace=tuple(toolbox.trace.steps),
        )
        self._stale.update((each.file, None) for each in (*cited(answer), *closest) if each.stale)
        if self._record and not self.components.config.untrusted:
            await asyncio.to_thread(self._keep, answer)
        return answer

    async def corrections(self, question: str, toolbox: SessionToolbox) -> dict[str, str]:
        """The words of a question that no document has, with the one that each is misspelt for.

        Empty if a retriever of `toolbox` cannot tell. What is wrong with it, such as a missing index, is an error when
        it retrieves.
        """
        found: list[dict[str, str]] = []
        for name in set(sources(toolbox.expression)) - {*BUILT_IN} if toolbox.expression else ():
            if not self.components.has("retriever", name, "corrections"):
                return {}
            try:
                retriever = self.components.pipeline("retriever", name).component
                found.append(await asyncio.to_thread(retriever.corrections, question))
            except RqaError:
                return {}
        first, *others = found or [{}]
        return {word: right for word, right in first.items() if all(other.get(word) == right for other in others)}

    def asked(self, command: str, limit: int) -> list[str]:
        """The questions of a command among the newest answers that a recorder keeps, the newest first."""
        for name in self.components.host.names("recorder"):
            with suppress(RqaError, OSError):
                recorder = self.components.recorder(name)
                if hasattr(recorder, "questions"):
                    return list(recorder.questions(command, limit))
        return []

    def _keep(self, answer: Answer) -> None:
        """Hand an answer to the recorders. An answer is worth more than its log, so nothing is raised."""
        for name in self.components.host.names("recorder"):
            try:
                recorder = self.components.recorder(name)
                notice = recorder.add(answer, self._record) if recorder else None
            except Exception as error:
                if name not in self._unrecorded:
                    can_be_off = hasattr(self.components.component("recorder", name).options, "enabled")
                    off = f"Use `-O {name}.enabled=false` if you do not need it." if can_be_off else ""
                    hint = getattr(error, "hint", "") or disk_hint(error) or off
                    self._say(f"the answer is not in the {name}: {str(error).rstrip('.')}. {hint}".rstrip())
                self._unrecorded.add(name)
                continue
            if notice:
                self._say(notice)

    async def files(self) -> dict[str, IndexedFile]:
        """The files in the indexes that are searched, by name. Empty if no retriever lists its files."""
        found: dict[str, IndexedFile] = {}
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

    def toolbox_for(self, question: Question, *, as_given: bool = False) -> SessionToolbox:
        """The toolbox that strategies get for `question`. Use it to call components directly."""
        components, own = self.components, question.passages is not None
        expression = components.retriever
        from_question = own and not self.prefer_retriever and not (expression and names_given(expression))
        if as_given:
            from_question, expression = True, None
        if not from_question and expression is None and (retriever := components.default("retriever")):
            expression = Source(retriever.name.removeprefix("retriever."))
        k, k_is_set = self.defaults.k, "k" in components.config.table("defaults").values
        return SessionToolbox(
            question,
            components,
            Trace(detailed=False),
            pool=_pool,
            get_reader=lambda: self._reader,
            get_evaluator=lambda: self._evaluator,
            expression=None if from_question else expression,
            k=k,
            given_k=expression.k if from_question and isinstance(expression, Top) else k if k_is_set else None,
            asked_for=self.prefer_retriever and not from_question,
        )

    def toolbox(self, *kinds: Literal["reader", "evaluator"]) -> SessionToolbox:
        """A toolbox over the configured components of those kinds, for work without a question."""
        chosen = {kind: self.components.default(kind) for kind in kinds}
        get_evaluator = partial(chosen.get, "evaluator")
        return SessionToolbox(
            Question(""),
            self.components,
            Trace(detailed=False),
            pool=_pool,
            reader=chosen.get("reader"),
            get_evaluator=get_evaluator,
        )

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

    def choose(
        self, *, has_passages: bool, strategy: str | None = None, as_given: bool = False
    ) -> tuple[str, SessionToolbox]:
        """The strategy for questions with or without passages of their own, and its toolbox but for the question.

        Raises ConfigError or MissingError if the configuration cannot answer such questions.
        """
        key = has_passages, strategy, as_given
        if key not in self._chosen:
            self._chosen[key] = self._choose(has_passages, strategy, as_given)
        return self._chosen[key]

    def _choose(self, has_passages: bool, strategy: str | None, as_given: bool) -> tuple[str, SessionToolbox]:
        components = self.components
        toolbox = self.toolbox_for(Question("", passages=() if has_passages else None), as_given=as_given)
        components.check_default("evaluator")
        components.check_default("embedder")
        expression = toolbox.expression
        retrieves = has_passages if expression is None else has_passages or not names_given(expression)

        def can(power: Power, toolbox: SessionToolbox = toolbox) -> bool:
            return retrieves if power == "retrieve" else toolbox.can(power)

        named = strategy or self.defaults.strategy
        if named and (reader := split_reader(named)[1]):
            toolbox = toolbox.replaced(reader=components.pipeline("reader", reader))
        if expression is not None and (named is None or retrieves or "retrieve" in components.strategy(named).needs):
            from .retrieval import check

            check(expression, toolbox)
        name = named or self._best_strategy(can)
        chosen = components.strategy(name)
        for reader, powers in self._needs(name).items():
            reading = toolbox if reader is None else toolbox.replaced(reader=components.pipeline("reader", reader))
            if lacking := frozenset(power for power in powers if not can(power, reading)):
                from .advice import cannot

                raise cannot(name, lacking, reading)
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
        from .advice import nothing_to_answer_from

        raise nothing_to_answer_from(self.components)

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


def check_question(question: str) -> None:
    """Raises InputError if `question` is too long: readers and retrievers would take minutes and gigabytes for it."""
    if len(question) > MOST_CHARACTERS:
        raise InputError(
            f"The question has {len(question):,} characters, and at most {MOST_CHARACTERS:,} are allowed.",
            hint="Ask a shorter question, and give long texts as documents or passages.",
        )


def _pool(trees: Sequence[Tree], query: str, toolbox: SessionToolbox) -> ExpressionPool:
    from .retrieval import ExpressionPool

    return ExpressionPool(trees, query, toolbox)


async def _closest(answer: Answer, toolbox: SessionToolbox) -> tuple[Citation, ...]:
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


def corrected(question: str, corrections: Mapping[str, str]) -> str:
    """Return a question with its misspelt words corrected."""
    for word, right in corrections.items():
        written = right.capitalize() if word[:1].isupper() else right
        question = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", written, question)
    return question


def _about(passage: Passage, asked: Set[str]) -> bool:
    """Whether the passage shares a word with the question, whose words are `asked`."""
    return not asked or not asked.isdisjoint(content_terms(with_title(passage.title, passage.text)))
