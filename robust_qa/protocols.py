"""What a component looks like to the host: protocols for type checkers and readers, nothing to inherit from.

`Registry` takes components of these types, so that a type checker tells a plugin's author where one does not fit.
Every method may be `async def` or `def`; the host runs a `def` in a worker thread, and hands in arguments by position.
rqa-plugin(7) has what else a component may have: what is optional is no part of a protocol.
"""

from __future__ import annotations

from collections.abc import Awaitable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from .errors import RqaError
from .types import (
    Answer,
    Completion,
    Continuation,
    Decoding,
    Message,
    Order,
    Passage,
    Question,
    Reading,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .prompt import Prompt


class Retriever(Protocol):
    """Query to passages, the most relevant first, at most `k`. The query is data: any text must do."""

    def retrieve(self, query: str, k: int, /) -> list[Passage] | Awaitable[list[Passage]]: ...


class ExtractiveReader(Protocol):
    """A reader that finds answers in passages. A reader may also be a LanguageModel, or only that."""

    def read(self, question: str, passages: list[Passage], /) -> Reading | Awaitable[Reading]: ...


class LanguageModel(Protocol):
    """A reader that writes."""

    def generate(self, messages: list[Message], decoding: Decoding, /) -> Completion | Awaitable[Completion]: ...


class Evaluator(Protocol):
    """Relevance of each text to the question, in [-1, 1], in the order given."""

    def score(self, question: str, texts: list[str], /) -> list[float] | Awaitable[list[float]]: ...


class AssistedEvaluator(Protocol):
    """An evaluator that judges with a reader's help, through the toolbox of the question: it has those `needs`."""

    @property
    def needs(self) -> Collection[str]: ...

    def score(self, question: str, texts: list[str], toolbox: Toolbox, /) -> list[float] | Awaitable[list[float]]: ...


class Embedder(Protocol):
    """Texts to vectors, shape (len(texts), width), in the order given. The host scales them to length 1."""

    def embed(
        self, texts: list[str], /
    ) -> NDArray[Any] | Sequence[Sequence[float]] | Awaitable[NDArray[Any] | Sequence[Sequence[float]]]: ...


class EmbedderHandle(Protocol):
    """A configured embedder, as given to a component with an option of type EmbedderName.

    It is built when you first call `embed` or read `name` or `identity`. That raises ConfigError or MissingError if
    it cannot be built.
    """

    @property
    def name(self) -> str:
        """The name in the configuration."""

    @property
    def identity(self) -> str:
        """A digest of plugin, version, options and fingerprint: vectors of equal identity can be compared."""

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of length 1, shape (len(texts), width). Shape (0, 0) without texts.

        Limited, retried, batched and cached. Raises CallError if the embedder fails.
        """


class Strategy(Protocol):
    """Question to Answer, through the toolbox alone. `needs` names the powers it cannot work without."""

    @property
    def needs(self) -> Collection[str]: ...

    async def answer(self, question: str, toolbox: Toolbox, /) -> Answer: ...


class Pool(Protocol):
    """Several retriever expressions over one question. Equal parts are computed once."""

    @property
    def expressions(self) -> tuple[str, ...]:
        """The expressions that can be evaluated here."""

    @property
    def left_out(self) -> dict[str, RqaError]:
        """The other expressions, each with the ConfigError or MissingError that explains why."""

    async def retrieve(self, expression: str, /) -> list[Passage]:
        """The passages of one of the expressions.

        Raises the error in `left_out`, or CallError if a retriever, the evaluator or the reader fails.
        """


class Toolbox(Protocol):
    """A strategy's only way to retrievers, readers and evaluators.

    Every call is limited, retried, batched, cached and traced. Passages come from `retrieve`, or from a `pool` when a
    strategy has several retriever expressions::

        pool = toolbox.pool(["web@4", "wiki@5 & web@2", "none"])
        for expression, error in pool.left_out.items():
            toolbox.note(f"{expression} is left out: {error.message}")
        async with asyncio.TaskGroup() as group:
            found = [group.create_task(pool.retrieve(expression)) for expression in pool.expressions]
    """

    @property
    def question(self) -> Question:
        """The question as it came in."""

    @property
    def asked_for(self) -> bool:
        """Whether the command line named what `retrieve` follows, with -r or --docs."""

    @property
    def generative(self) -> bool:
        """Whether the reader writes text. Otherwise it only points at answers."""

    @property
    def structured(self) -> bool:
        """Whether the reader constrains its replies to a JSON schema."""

    @property
    def retriever(self) -> str | None:
        """The expression that `retrieve` follows, "given" for the question's own passages, None without either."""

    def retrieval(self) -> dict[str, str]:
        """The expression that `retrieve` follows, with its numbers, and a digest of each retriever in it.

        Empty if there is nothing to retrieve from. Raises ConfigError or MissingError if a retriever is missing.
        """

    def thresholds(self, evaluator: str | None = None) -> tuple[float, float] | None:
        """`upper` and `lower` of the configured evaluator, or of the one named; None if it has none.

        A text with a score of `upper` or more answers the question; one below `lower` does not. Raises ConfigError or
        MissingError if there is no such evaluator.
        """

    async def retrieve(
        self, query: str | None = None, *, k: int | None = None, expression: str | None = None
    ) -> list[Passage]:
        """Passages for `query` (default: the question), the most relevant first.

        They are the question's own passages if it brought some, otherwise those of the configured retriever, or those
        of `expression`, such as "web@5 & wiki@5". `k` overrides the configured number of passages; all of a
        question's own passages are used by default. Retrievers get `query`. Reranking, compression and correction
        inside an expression work by the question.

        Raises ConfigError or MissingError if the expression cannot be evaluated here, CallError if a call fails.
        """

    def pool(self, expressions: Sequence[str], query: str | None = None) -> Pool:
        """Several retriever expressions over `query` (default: the question).

        Makes no call. Raises ExpressionError if an expression does not parse.
        """

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
        """The answer to `question` in `passages` (most relevant first).

        A language model is asked with `prompt` (default: the host's reading prompt). `Reading.passages` are positions
        in `passages` as handed in, whatever the `order`.
        """

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

        `fields` fill the prompt's fields. `{question}` is filled from the question and `{passages}` with `passages`,
        numbered from 1 as handed in (most relevant first), whatever `order` shows them in. Passages that overflow the
        reader's window are cut, the least relevant first. `seed` seeds the sampling and, together with the question,
        the random order. `sample` numbers further replies to the same prompt: each gets the seed plus its number, and
        the passages in the same order.
        """

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
        """The language model's continuation of `prompt`, without a chat template.

        Special tokens in `prompt` count as such: break up those in passages and questions. `top` is the number of
        likeliest tokens to report at each place. `what` describes the call in the trace. Raises ContextError if the
        prompt overflows the window: nothing is cut.
        """

    async def score(self, question: str, texts: Sequence[str], *, evaluator: str | None = None) -> list[float]:
        """Relevance of each text to `question` in [-1, 1], by the configured evaluator or the one named.

        Raises ConfigError or MissingError if there is no such evaluator.
        """

    async def token_vectors(self, texts: Sequence[str]) -> list[NDArray[Any]]:
        """For each text the contextual vectors of its tokens, shape (tokens, width), each of length 1.

        Raises ConfigError if the configured evaluator has no such vectors.
        """

    async def tokens(self, texts: Sequence[str]) -> list[list[str]]:
        """The tokens that `token_vectors` gives vectors for. Raises ConfigError if the evaluator cannot list them."""

    async def answer_with(self, strategy: str, passages: Sequence[Passage]) -> Answer:
        """The answer of another strategy from these passages alone, in the same trace.

        Name that strategy in your own `hands_to`. Raises ConfigError if there is no such strategy, or if it is
        already answering this question.
        """

    def note(self, what: str, /, **data: Any) -> None:
        """Record a decision in the trace. Raises TypeError if `data` cannot be written as JSON."""


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What one indexing run did; counts of files, and of passages now in the index."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    passages: int = 0
    skipped: tuple[tuple[str, str], ...] = ()  # (path, why)
    folder: str = ""  # of the index; `rqa index` warns when other users can read it


class IndexProgress(Protocol):
    """Told now and then how far indexing is: files done, files in all (0: not known yet), passages so far."""

    def __call__(self, done: int, total: int, passages: int) -> None: ...


def are_names(value: Any) -> bool:
    """Whether it is a set or a list of names, which a text by itself is not."""
    return isinstance(value, Collection) and not isinstance(value, str) and all(isinstance(it, str) for it in value)
