"""Citation precision and recall: whether what an answer cites bears out what it says.

As in ALCE (Gao et al. 2023, Section 3), sentence by sentence, with the configured evaluator in the place of a model of
entailment: a quote bears a sentence out where the evaluator finds it relevant to the question and that sentence.
"""

from __future__ import annotations

from robust_qa import Outcome, sentences


async def precision(outcome: Outcome) -> float | None:
    """The share of the citations that bear out a sentence of the answer; None without citations or evaluator."""
    supported = await _supported(outcome)
    if not supported or not supported[0]:
        return None
    return sum(map(any, zip(*supported, strict=True))) / len(supported[0])


async def recall(outcome: Outcome) -> float | None:
    """The share of the answer's sentences that a citation bears out; None without answer or evaluator."""
    supported = await _supported(outcome)
    return sum(map(any, supported)) / len(supported) if supported else None


async def _supported(outcome: Outcome) -> list[list[bool]]:
    """For each sentence of the answer, whether each citation bears it out."""
    text = outcome.answer.text
    if text is None or outcome.judge is None:
        return []
    quotes = [citation.quote for citation in outcome.answer.citations]
    claims = [text[start:end] for start, end in sentences(text)]
    scores = [await outcome.judge(f"{outcome.question} {claim}", quotes) for claim in claims]
    return [[score >= outcome.bar for score in found] for found in scores]
