"""The protocols of components. Plugins need not inherit from them.

`Registry` is typed with them, so that a type checker finds a component that does not fit. Every method may be
`async def` or `def`. The host runs a `def` in a worker thread, and passes arguments by position. Optional methods are
not part of a protocol; see rqa-plugin(7).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, Unpack

from .errors import RqaError
from .types import (
    Answer,
    Completion,
    Continuation,
    Decoding,
    Judgment,
    Message,
    Order,
    Passage,
    Question,
    Quote,
    Reading,
    Usage,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .prompt import Prompt


class Retriever(Protocol):
    """Returns at most `k` passages for a query, most relevant first. The query may be any text."""

    def retrieve(self, query: str, k: int, /) -> list[Passage] | Awaitable[list[Passage]]: ...


class ExtractiveReader(Protocol):
    """A reader that finds answers in passages. A reader may be this, a LanguageModel, or both.

    It may also have `quote(question, passages) -> list[Quote]`: the parts that most likely answer, best first. They are
    shown beside the answer, or without one.
    """

    def read(self, question: str, passages: list[Passage], /) -> Reading | Awaitable[Reading]: ...


class LanguageModel(Protocol):
    """A reader that generates text.

    It may also have `generate_stream(messages, decoding, on_text) -> Completion`, which does the same and calls
    `on_text` with each piece of the reply when it is there.
    """

    def generate(self, messages: list[Message], decoding: Decoding, /) -> Completion | Awaitable[Completion]: ...


class Evaluator(Protocol):
    """Returns the relevance of each text to the question in [-1, 1], in the order of the texts."""

    def score(self, question: str, texts: list[str], /) -> list[float] | Awaitable[list[float]]: ...


class AssistedEvaluator(Protocol):
    """An evaluator that uses other components through the toolbox. `needs` names their powers."""

    @property
    def needs(self) -> Collection[str]: ...

    def score(self, question: str, texts: list[str], toolbox: Toolbox, /) -> list[float] | Awaitable[list[float]]: ...


class Embedder(Protocol):
    """Texts to vectors, shape (len(texts), width), in the order given. The host scales them to length 1.

    If it has an attribute `languages`, a collection of ISO 639 codes, its vectors are not used for other languages.
    If it has an attribute `query_prefix`, that text stands before each question, unlike passages.
    """

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

    @property
    def languages(self) -> Collection[str] | None:
        """The ISO 639 codes of the languages that it knows, None if it does not say."""

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of length 1, shape (len(texts), width). Shape (0, 0) without texts.

        Limited, retried, batched and cached. Raises CallError if the embedder fails.
        """

    async def embed_query(self, question: str) -> NDArray[np.float32]:
        """The vector of a question, with which those of passages are compared. Otherwise as `embed`."""


class Strategy(Protocol):
    """Answers a question with the toolbox alone. `needs` names the powers that it requires."""

    @property
    def needs(self) -> Collection[str]: ...

    async def answer(self, question: str, toolbox: Toolbox, /) -> Answer: ...


class Checker(Protocol):
    """Examines the answers that a language model wrote. Its options are in the table of its name."""

    async def check(self, answer: Answer, toolbox: Toolbox, /) -> Answer:
        """Return `answer` with what is found: checks of its sentences, citations, conflicts, doubts.

        `toolbox.received` has the passages that were retrieved, and `toolbox.replies` those of the model.
        """


class Recorder(Protocol):
    """Keeps answers. Its options are in the table of its name; with `enabled = false` it is not built.

    It may also have `questions(command, limit) -> list[str]`: those of that command among its newest answers.
    """

    def add(self, answer: Answer, command: str, /) -> str | None:
        """Keep an answer of that command, such as "ask". May return a notice for the user.

        It is a plain `def`, which runs in a thread. What it raises becomes one warning.
        """


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


class Generating(TypedDict, total=False):
    """How `Toolbox.generate` asks: what the prompt shows, and how the reply is decoded."""

    passages: Sequence[Passage]
    """Those for `{passages}`, the most relevant first. If they exceed the window, the least relevant are cut."""
    fields: Mapping[str, str]
    """Values for the prompt's other fields. `{question}` becomes the question."""
    order: Order
    """The order of the passages in the prompt, which numbers them from 1 in any case."""
    source_aware: bool
    """Whether each passage is shown with its source."""
    seed: int | None
    """Seeds the sampling and, together with the question, the random order."""
    sample: int
    """The number of a further reply to the same prompt. It uses the seed plus this, and the same order."""
    temperature: float | None
    max_tokens: int | None
    stop: Sequence[str]
    schema: Mapping[str, Any] | None
    """A JSON schema for the reply, if the reader is `structured`."""
    preview: Callable[[str], str] | None
    """Returns the answer in the first part of a reply, or "". With it, the answer is shown while it is written."""


