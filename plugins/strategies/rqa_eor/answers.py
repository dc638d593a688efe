"""The pool of retrievers, and the reader's answers for each of them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from robust_qa import CallError, Citation, ContextError, MissingError, Passage
from robust_qa.kit import Prompt, cite_reading, parse_expression
from rqa_prompts import Prompter, labelled_answer, says_unknown

if TYPE_CHECKING:
    from robust_qa import Order, Toolbox

NO_RETRIEVAL = "none"

# Appendix C.1 with `web` for SE and `wiki` for Wiki. The last one is HB: both of them and parametric knowledge.
_PAPER_UNCOMPRESSED = [
    "wiki@10",
    "web@1@cut1000",
    "web@4@cut250",
    "web@chunk100@rr@10",
    "web@2@cut250 & wiki@5",
    "web@chunk100@rr@5 & wiki@5",
    "((web & pk)@chunk100 & wiki@20)@rr@10",
]
PAPER = [
    *_PAPER_UNCOMPRESSED,
    "pk",
    *(f"{expression} @cp" for expression in _PAPER_UNCOMPRESSED),
    NO_RETRIEVAL,
]
_GIVEN = ["given", "given-first", "given-last", "given-odd", "given-even", "given@rr@5", NO_RETRIEVAL]
_ONE_RETRIEVER = ["({})@10", "({})@5", "({})@3", "({})@rr@5", "({})@10 @cp", NO_RETRIEVAL]


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer with its citations, and the reader's confidence if the reader gives one."""

    text: str
    citations: tuple[Citation, ...] = ()
    score: float | None = None


@dataclass(frozen=True, slots=True)
class RetrieverResult:
    """The passages of one retriever and the replies to them: none, one, or one for each sample.

    `error` is set if a call failed.
    """

    retriever: str
    passages: tuple[Passage, ...] = ()
    replies: tuple[Reply, ...] = ()
    error: CallError | ContextError | None = None


@dataclass(frozen=True, slots=True)
class ReadSettings:
    """How to ask the reader. Sample n uses `seed` + n; `recall` asks without passages."""

    read: Prompt
    recall: Prompter
    samples: int = 1
    temperature: float | None = None
    seed: int = 0
    order: Order = "descending"
    abstain: bool = True


def select_pool(
    expressions: Sequence[str] | None, weights: Sequence[float] | None, toolbox: Toolbox
) -> tuple[dict[str, float], dict[str, str]]:
    """Return the usable retrievers with their weights, and the others with the reason.

    Retrievers of weight 0 are in neither. Raises MissingError if no retriever is usable.
    """
    pool = [str(parse_expression(one)) for one in (_default_pool(toolbox) if expressions is None else expressions)]
    weight_of = dict(zip(pool, weights or [1.0] * len(pool), strict=True))
    found = toolbox.pool([expression for expression, weight in weight_of.items() if weight])
    left_out = {expression: " ".join(error.message.split()) for expression, error in found.left_out.items()}
    usable = {expression: weight_of[expression] for expression in found.expressions}
    if not toolbox.generative and NO_RETRIEVAL in usable:
        del usable[NO_RETRIEVAL]
        left_out[NO_RETRIEVAL] = "The reader cannot answer without passages."
    if not usable:
        first, reason = next(iter(left_out.items()), ("", ""))
        raise MissingError(
            f"No retriever of the pool can be used. {first}: {reason}",
            hint="Give passages, configure retrievers named web and wiki, or set `pool` in [strategy.eor].",
        )
    return usable, left_out


def _default_pool(toolbox: Toolbox) -> list[str]:
    """Return parts of the given passages, the paper's pool, or parts of the results of one retriever.

    A retriever that the user asks for by name comes first.
    """
    if toolbox.question.passages is not None and (toolbox.retriever == "given" or not toolbox.asked_for):
        return _GIVEN
    if toolbox.retriever is not None and (toolbox.asked_for or not toolbox.pool(["web", "wiki"]).expressions):
        return [form.format(toolbox.retriever) for form in _ONE_RETRIEVER]
    return PAPER


async def read_all(
    question: str, toolbox: Toolbox, retrievers: Iterable[str], settings: ReadSettings
) -> list[RetrieverResult]:
    """Retrieve and read with all retrievers at once. Equal passages are read only once."""
    pool = toolbox.pool(list(retrievers))
    readings: dict[tuple[tuple[Passage, ...], int], asyncio.Task[Reply | None]] = {}
    samples = settings.samples if toolbox.generative else 1

    async with asyncio.TaskGroup() as group:

        async def run(retriever: str) -> RetrieverResult:
            try:
                passages = tuple(await pool.retrieve(retriever))
            except (CallError, ContextError) as error:
                return RetrieverResult(retriever, error=error)
            if not passages and retriever != NO_RETRIEVAL:
                return RetrieverResult(retriever)
            calls = (read(passages, sample) for sample in range(samples))
            # Wait for every sample: after a failure no call may outlive the answer.
            replies = await asyncio.gather(*calls, return_exceptions=True)
            for reply in replies:
                if isinstance(reply, CallError | ContextError):
                    return RetrieverResult(retriever, passages, error=reply)
                if isinstance(reply, BaseException):
                    raise reply
            return RetrieverResult(retriever, passages, tuple(one for one in replies if isinstance(one, Reply)))

        async def read(passages: tuple[Passage, ...], sample: int) -> Reply | None:
            key = passages, sample
            if key not in readings:
                readings[key] = asyncio.create_task(_read(question, passages, toolbox, settings, sample))
            return await readings[key]

        tasks = [group.create_task(run(retriever)) for retriever in pool.expressions]
    return [task.result() for task in tasks]


async def _read(
    question: str, passages: tuple[Passage, ...], toolbox: Toolbox, settings: ReadSettings, sample: int
) -> Reply | None:
    if not passages:
        reply = await settings.recall.ask(toolbox, "recall", sample=sample, temperature=settings.temperature)
        stated = labelled_answer(reply.text)
        text = reply.text if stated is None else stated
        return None if says_unknown(text) else Reply(text)
    reading = await toolbox.read(
        question,
        passages,
        prompt=settings.read,
        order=settings.order,
        seed=settings.seed,
        sample=sample,
        temperature=settings.temperature,
        abstain=settings.abstain,
    )
    if reading.text is None or not reading.text.strip():
        return None
    return Reply(reading.text, cite_reading(reading, passages), reading.score)
