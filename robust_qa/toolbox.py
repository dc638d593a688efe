"""The toolbox: a strategy's only way out to retrievers, readers and evaluators."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from . import reading, settings
from .calls import Call, Channel
from .channels import Channels
from .context import Layout, fit_window
from .errors import ConfigError, MissingError, PluginError
from .expressions import BUILT_IN, GIVEN, Source, Top, Tree, expanded, parse_expression, sized, sources
from .faults import answer_of
from .order import Order
from .pool import Pool
from .prompts import Prompt, fenced
from .trace import Trace
from .types import Answer, Completion, Continuation, Decoding, Message, Passage, Question, Reading

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DEFAULT_MAX_TOKENS = 1024


class Toolbox:
    """What a strategy is handed for one question; every call is limited, retried, batched, cached, traced.

    Passages come from `retrieve`, which follows the configuration or a retriever expression of the strategy's own,
    and for several expressions at once from a `pool`::

        pool = toolbox.pool(["web@4", "wiki@5 & web@2", "none"])
        for expression, why in pool.left_out.items():
            toolbox.note(f"{expression} is left out: {why.message}")
        async with asyncio.TaskGroup() as group:
            found = [group.create_task(pool.retrieve(expression)) for expression in pool.expressions]
    """

    def __init__(self, question: Question, channels: Channels, trace: Trace | None = None) -> None:
        self.question = question
        self.trace = trace or Trace()
        self.asked_for = channels.asked_for  # whether this run names what `retrieve` follows, with -r or --docs
        self._channels = channels

    @property
    def generative(self) -> bool:
        """Whether the reader writes text, or only points at answers."""
        return self._channels.can("generate")

    @property
    def structured(self) -> bool:
        """Whether the reader constrains its replies to a JSON schema."""
        reader = self._channels.reader
        return reader is not None and bool(getattr(reader.component, "structured", False))

    @property
    def retriever(self) -> str | None:
        """The expression that `retrieve` follows by default, "given" for the question's own passages; None without."""
        nothing = self._channels.expression is None and self.question.passages is None
        return None if nothing else str(self._configured())

    def retrieval(self) -> dict[str, str]:
        """What `retrieve` follows by default: the expression with its numbers, and a digest of each retriever in it.

        Empty where there is nothing to retrieve from. ConfigError or MissingError where a retriever is not there.
        """
        if self.retriever is None:
            return {}
        channels = self._channels
        whole = expanded(self._configured(), channels.names.expressions)
        retrievers = [name for name in sources(whole) if name not in BUILT_IN]
        digests = {name: _digest(channels.names.retriever(name)) for name in retrievers}
        return {"expression": str(sized(whole, channels.k, given_k=channels.given_k)), **digests}

    def thresholds(self, evaluator: str | None = None) -> tuple[float, float] | None:
        """`upper` and `lower` of the configured evaluator, or the one named; None where it has none.

        A score of `upper` or more says that a text answers the question, one under `lower` that it does not. Raises
        ConfigError or MissingError where there is none of that name.
        """
        judge = self._judge(evaluator).component
        upper, lower = getattr(judge, "upper", None), getattr(judge, "lower", None)
        return None if upper is None or lower is None else (float(upper), float(lower))

    async def retrieve(
        self, query: str | None = None, *, k: int | None = None, expression: str | None = None
    ) -> list[Passage]:
        """Passages for `query` (default: the question), the most relevant first.

        The question's own passages where it brought some, otherwise the configured retriever's; or those of
        `expression`, as in "web@5 & wiki@5". `k` takes the place of the number that the expression ends in, or that
        is configured; of a question's own passages all are taken by default. Retrievers are asked `query`; what ranks,
        writes or corrects passages in an expression goes by the question.

        Raises ConfigError or MissingError where the expression cannot be evaluated here, CallError where a call fails.
        """
        tree = self._configured() if expression is None else parse_expression(expression)
        if k:
            tree = Top(tree.inner if isinstance(tree, Top) else tree, k)
        return await Pool(self, self._channels, [tree], query).retrieve(tree)

    def pool(self, expressions: Sequence[str], query: str | None = None) -> Pool:
        """Several retriever expressions over `query` (default: the question), which share what they have in common.

        Makes no call, and reports what cannot be evaluated here in `Pool.left_out`. Raises ExpressionError
        where one does not parse.
        """
        return Pool(self, self._channels, map(parse_expression, expressions), query)

    def _need(self, kind: Literal["reader", "evaluator"]) -> Channel:
        channel: Channel | None = getattr(self._channels, kind)
        if channel is None:
            raise _lacking(kind)
        return channel

    def _judge(self, evaluator: str | None) -> Channel:
        judge = self._channels.names.evaluator(evaluator) if evaluator else self._need("evaluator")
        if judge.name in self._channels.within:
            hint = "Let the one that it judges with be another: score(..., evaluator=NAME)."
            raise ConfigError(f"{judge.name} would judge with its own scores.", hint=hint)
        return judge

    def _within(self, name: str) -> Toolbox:
        """A toolbox for that evaluator, which does not judge for itself with it."""
        within = self._channels.within | {name}
        return Toolbox(self.question, dataclasses.replace(self._channels, within=within), self.trace)

    def _configured(self) -> Tree:
        if self._channels.expression is not None:
            return self._channels.expression
        if self.question.passages is None:
            raise _lacking("retriever")
        return Source(GIVEN)

    async def read(
        self,
        question: str,
        passages: Sequence[Passage],
        *,
        prompt: Prompt | None = None,
        order: Order = "descending",
        seed: int | None = None,
        sample: int = 0,
        temperature: float | None = None,
    ) -> Reading:
        """The answer to `question` in `passages` (most relevant first), by whichever power the reader has.

        `prompt` replaces the host's reading prompt for generative readers, and `temperature` how they are
        configured; `Reading.passages` are positions in `passages` as handed in, whatever the order.
        """
        reader = self._need("reader")
        if hasattr(reader.component, "read"):
            call: Call[Reading] = Call("read", (question, list(passages)), Reading, question)
            return await reader.call(call, self.trace)
        completion = await self.generate(
            prompt or reading.PROMPT,
            passages=passages,
            fields={"question": fenced(question), "format": reading.reply_format(self.structured)},
            order=order,
            seed=seed,
            sample=sample,
            temperature=temperature,
            schema=reading.SCHEMA if self.structured else None,
        )
        return reading.parse_reading(completion, passages)

    async def generate(
        self,
        prompt: Prompt | Sequence[Message] | str,
        *,
        passages: Sequence[Passage] = (),
        fields: Mapping[str, str] | None = None,
        order: Order = "descending",
        seed: int | None = None,
        sample: int = 0,
        source_aware: bool = False,
        temperature: float | None = None,
        max_tokens: int | None = None,
        schema: Mapping[str, Any] | None = None,
        stop: Sequence[str] = (),
    ) -> Completion:
        """One reply of the language model to `prompt`.

        `fields` fill the prompt's fields; `{question}` is filled from the question and `{passages}` with
        `passages`, numbered from 1 in the order handed in (most relevant first) whatever `order` lays
        them out in. Passages that overflow the reader's window are cut from the least relevant end.
        `seed` seeds the sampling and, with the question, the random order; of several replies to one prompt the
        one numbered `sample` is drawn with the seed so many further on, from passages in the same order.
        """
        reader = self._need("reader")
        model = reader.component
        if not hasattr(model, "generate"):
            raise ConfigError(f"{reader.name} reads, and does not write.", hint="Configure a language model.")
        bound = max_tokens or getattr(model, "max_tokens", None) or _DEFAULT_MAX_TOKENS
        own_seed = (getattr(reader.options, "seed", None) if seed is None else seed) or 0
        if isinstance(prompt, Prompt):
            layout = Layout(order, f"{own_seed} {self.question.text!a}", source_aware)
            messages = await self._fitted(prompt, passages, fields or {}, layout, reply_room=bound)
        else:
            messages = [Message("user", prompt)] if isinstance(prompt, str) else list(prompt)
        decoding = Decoding(temperature, bound, own_seed + sample if sample else seed, tuple(stop), schema)
        call: Call[Completion] = Call(
            "generate",
            (messages, decoding),
            Completion,
            prompt.name if isinstance(prompt, Prompt) else "messages",
            {"prompt": msgspec.to_builtins(messages)} if self.trace.detailed else {},
            repeatable=_repeatable(reader.options, decoding),
        )
        return await reader.call(call, self.trace)

    async def _fitted(
        self, prompt: Prompt, passages: Sequence[Passage], fields: Mapping[str, str], layout: Layout, *, reply_room: int
    ) -> list[Message]:
        """The messages of `prompt`, in what the window leaves beside `reply_room` tokens; notes what is cut."""
        fields = {"question": fenced(self.question.text), **fields}
        fitted = await fit_window(self._need("reader"), prompt, passages, fields, layout, reply_room=reply_room)
        if fitted.dropped or fitted.shortened:
            self.note(
                f"{len(fitted.dropped)} passages left out and {len(fitted.shortened)} shortened to fit the window",
                dropped=list(fitted.dropped),
                shortened=list(fitted.shortened),
            )
        return fitted.messages

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
        """What the language model writes right after `prompt`, as it stands, with no chat template around it.

        Special tokens in `prompt` count as such: break up those that a passage or a question spells out. Of each
        token written the `top` likeliest are told. `what` is for the trace. ContextError when the prompt overflows
        the window: nothing is cut.
        """
        reader = self._need("reader")
        model = reader.component
        if not hasattr(model, "continue_text"):
            hint = "Configure a language model that gives log-probabilities."
            raise ConfigError(f"{reader.name} does not continue a text.", hint=hint)
        bound = max_tokens or getattr(model, "max_tokens", None) or _DEFAULT_MAX_TOKENS
        decoding = Decoding(temperature, bound, seed, tuple(stop))
        call: Call[Continuation] = Call(
            "continue_text",
            (prompt, decoding, top),
            Continuation,
            what,
            {"prompt": prompt} if self.trace.detailed else {},
            repeatable=_repeatable(reader.options, decoding),
        )
        return await reader.call(call, self.trace)

    async def score(self, question: str, texts: Sequence[str], *, evaluator: str | None = None) -> list[float]:
        """Relevance of each of `texts` to `question` in [-1, 1], by the configured evaluator or the one named.

        Raises ConfigError or MissingError where there is none of that name.
        """
        judge = self._judge(evaluator)
        if not texts:
            return []
        # One that judges with other components' help has them from here, so that the question is charged with it.
        helpers = (self._within(judge.name),) if hasattr(judge.component, "needs") else ()
        call: Call[list[float]] = Call("score", (question, list(texts), *helpers), list[float], f"{len(texts)} texts")
        return await judge.call(call, self.trace)

    async def token_vectors(self, texts: Sequence[str]) -> list[NDArray[Any]]:
        """For each of `texts` the contextual vectors of its tokens, (tokens, width), each of length 1.

        From the configured evaluator. ConfigError when that has none to give.
        """
        vectors: list[NDArray[Any]] = await self._from_encoder("token_vectors", texts)
        return vectors

    async def tokens(self, texts: Sequence[str]) -> list[list[str]]:
        """The tokens that `token_vectors` gives vectors of. ConfigError when the evaluator does not tell them."""
        tokens: list[list[str]] = await self._from_encoder("tokens", texts)
        return tokens

    async def _from_encoder(self, method: str, texts: Sequence[str]) -> Any:
        evaluator = self._judge(None)
        if not hasattr(evaluator.component, method):
            raise ConfigError(
                f"{evaluator.name} compares no tokens: it has no {method}().",
                hint="Configure an evaluator that has, or do without what is asked of it.",
            )
        found = await evaluator.ask(method, list(texts)) if texts else []
        if len(found) != len(texts):
            raise PluginError(f"{evaluator.name} gave the {method} of {len(found)} texts for {len(texts)}.")
        return found

    async def answer_with(self, strategy: str, passages: Sequence[Passage]) -> Answer:
        """What another strategy answers to the question from these passages alone, in this trace.

        The strategy that asks names it in `hands_to`, so that what it needs is there. Raises ConfigError where
        there is no such strategy, or it is the one that asks.
        """
        if strategy in self._channels.within:
            raise ConfigError(f"Strategy {strategy!r} would answer with the passages that it is handing on itself.")
        return await answer_of(strategy, self._channels.names.strategy(strategy), self.handing(strategy, passages))

    def handing(self, strategy: str, passages: Sequence[Passage]) -> Toolbox:
        """A toolbox for another strategy, to which `passages` are what is retrieved; the trace is shared."""
        question = dataclasses.replace(self.question, passages=tuple(passages))
        channels = dataclasses.replace(
            self._channels, expression=Source(GIVEN), given_k=None, within=self._channels.within | {strategy}
        )
        return Toolbox(question, channels, self.trace)

    def note(self, what: str, /, **data: Any) -> None:
        """Put a decision, and why, into the trace. Raises TypeError where `data` is nothing that JSON can hold."""
        try:
            data = msgspec.to_builtins(data)
        except (TypeError, RecursionError) as error:
            raise TypeError(f"the data of the note {what!r} cannot be written as JSON: {error}") from error
        self.trace.add("note", what, data=data)


def _digest(channel: Channel) -> str:
    """Of what its results depend on: its options, and what it says itself."""
    content = repr((settings.told(channel.options), channel.fingerprint or ""))
    return hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()[:16]


def _lacking(kind: str) -> MissingError:
    return MissingError(
        f"The strategy asks for {'an' if kind[0] in 'aeiou' else 'a'} {kind}, and none is configured.",
        hint=f"Name one with `{kind} = ...` under [defaults], or RQA_{kind.upper()}.",
    )


def _repeatable(options: Any, decoding: Decoding) -> bool:
    """Greedy, or sampled with a seed: the same request gives the same reply."""
    temperature = decoding.temperature if decoding.temperature is not None else getattr(options, "temperature", None)
    seed = decoding.seed if decoding.seed is not None else getattr(options, "seed", None)
    return temperature == 0 or seed is not None
