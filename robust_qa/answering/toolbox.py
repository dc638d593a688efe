"""The toolbox of one question. `robust_qa.protocols.Toolbox` documents its methods."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Unpack

import msgspec

from ..calls.contract import answer_of, attributed, corrected_by
from ..calls.pipeline import Call, Pipeline
from ..calls.trace import Trace
from ..config import options
from ..errors import ConfigError, MissingError, PluginError, RqaError
from ..expressions import (
    BUILT_IN,
    GIVEN,
    GIVEN_PARTS,
    Source,
    Top,
    Tree,
    expanded,
    parse_expression,
    sized,
    sources,
)
from ..kit.quotes import closest_quotes
from ..prompt import Layout, Prompt
from ..types import (
    Answer,
    Completion,
    Continuation,
    Decoding,
    Judgment,
    Message,
    Order,
    Passage,
    Power,
    Question,
    Quote,
    Reading,
)
from .components import Components
from .configured import split_reader

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..protocols import Asking, Generating, Pool

ADD_DOCUMENTS = "Give documents with --docs PATH, or index them once with `rqa index PATH`."
_DEFAULT_MAX_TOKENS = 1024
_KEPT = ("question", "components", "trace", "expression", "k", "given_k", "asked_for", "within")
_SAMPLES = 1000  # seeds of one repetition of a question


class SessionToolbox:
    """A strategy's only way to retrievers, readers and evaluators, for one question.

    `pool` makes the pool of expressions that several retrievers answer.
    `reader` and `evaluator` are the ones to use by default. `get_reader` and `get_evaluator` build them only if a
    question needs them; a given `reader` replaces the first.
    `expression`: the retriever expression to use by default (None: the question's own passages).
    `k`: the number of passages to retrieve. `given_k`: how many of the question's own to use (None: all).
    `asked_for`: the command line named the retriever, with -r or --docs.
    `within`: the strategies and evaluators that are working on this question, and may not be called again.
    `received` gets all passages that are retrieved, and `replies` all of the reader's, each with the documents that it
    was shown, in the order of their numbers. Strategies that hand passages on share both.
    """

    def __init__(
        self,
        question: Question,
        components: Components,
        trace: Trace | None = None,
        *,
        pool: Callable[[Sequence[Tree], str, SessionToolbox], Pool],
        reader: Pipeline | None = None,
        get_reader: Callable[[], Pipeline | None] = lambda: None,
        get_evaluator: Callable[[], Pipeline | None] = lambda: None,
        expression: Tree | None = None,
        k: int = 10,
        given_k: int | None = None,
        asked_for: bool = False,
        within: frozenset[str] = frozenset(),
        received: list[Passage] | None = None,
        replies: list[tuple[str, Sequence[Passage]]] | None = None,
    ) -> None:
        self.question = question
        self.new_pool = pool
        self.components = components
        self.trace = trace or Trace()
        self.expression = expression
        self.k = k
        self.given_k = given_k
        self.asked_for = asked_for
        self.within = within
        self.received = [] if received is None else received
        self.replies = [] if replies is None else replies
        self._get_reader = (lambda: reader) if reader else get_reader
        self._get_evaluator = get_evaluator
        self.retrieved: list[Passage] = []  # the first passages that the strategy got

    def replaced(self, **changes: Any) -> SessionToolbox:
        """A copy for another question, trace, reader, expression and so on. Nothing is retrieved yet."""
        kept = {name: getattr(self, name) for name in _KEPT}
        return SessionToolbox(
            **{
                **kept,
                "pool": self.new_pool,
                "get_reader": self._get_reader,
                "get_evaluator": self._get_evaluator,
                **changes,
            }
        )

    # -- what there is

    @property
    def generative(self) -> bool:
        return self.can("generate")

    @property
    def reader(self) -> Pipeline | None:
        """The reader. Raises the error of building it."""
        return self._get_reader()

    @property
    def evaluator(self) -> Pipeline | None:
        """The evaluator. Raises the error of building it."""
        return self._get_evaluator()

    @property
    def judges(self) -> bool:
        return hasattr(self.evaluator and self.evaluator.component, "judge")

    def can(self, power: Power) -> bool:
        """Whether the reader or the evaluator has that power. False for "retrieve"."""
        if power == "score":
            return self.evaluator is not None
        if power == "retrieve" or self.reader is None:
            return False
        return power == "read" or hasattr(self.reader.component, power)  # a model reads with the host's prompt

    @property
    def structured(self) -> bool:
        return self.reader is not None and bool(getattr(self.reader.component, "structured", False))

    @property
    def retriever(self) -> str | None:
        nothing = self.expression is None and self.question.passages is None
        return None if nothing else str(self._configured())

    def retrieval(self) -> dict[str, str]:
        if self.retriever is None:
            return {}
        tree = expanded(self._configured(), self.components.expressions)
        retrievers = [name for name in sources(tree) if name not in BUILT_IN]
        digests = {name: _digest(self.components.pipeline("retriever", name)) for name in retrievers}
        return {"expression": str(sized(tree, self.k, given_k=self.given_k)), **digests}

    @property
    def threshold(self) -> float:
        return float(getattr(self._reader().component, "threshold", 0.0))

    def thresholds(self, evaluator: str | None = None) -> tuple[float, float] | None:
        judge = self._evaluator(evaluator).component
        upper, lower = getattr(judge, "upper", None), getattr(judge, "lower", None)
        return None if upper is None or lower is None else (float(upper), float(lower))

    def asks_model(self, evaluator: str | None = None) -> bool:
        return "generate" in getattr(self._evaluator(evaluator).component, "needs", ())

    def titles(self, evaluator: str | None = None) -> bool:
        return bool(getattr(self._evaluator(evaluator).component, "titles", True))

    def trust(self, passage: Passage) -> float:
        return self.components.trust(passage)

    # -- retrieving

    async def retrieve(
        self, query: str | None = None, *, k: int | None = None, expression: str | None = None
    ) -> list[Passage]:
        if expression is None and self.expression is None and self.question.passages is not None:
            passages = self.given(GIVEN, k or self.given_k, query)
        else:
            tree = self._configured() if expression is None else parse_expression(expression)
            if k:
                tree = Top(tree.inner if isinstance(tree, Top) else tree, k)
            match sized(expanded(tree, self.components.expressions), self.k, given_k=self.given_k):
                case Top(Source(name), most) if name not in BUILT_IN:
                    text = self.question.text if query is None else query
                    passages = (await self.retrieve_from(name, text, most))[:most]
                    self.received += passages
                case _:
                    passages = await self._pool([tree], query).retrieve(str(tree))
        self.retrieved = self.retrieved or passages
        return passages

    def pool(self, expressions: Sequence[str], query: str | None = None) -> Pool:
        return self._pool([parse_expression(each) for each in expressions], query)

    def _pool(self, trees: Sequence[Tree], query: str | None) -> Pool:
        return self.new_pool(trees, self.question.text if query is None else query, self)

    def retrieve_from(self, name: str, query: str, k: int) -> Awaitable[list[Passage]]:
        """Passages from one retriever."""
        call: Call[list[Passage]] = Call("retrieve", (query, k), list[Passage], query, {"k": k})
        return self.components.pipeline("retriever", name).call(call, self.trace)

    def given(self, name: str, k: int | None, query: str | None) -> list[Passage]:
        """The question's own passages, or a part of them: no call, but a step in the trace."""
        passages = list(GIVEN_PARTS[name](self.question.passages or ()))[:k]
        self.received += passages
        data = {"passages": msgspec.to_builtins(passages)} if self.trace.detailed else None
        self.trace.add("retrieve", self.question.text if query is None else query, component=name, data=data)
        return passages

    async def write(self, prompt: str, passages: Sequence[Passage]) -> str:
        """The language model's reply to a prompt of retriever expressions, "" if it has nothing to say."""
        return await self.components.prompting.write(self, self.components.prompts[prompt], passages)

    async def correct(self, strategy: str, passages: list[Passage]) -> list[Passage]:
        """The passages as another strategy corrects them."""
        return await corrected_by(strategy, self.components.corrector(strategy), self._handing_to(strategy, passages))

    def _configured(self) -> Tree:
        if self.expression is not None:
            return self.expression
        if self.question.passages is None:
            raise _lacking("retriever")
        return Source(GIVEN)

    # -- asking the reader

    async def read(self, question: str, passages: Sequence[Passage], **how: Unpack[Asking]) -> Reading:
        reader = self._reader()
        if hasattr(reader.component, "read"):
            call: Call[Reading] = Call("read", (question, list(passages)), Reading, question)
            return await reader.call(call, self.trace)
        layout = self._layout(how.get("order", "descending"), how.get("seed"))
        return await self.components.prompting.read(self, question, passages, layout, how)

    def numbered(
        self, passages: Sequence[Passage], *, order: Order = "descending", seed: int | None = None
    ) -> list[Passage]:
        shown = self.components.prompting.shown_order(passages, self._layout(order, seed))
        return [passages[position] for position in shown]

    def _layout(self, order: Order, seed: int | None, *, source_aware: bool = False) -> Layout:
        own_seed = (getattr(self._reader().options, "seed", None) if seed is None else seed) or 0
        return Layout(order, f"{own_seed} {self.question.text!a}", source_aware, self.trust)

    async def quote(self, passages: Sequence[Passage]) -> list[Quote]:
        reader = self.reader
        if not passages or reader is None or not hasattr(reader.component, "quote"):
            return closest_quotes(self.question.text, passages)
        call: Call[list[Quote]] = Call("quote", (self.question.text, list(passages)), list[Quote], self.question.text)
        return await reader.call(call, self.trace)

    async def generate(
        self, prompt: Prompt | Sequence[Message] | str, *, reader: str | None = None, **how: Unpack[Generating]
    ) -> Completion:
        if reader:
            return await self.replaced(reader=self.components.pipeline("reader", reader)).generate(prompt, **how)
        completion = await self._reader().call(await self._generation(prompt, how), self.trace)
        shown = self.numbered(how.get("passages", ()), order=how.get("order", "descending"), seed=how.get("seed"))
        self.replies.append((completion.text, shown))
        return completion

    async def _generation(self, prompt: Prompt | Sequence[Message] | str, how: Generating) -> Call[Completion]:
        reader = self._reader()
        model = reader.component
        if not hasattr(model, "generate"):
            raise ConfigError(f"{reader.name} reads but does not write text.", hint="Configure a language model.")
        seed = how.get("seed")
        most = how.get("max_tokens") or getattr(model, "max_tokens", None) or _DEFAULT_MAX_TOKENS
        own_seed = (getattr(reader.options, "seed", None) if seed is None else seed) or 0
        if isinstance(prompt, Prompt):
            layout = self._layout(how.get("order", "descending"), seed, source_aware=how.get("source_aware", False))
            fields = how.get("fields") or {}
            messages = await self.components.prompting.messages(
                self, reader, prompt, how.get("passages", ()), fields=fields, layout=layout, reply_room=most
            )
        else:
            messages = [Message("user", prompt)] if isinstance(prompt, str) else list(prompt)
        number = how.get("sample", 0) + _SAMPLES * self.question.repetition
        seed = own_seed + number if number else seed
        decoding = Decoding(how.get("temperature"), most, seed, tuple(how.get("stop", ())), how.get("schema"))
        return Call(
            "generate",
            (messages, decoding),
            Completion,
            prompt.name if isinstance(prompt, Prompt) else "messages",
            {"prompt": msgspec.to_builtins(messages)} if self.trace.detailed else {},
            repeatable=_repeatable(reader.options, decoding),
            preview=how.get("preview"),
        )

    async def continue_text(
        self,
        prompt: str,
        *,
        top: int = 0,
        seed: int | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        stop: Sequence[str] = (),
        what: str = "text",
    ) -> Continuation:
        reader = self._reader()
        model = reader.component
        if not hasattr(model, "continue_text"):
            hint = "Configure a language model that gives log-probabilities."
            raise ConfigError(f"{reader.name} does not continue a text.", hint=hint)
        most = max_tokens or getattr(model, "max_tokens", None) or _DEFAULT_MAX_TOKENS
        decoding = Decoding(temperature, most, seed, tuple(stop))
        call: Call[Continuation] = Call(
            "continue_text",
            (prompt, decoding, top),
            Continuation,
            what,
            {"prompt": prompt} if self.trace.detailed else {},
            repeatable=_repeatable(reader.options, decoding),
        )
        continuation = await reader.call(call, self.trace)
        self.replies.append((continuation.text, ()))
        return continuation

    # -- asking the evaluator

    async def score(self, question: str, texts: Sequence[str], *, evaluator: str | None = None) -> list[float]:
        judge = self._evaluator(evaluator)
        if not texts:
            return []
        # An evaluator with `needs` asks other components through this question's toolbox, which is charged for it.
        helpers = (self.replaced(within=self.within | {judge.name}),) if hasattr(judge.component, "needs") else ()
        call: Call[list[float]] = Call("score", (question, list(texts), *helpers), list[float], f"{len(texts)} texts")
        return await judge.call(call, self.trace)

    async def judge(self, claim: str, texts: Sequence[str]) -> list[Judgment]:
        found: list[Judgment] = await self._from_encoder("judge", texts, claim)
        return found

    async def token_vectors(self, texts: Sequence[str]) -> list[NDArray[Any]]:
        vectors: list[NDArray[Any]] = await self._from_encoder("token_vectors", texts)
        return vectors

    async def tokens(self, texts: Sequence[str]) -> list[list[str]]:
        tokens: list[list[str]] = await self._from_encoder("tokens", texts)
        return tokens

    async def _from_encoder(self, method: str, texts: Sequence[str], *before: Any) -> Any:
        evaluator = self._evaluator(None)
        if not hasattr(evaluator.component, method):
            does = "judges no claims" if method == "judge" else "compares no tokens"
            raise ConfigError(
                f"{evaluator.name} {does}: it has no {method}().",
                hint="Configure an evaluator that has it, such as `embedded`.",
            )
        found = await evaluator.ask(method, *before, list(texts)) if texts else []
        if len(found) != len(texts):
            raise PluginError(f"{evaluator.name} returned the {method} of {len(found)} texts for {len(texts)}.")
        return found

    # -- handing on

    async def answer_with(self, strategy: str, passages: Sequence[Passage]) -> Answer:
        name, _ = split_reader(strategy)
        if name in self.within:
            raise ConfigError(f"Strategy {name!r} would answer with the passages that it is handing on itself.")
        toolbox = self._handing_to(strategy, passages)
        return await answer_of(strategy, self.components.strategy(strategy), toolbox, self.received)

    async def check(self, answer: Answer) -> Answer:
        evaluator = None
        with suppress(RqaError):  # its model is missing
            evaluator = self.evaluator
        if evaluator is None or not hasattr(evaluator.component, "judge"):
            evaluator = self.components.judging()
        judging = self.replaced(get_evaluator=lambda: evaluator, received=self.received, replies=self.replies)
        for name in self.components.host.names("checker"):
            with attributed(f"checker.{name}"):
                answer = await self.components.checker(name).check(answer, judging)
        return answer

    def note(self, what: str, /, **data: Any) -> None:
        try:
            data = msgspec.to_builtins(data)
        except (TypeError, RecursionError) as error:
            raise TypeError(f"the data of the note {what!r} cannot be written as JSON: {error}") from error
        self.trace.add("note", what, data=data)

    def _handing_to(self, strategy: str, passages: Sequence[Passage]) -> SessionToolbox:
        """A toolbox for another strategy, which retrieves just `passages`. The trace is shared."""
        question = dataclasses.replace(self.question, passages=tuple(passages))
        name, reader = split_reader(strategy)
        return self.replaced(
            question=question,
            reader=self.components.pipeline("reader", reader) if reader else None,
            expression=None,
            given_k=None,
            within=self.within | {name},
            received=self.received,
            replies=self.replies,
        )

    def _reader(self) -> Pipeline:
        if self.reader is None:
            raise _lacking("reader")
        return self.reader

    def _evaluator(self, name: str | None) -> Pipeline:
        judge = self.components.pipeline("evaluator", name) if name else self.evaluator
        if judge is None:
            raise _lacking("evaluator")
        if judge.name in self.within:
            hint = "Name another one: score(..., evaluator=NAME)."
            raise ConfigError(f"{judge.name} would judge with its own scores.", hint=hint)
        return judge


def _digest(pipeline: Pipeline) -> str:
    """A digest of what the component's results depend on: its options and its fingerprint."""
    content = repr((options.told(pipeline.options), pipeline.fingerprint or ""))
    return hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()[:16]


def _lacking(kind: str) -> MissingError:
    if kind == "retriever":
        return MissingError("There are no documents to search in.", hint=ADD_DOCUMENTS)
    article = "an" if kind == "evaluator" else "a"
    return MissingError(
        f"The strategy asks for {article} {kind}, and none is configured.",
        hint=f"Name one with `{kind} = ...` under [defaults], or in RQA_{kind.upper()}.",
    )


def _repeatable(reader_options: Any, decoding: Decoding) -> bool:
    """Whether the same request gives the same reply: greedy decoding, or sampling with a seed."""
    temperature, seed = decoding.temperature, decoding.seed
    if temperature is None:
        temperature = getattr(reader_options, "temperature", None)
    if seed is None:
        seed = getattr(reader_options, "seed", None)
    return temperature == 0 or seed is not None
