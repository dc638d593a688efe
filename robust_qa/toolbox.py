"""The toolbox: a strategy's only way out to retrievers, readers and evaluators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .order import Order
from .prompts import Prompt
from .types import Completion, Message, Passage, Question, Reading


class Toolbox:
    """What a strategy is handed for one question; every call is limited, retried, batched, cached, traced."""

    question: Question
    structured: bool  # whether the reader constrains its replies to a JSON schema
    generative: bool  # whether the reader writes text, or only points at answers

    async def retrieve(self, query: str | None = None, *, k: int | None = None) -> list[Passage]:
        """Passages for `query` (default: the question), the most relevant first.

        The question's own passages where it brought some, otherwise the configured retriever's; at most
        `k` of them (default: as configured).
        """
        raise NotImplementedError

    async def read(
        self,
        question: str,
        passages: Sequence[Passage],
        *,
        prompt: Prompt | None = None,
        order: Order = "descending",
        seed: int = 0,
    ) -> Reading:
        """The answer to `question` in `passages` (most relevant first), by whichever power the reader has.

        `prompt` replaces the host's reading prompt for generative readers; `Reading.passages` are positions
        in `passages` as handed in, whatever the order.
        """
        raise NotImplementedError

    async def generate(
        self,
        prompt: Prompt | Sequence[Message] | str,
        *,
        passages: Sequence[Passage] = (),
        fields: Mapping[str, str] | None = None,
        order: Order = "descending",
        seed: int | None = None,
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
        `seed` seeds both sampling and the random order.
        """
        raise NotImplementedError

    async def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Relevance of each of `texts` to `question` in [-1, 1], by the configured evaluator."""
        raise NotImplementedError

    def note(self, what: str, **data: Any) -> None:
        """Put a decision, and why, into the trace; `data` is JSON-ready."""
        raise NotImplementedError
