"""The metrics of RAGChecker (Ru et al., "RAGChecker: A Fine-grained Framework for Diagnosing RAG", NeurIPS 2024).

Its Section 3.3 defines them by which claims of the answer and of the gold answer which texts entail.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Said:
    """A claim of the answer: whether the gold answer says it, and the places of the passages that do."""

    text: str
    by_gold: bool
    by: frozenset[int]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A claim of the gold answer: whether the answer says it, and the places of the passages that do."""

    text: str
    by_answer: bool
    by: frozenset[int]


@dataclass(frozen=True, slots=True)
class Judged:
    """All claims about a question that has so many passages."""

    said: Sequence[Said]
    wanted: Sequence[Wanted]
    passages: int

    @property
    def relevant(self) -> frozenset[int]:
        """The places of the passages that say a claim of the gold answer."""
        return frozenset(place for claim in self.wanted for place in claim.by)


def _share(claims: Sequence[bool]) -> float | None:
    return sum(claims) / len(claims) if claims else None


def _f1(judged: Judged) -> float | None:
    precision, recall = MEASURES["claim-precision"](judged), MEASURES["claim-recall"](judged)
    if precision is None or recall is None:
        return None if recall is None else 0.0
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _context_precision(judged: Judged) -> float | None:
    return len(judged.relevant) / judged.passages if judged.passages else None


MEASURES: Mapping[str, Callable[[Judged], float | None]] = {
    "claim-precision": lambda of: _share([claim.by_gold for claim in of.said]),
    "claim-recall": lambda of: _share([claim.by_answer for claim in of.wanted]),
    "claim-f1": _f1,
    "context-recall": lambda of: _share([bool(claim.by) for claim in of.wanted]),
    "context-precision": _context_precision,
    "context-utilisation": lambda of: _share([claim.by_answer for claim in of.wanted if claim.by]),
    # Wrong claims from passages that have something right, and from those that do not.
    "noise-in-relevant": lambda of: _share([not c.by_gold and bool(c.by & of.relevant) for c in of.said]),
    "noise-in-irrelevant": lambda of: _share(
        [not c.by_gold and bool(c.by) and not c.by & of.relevant for c in of.said]
    ),
    "hallucination": lambda of: _share([not claim.by_gold and not claim.by for claim in of.said]),
    "self-knowledge": lambda of: _share([claim.by_gold and not claim.by for claim in of.said]),
    "faithfulness": lambda of: _share([bool(claim.by) for claim in of.said]),
}
"""By name. None where there is nothing to count, for example no claim in an abstention."""
