"""Check the sentences of an answer against passages, with the packaged model or with a language model.

Without a language model, token vectors find the sentences that are about the same thing (the recall of BERTScore,
Zhang et al. 2020: the mean over the claim's tokens of the best cosine in the sentence). The first of them that agrees
supports the claim (agreement.py). If the claim has a quantity, the reader asks each passage for it, and the side with
more independent sources wins (weighing.py). A language model gets the sentences and the passages (asking.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from robust_qa import InputError, MissingError, Passage, Toolbox
from robust_qa.kit import cite, sentences, statements

from .agreement import Checked, compare
from .asking import check_by_model
from .weighing import majority, sides

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

LEAST = 0.69  # similarity of sentences about the same thing; fitted by benchmarks/check.py


async def check_answer(answer: str, toolbox: Toolbox, passages: Sequence[Passage] | None = None) -> list[Checked]:
    """Return each sentence of `answer` with its verdict, by the language model if the toolbox has one.

    Without `passages`, retrieves some for each sentence. Raises InputError if `answer` is empty, MissingError if there
    is no retriever, and ConfigError if the evaluator has no token vectors.
    """
    claims = [answer[start:end] for start, end in sentences(answer)]
    if not claims:
        raise InputError("The answer is empty.", hint="Give a text of at least one sentence.")
    if passages is not None:
        found = [list(passages)] * len(claims)
    elif toolbox.retriever is None:
        raise MissingError(
            "There are no documents to check against.",
            hint="Give documents with --docs PATH, or index them once with `rqa index PATH`.",
        )
    else:
        found = list(await asyncio.gather(*map(toolbox.retrieve, claims)))
    if toolbox.generative:
        return await check_by_model(claims, found, toolbox)
    near = await close_sentences(claims, found, toolbox)
    checked = [verdict(claim, close) for claim, close in zip(claims, near, strict=True)]

    async def weighed(one: Checked, passages: Sequence[Passage]) -> Checked:
        return majority(one, await sides(one.sentence, passages, toolbox)) if one.verdict == "supported" else one

    return list(await asyncio.gather(*map(weighed, checked, found)))


@dataclass(frozen=True, slots=True)
class Close:
    """A sentence of a passage: the characters `start` to `end`. It is as similar to a claim as `similarity` says."""

    similarity: float
    passage: Passage
    start: int
    end: int

    @property
    def text(self) -> str:
        """The sentence."""
        return self.passage.text[self.start : self.end]


async def close_sentences(
    claims: Sequence[str], found: Sequence[Sequence[Passage]], toolbox: Toolbox
) -> list[list[Close]]:
    """Return the sentences of each claim's passages, the most similar first."""
    places = [[(each, *span) for each in own for span in statements(each.text)] for own in found]
    texts = dict.fromkeys([*claims, *(each.text[start:end] for own in places for each, start, end in own)])
    vectors = dict(zip(texts, await toolbox.token_vectors(list(texts)), strict=True))
    near = []
    for claim, own in zip(claims, places, strict=True):
        close = [
            Close(_recall(vectors[claim], vectors[each.text[start:end]]), each, start, end) for each, start, end in own
        ]
        near.append(sorted(close, key=lambda each: -each.similarity))
    return near


def verdict(claim: str, near: Sequence[Close], least: float = LEAST) -> Checked:
    """Return the verdict of the sentences in `near` whose similarity is at least `least`."""
    contradicting = None
    for each in near:
        if each.similarity < least:
            break
        said = compare(claim, each.text, each.passage)
        if said == "supported":
            return Checked(claim, "supported", cite(each.passage, start=each.start))
        if said == "contradicted":
            contradicting = contradicting or each
    if contradicting:
        return Checked(claim, "contradicted", cite(contradicting.passage, start=contradicting.start))
    return Checked(claim, "not found")


def _recall(claim: NDArray[Any], sentence: NDArray[Any]) -> float:
    return float((claim @ sentence.T).max(1).mean()) if len(claim) and len(sentence) else 0.0
