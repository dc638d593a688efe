"""What a component looks like to the host: protocols to read, nothing to inherit from.

Every method may be `async def` or `def`; the host runs a `def` in a worker thread. A component may also have

- `close()`: called once when the session ends;
- `fingerprint() -> str`: what its results depend on besides its options (a model file's identity, an index's
  generation); part of the cache key;
- `cached: bool = False` when the component is quicker than the cache;
- `concurrency: int`: how many calls it stands at once, unless the configuration says otherwise;
- `reaches_out: bool = True`, on the class, when it asks hosts that no option names: then a configuration that was
  merely found does not configure it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from .types import Answer, Completion, Continuation, Decoding, Message, Passage, Power, Reading

if TYPE_CHECKING:
    from .toolbox import Toolbox


class Retriever(Protocol):
    """Query to passages, the most relevant first, at most `k`. The query is data: any text must do."""

    def retrieve(self, query: str, k: int) -> list[Passage] | Awaitable[list[Passage]]: ...


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What one indexing run did; counts of files, and of passages now in the index."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    passages: int = 0
    skipped: tuple[tuple[str, str], ...] = ()  # (path, why)


class IndexProgress(Protocol):
    """Told now and then how far indexing is: files done, files in all (0: not known yet), passages so far."""

    def __call__(self, done: int, total: int, passages: int) -> None: ...


class IndexingRetriever(Retriever, Protocol):
    """A retriever with an index on disk: its `Options` have `index: Path`, the index's folder."""

    def index(self, paths: Sequence[Path], progress: IndexProgress | None = None) -> IndexReport: ...


class ExtractiveReader(Protocol):
    """A reader that finds answers in passages. A reader needs `read` or `generate`, and may have both."""

    def read(self, question: str, passages: list[Passage]) -> Reading | Awaitable[Reading]: ...


class LanguageModel(Protocol):
    """A reader that writes. Optional beside it:

    - `window: int | None`: the context window in tokens (prompt and reply together), None when not known;
    - `max_tokens: int`: the bound on a reply when the caller names none;
    - `count_tokens(messages) -> int`: the prompt's exact length;
    - `structured: bool`: whether `decoding.schema` constrains the reply.
    """

    def generate(self, messages: list[Message], decoding: Decoding) -> Completion | Awaitable[Completion]: ...


class RawLanguageModel(LanguageModel, Protocol):
    """A language model that can also be put to a text as it stands, with no chat template around it.

    Special tokens that `prompt` spells out count as such, and those that the model writes are kept. Of each token
    written the `top` likeliest are told. `decoding.schema` is None.
    """

    def continue_text(self, prompt: str, decoding: Decoding, top: int) -> Continuation | Awaitable[Continuation]: ...


class Evaluator(Protocol):
    """Relevance of each text to the question, in [-1, 1], in the order given.

    `score_many(requests)` (a list of (question, texts) to a list of score lists) is called instead where it
    exists, with the requests of several questions at once. `upper` and `lower`, where it has them, are the scores
    from which a text answers the question, and under which it does not. An evaluator that judges with a reader's help
    declares `needs`, as a strategy does, and has no `score_many`: its `score(question, texts, toolbox)` gets the
    toolbox of the question. Such calls are limited, retried and cached as the calls that they lead to, and not
    themselves.

    Optional beside it, for comparing answers (`toolbox.token_vectors`):

    - `token_vectors(texts) -> list[ndarray]`: for each text an array (tokens, width) of the contextual vectors of
      its tokens, each row of length 1;
    - `tokens(texts) -> list[list[str]]`: those tokens, as many as there are rows.
    """

    def score(self, question: str, texts: list[str]) -> list[float] | Awaitable[list[float]]: ...


class Strategy(Protocol):
    """Question to Answer, through the toolbox alone. `needs` names the powers it cannot work without.

    `hands_to: Sequence[str]`, where it has it, names the strategies that it may hand passages to.
    """

    needs: frozenset[Power]

    async def answer(self, question: str, toolbox: Toolbox) -> Answer: ...