class Asking(TypedDict, total=False):
    """How `Toolbox.read` asks a language model: the prompt, and `order` to `temperature` as in Generating."""

    prompt: Prompt | None
    """Default: the reading prompt of rqa."""
    order: Order
    seed: int | None
    sample: int
    temperature: float | None
    abstain: bool
    """False: an answer is asked for in any case."""
    final: bool
    """The answer will be the strategy's, so it may be shown while the model writes it."""


class Toolbox(Protocol):
    """A strategy's only way to retrievers, readers and evaluators.

    Every call is limited, retried, batched, cached and traced. Passages come from `retrieve`, or from a `pool` when a
    strategy has several retriever expressions:

        pool = toolbox.pool(["web@4", "wiki@5 & web@2", "none"])
        for expression, error in pool.left_out.items():
            toolbox.note(f"{expression} is left out: {error.message}")
        async with asyncio.TaskGroup() as group:
            found = [group.create_task(pool.retrieve(expression)) for expression in pool.expressions]
    """

    @property
    def question(self) -> Question:
        """The question as it was asked."""

    @property
    def asked_for(self) -> bool:
        """Whether the command line named the retriever, with -r or --docs."""

    @property
    def generative(self) -> bool:
        """Whether the reader generates text. Otherwise it extracts answers."""

    @property
    def structured(self) -> bool:
        """Whether the reader constrains its replies to a JSON schema."""

    @property
    def retriever(self) -> str | None:
        """The default expression of `retrieve`: "given" for the question's own passages, None if there is nothing."""

    @property
    def received(self) -> Sequence[Passage]:
        """All passages that were retrieved for the question, by whatever strategy."""

    @property
    def replies(self) -> Sequence[tuple[str, Sequence[Passage]]]:
        """The language model's replies, each with the documents that it was shown, in the order of their numbers."""

    @property
    def judges(self) -> bool:
        """Whether the evaluator judges claims, so that `judge` can be called."""

    def retrieval(self) -> dict[str, str]:
        """Return the default expression of `retrieve`, with its numbers, and a digest of each retriever in it.

        Empty if there is nothing to retrieve from. Raises ConfigError or MissingError if a retriever is missing.
        """

    def titles(self, evaluator: str | None = None) -> bool:
        """Whether the evaluator reads the titles of passages with their texts."""

    @property
    def threshold(self) -> float:
        """The confidence from which the reader is sure of an answer, 0 if it gives none."""

    def thresholds(self, evaluator: str | None = None) -> tuple[float, float] | None:
        """`upper` and `lower` of the configured evaluator, or of the one named; None if it has none.

        A text with a score of `upper` or more answers the question; one below `lower` does not. Raises ConfigError or
        MissingError if there is no such evaluator.
        """

    def asks_model(self, evaluator: str | None = None) -> bool:
        """Return whether the configured evaluator, or the one named, asks a language model about each text.

        Raises ConfigError or MissingError if there is no such evaluator.
        """

    def trust(self, passage: Passage) -> float:
        """Return the weight of the passage's source in the configuration, 0 or more, 1 by default."""

    async def retrieve(
        self, query: str | None = None, *, k: int | None = None, expression: str | None = None
    ) -> list[Passage]:
        """Passages for `query` (default: the question), the most relevant first.

        Uses `expression`, such as "web@5 & wiki@5", else the question's own passages, else the configured retriever.
        `k` overrides the configured number of passages; the default is all of a question's own passages. Retrievers
        get `query`. Reranking, compression and correction inside an expression use the question.

        Raises ConfigError or MissingError if the expression cannot be evaluated here, CallError if a call fails.
        """

    def pool(self, expressions: Sequence[str], query: str | None = None) -> Pool:
        """Several retriever expressions over `query` (default: the question).

        Makes no call. Raises ExpressionError if an expression does not parse.
        """

    async def read(self, question: str, passages: Sequence[Passage], **how: Unpack[Asking]) -> Reading:
        """Return the answer to `question` in `passages` (most relevant first).

        A language model is asked as `how` says, and may answer that the passages do not contain the answer.
        `Reading.passages` are positions in `passages`, independent of the order.
        """

    def numbered(
        self, passages: Sequence[Passage], *, order: Order = "descending", seed: int | None = None
    ) -> list[Passage]:
        """Return `passages` (most relevant first) in the order of their numbers in a prompt of `generate`.

        A prompt numbers them from 1 as it shows them, and those from the reader's memory last.
        """

    async def quote(self, passages: Sequence[Passage], /) -> list[Quote]:
        """The parts of `passages` that most likely answer the question, best first: by the reader, or by words.

        Raises CallError if the reader fails.
        """

    async def generate(
        self, prompt: Prompt | Sequence[Message] | str, *, reader: str | None = None, **how: Unpack[Generating]
    ) -> Completion:
        """Return one reply of the language model to `prompt`, as `how` says.

        `reader` names another language model than the question's; also name it in your `read_by`.
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
        """Return the language model's continuation of `prompt`, without a chat template.

        Special tokens in `prompt` have their effect, so escape those in passages and questions. `top` is the number of
        most likely tokens to return at each position. `what` describes the call in the trace. Raises ContextError if
        the prompt exceeds the window.
        """

    async def score(self, question: str, texts: Sequence[str], *, evaluator: str | None = None) -> list[float]:
        """Relevance of each text to `question` in [-1, 1], by the configured evaluator or the one named.

        Raises ConfigError or MissingError if there is no such evaluator.
        """

    async def judge(self, claim: str, texts: Sequence[str]) -> list[Judgment]:
        """Whether each text supports `claim`, contradicts it or leaves it open. A yes-or-no question is a claim, too.

        Raises ConfigError if the configured evaluator does not judge claims.
        """

    async def token_vectors(self, texts: Sequence[str]) -> list[NDArray[Any]]:
        """For each text the contextual vectors of its tokens, shape (tokens, width), each of length 1.

        Raises ConfigError if the configured evaluator has no such vectors.
        """

    async def tokens(self, texts: Sequence[str]) -> list[list[str]]:
        """The tokens that `token_vectors` gives vectors for. Raises ConfigError if the evaluator cannot list them."""

    async def answer_with(self, strategy: str, passages: Sequence[Passage]) -> Answer:
        """Return the answer of another strategy from these passages alone, in the same trace.

        "rag:small" is strategy `rag` with the reader `small`. Name it in your `hands_to`. Raises ConfigError if it does
        not exist or is already answering this question.
        """

    async def check(self, answer: Answer) -> Answer:
        """Return `answer` with each of its sentences checked against the passages that were retrieved.

        The host does so with each answer that a language model wrote. Call it if your decision depends on it.
        """

    def note(self, what: str, /, **data: Any) -> None:
        """Record a decision in the trace. Raises TypeError if `data` cannot be written as JSON.

        `reply` in the data is the model's reply that the strategy ends with, if that is not the last one ("": none).
        """


class ReaderHandle(Protocol):
    """A configured reader, as an engine sees it."""

    @property
    def name(self) -> str:
        """The kind and the name, such as "reader.gpt"."""

    @property
    def component(self) -> Any:
        """The reader itself."""

    def cost(self, usage: Usage, /) -> float | None:
        """Return the price of `usage` by the prices in the configuration, None without prices."""


class Relay(Protocol):
    """Makes calls of readers in another way, such as in batches of the provider."""

    async def generate(self, reader: ReaderHandle, messages: list[Message], decoding: Decoding, /) -> Completion | None:
        """Return the reply of the reader. None to leave the call to the reader itself, within its limits.

        The call has no timeout. Raises UnavailableError with `general=True, limited=True` to end the run.
        """


@dataclass(frozen=True, slots=True)
class IndexReport:
    """The result of an indexing run: numbers of files, and of passages now in the index."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    passages: int = 0
    skipped: tuple[tuple[str, str], ...] = ()  # (path, why)
    folder: str = ""  # of the index; `rqa index` warns when other users can read it
    pending: int = 0  # files that changed and were not read again; only of `refresh`
    advice: str = ""  # what else the user should know, such as which files were not read before
    unread: int = 0  # new or changed files that hold no text or cannot be read


class IndexedFile(Protocol):
    """A file of an index: how many passages it has, and what was not read of it, with reasons."""

    @property
    def passages(self) -> int: ...

    @property
    def skipped(self) -> Sequence[tuple[str, str]]: ...


class IndexProgress(Protocol):
    """Called at intervals with the numbers of finished files, all files (0: not known yet) and passages so far.

    If the files are read before the passages are embedded, `embedded` of all `passages` have their vector.
    """

    def __call__(self, done: int, total: int, passages: int, embedded: int | None = None) -> None: ...
