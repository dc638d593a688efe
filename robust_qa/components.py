"""What a component looks like to the host: protocols for type checkers and readers, nothing to inherit from.

`Registry` takes components of these types, so that a type checker tells a plugin's author where one does not fit.
Every method may be `async def` or `def`; the host runs a `def` in a worker thread, and hands in arguments by position.
rqa-plugin(7) has what else a component may have: what is optional is no part of a protocol.
"""

from __future__ import annotations

from collections.abc import Awaitable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from .types import Answer, Completion, Decoding, Message, Passage, Reading

if TYPE_CHECKING:
    from .toolbox import Toolbox


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


class Strategy(Protocol):
    """Question to Answer, through the toolbox alone. `needs` names the powers it cannot work without."""

    @property
    def needs(self) -> Collection[str]: ...

    async def answer(self, question: str, toolbox: Toolbox, /) -> Answer: ...


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
