"""Check the sentences of an answer against passages, with a judge or with a language model.

Without a language model, the evaluator judges each sentence of the answer, a claim, against the sentences of its
passages that share the rarest words with it, and against the first passages as a whole. A source supports or
contradicts the claim by its surest text. Word overlap alone decides nothing. A language model gets the sentences and
the passages (asking.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from robust_qa import Citation, InputError, Judgment, MissingError, Passage, Toolbox
from robust_qa.kit import cite, closest_texts, near_copies, sentences, source_of

from .asking import check_by_model
from .verdicts import Checked

# Least probabilities of a source that supports or contradicts a claim; chosen on held-out rows of the training
SUPPORTS, CONTRADICTS = 0.8, 0.7
_UNITS = 16  # sentences judged for a claim
_WHOLE = 3  # passages judged as a whole


async def check_answer(answer: str, toolbox: Toolbox, passages: Sequence[Passage] | None = None) -> list[Checked]:
    """Return each sentence of `answer` with its verdict, by the language model if the toolbox has one.

    Without `passages`, retrieves some for each sentence. Raises InputError if `answer` is empty, MissingError if there
    is no retriever, and ConfigError if the evaluator judges no claims.
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
    return list(await asyncio.gather(*(_checked(*each, toolbox) for each in zip(claims, found, strict=True))))


@dataclass(frozen=True, slots=True)
class _Judged:
    """What a text of a passage says about the claim. Its sentence to quote begins at character `start`."""

    passage: Passage
    start: int
    judgment: Judgment

    @property
    def citation(self) -> Citation:
        return cite(self.passage, start=self.start)


async def _checked(claim: str, passages: Sequence[Passage], toolbox: Toolbox) -> Checked:
    """Return the verdict of all sources of `passages` about `claim`."""
    texts = closest_texts(claim, passages, _UNITS, _WHOLE)
    judgments = await toolbox.judge(claim, [text for _, text in texts])
    judged = [_Judged(passages[unit.passage], unit.start, one) for (unit, _), one in zip(texts, judgments, strict=True)]
    surest: dict[str, _Judged] = {}
    for each in judged:
        source = source_of(each.passage)
        if source not in surest or max(each.judgment) > max(surest[source].judgment):
            surest[source] = each
    supporting = _independent([each for each in surest.values() if each.judgment.supported >= SUPPORTS])
    contradicting = _independent([each for each in surest.values() if each.judgment.contradicted >= CONTRADICTS])
    sides = tuple(each.citation for each in supporting), tuple(each.citation for each in contradicting)
    if supporting and contradicting:
        return Checked(claim, "disputed", sides[0][0], "", *sides)
    if supporting or contradicting:
        return Checked(claim, "supported" if supporting else "contradicted", (*sides[0], *sides[1])[0], "", *sides)
    return Checked(claim, "not decided", judged[0].citation if judged else None)


def _independent(found: Sequence[_Judged]) -> list[_Judged]:
    """Return the surest first, without those whose passage is a copy of another's."""
    kept: list[_Judged] = []
    for each in sorted(found, key=lambda each: -max(each.judgment)):
        if not any(near_copies(each.passage.text, other.passage.text) for other in kept):
            kept.append(each)
    return kept
