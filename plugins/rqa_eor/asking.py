"""Every retriever of the pool asked at once, and what the reader makes of the passages of each."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from robust_qa import CallError, Citation, ContextError, Passage
from robust_qa.kit import Prompt, cite_reading, fenced, says_unknown, spoken

from .pools import NOTHING

if TYPE_CHECKING:
    from robust_qa import Order, Toolbox


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, where it stands, and how sure of it the reader is, where it tells."""

    text: str
    citations: tuple[Citation, ...] = ()
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """What one retriever led to: `replies` has no answer, one, or one a sample; `error` is why its calls failed."""

    retriever: str
    passages: tuple[Passage, ...] = ()
    replies: tuple[Reply, ...] = ()
    error: CallError | ContextError | None = None


@dataclass(frozen=True, slots=True)
class Asking:
    """How the reader is asked: `samples` times, with seeds from `seed` on.

    With the prompt `reading` where it writes, and from memory with `recall`.
    """

    reading: Prompt
    recall: Prompt
    samples: int = 1
    temperature: float | None = None
    seed: int = 0
    order: Order = "descending"


async def ask_all(question: str, toolbox: Toolbox, retrievers: Iterable[str], asking: Asking) -> list[Said]:
    """Retrieve and read with all of them at once. Readings of the same passages are one."""
    pool = toolbox.pool(list(retrievers))
    reading: dict[tuple[tuple[Passage, ...], int], asyncio.Task[Reply | None]] = {}
    samples = asking.samples if toolbox.generative else 1

    async with asyncio.TaskGroup() as group:

        async def ask(retriever: str) -> Said:
            try:
                passages = tuple(await pool.retrieve(retriever))
            except (CallError, ContextError) as error:
                return Said(retriever, error=error)
            if not passages and retriever != NOTHING:
                return Said(retriever)
            # All of them end, also when one fails: nothing runs on behind the answer.
            readings = (read(passages, sample) for sample in range(samples))
            replies = await asyncio.gather(*readings, return_exceptions=True)
            for reply in replies:
                if isinstance(reply, CallError | ContextError):
                    return Said(retriever, passages, error=reply)
                if isinstance(reply, BaseException):
                    raise reply
            return Said(retriever, passages, tuple(reply for reply in replies if isinstance(reply, Reply)))

        async def read(passages: tuple[Passage, ...], sample: int) -> Reply | None:
            key = passages, sample
            if key not in reading:
                answering = _read(question, passages, toolbox, asking, sample)
                reading[key] = asyncio.create_task(answering)
            return await reading[key]

        tasks = [group.create_task(ask(retriever)) for retriever in pool.expressions]
    return [task.result() for task in tasks]


async def _read(
    question: str, passages: tuple[Passage, ...], toolbox: Toolbox, asking: Asking, sample: int
) -> Reply | None:
    if not passages:
        completion = await toolbox.generate(
            asking.recall,
            fields={"question": fenced(question)},
            seed=asking.seed,
            sample=sample,
            temperature=asking.temperature,
        )
        text = spoken(completion).text
        return None if says_unknown(text) else Reply(text)
    found = await toolbox.read(
        question,
        passages,
        prompt=asking.reading,
        order=asking.order,
        seed=asking.seed,
        sample=sample,
        temperature=asking.temperature,
    )
    if found.text is None or not found.text.strip():
        return None
    return Reply(found.text, cite_reading(found, passages), found.score)
