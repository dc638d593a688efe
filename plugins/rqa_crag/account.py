"""The account of a correction, JSON-ready: `Answer.details`, the notes in the trace, and the reason for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from robust_qa import Answer, CallError, Passage

from .acting import Action
from .strips import Strip


@dataclass
class Allowance:
    """How many texts may still be judged for a question (None: any number), and how many were refused."""

    left: int | None
    refused: int = 0

    def take(self, asked: list[int]) -> list[int]:
        """As many of `asked` as may be judged, the first ones."""
        taken = asked if self.left is None else asked[: self.left]
        self.refused += len(asked) - len(taken)
        self.left = None if self.left is None else self.left - len(taken)
        return taken


@dataclass
class Correction:
    """What was made of the retrieved passages: `passages` is the knowledge to answer from (k in Algorithm 1).

    `failure` says why a search that was wanted gave nothing, `outage` is the error where it, or keywords for it,
    could not be made; `doubtful` knowledge was judged irrelevant, and is handed on because the configuration asks for
    it.
    """

    action: Action
    scores: list[float]
    upper: float
    lower: float
    retrieved: list[Passage]
    left: Allowance
    passages: list[Passage] = field(default_factory=list)
    internal: list[Strip] | None = None  # None: not refined
    external: list[Strip] | None = None
    query: str | None = None  # None: nothing was searched
    searched: list[Passage] = field(default_factory=list)
    failure: str = ""
    outage: CallError | None = None
    doubtful: bool = False

    @property
    def dropped(self) -> list[int]:
        """The numbers, from 1, of the retrieved passages of which nothing is left."""
        numbers = range(1, len(self.retrieved) + 1)
        if self.internal is not None:
            left = {strip.place + 1 for strip in self.internal if strip.kept}
        else:  # all of them, or none, were handed on as they came
            left = set(numbers) if self.doubtful or self.action != "incorrect" else set()
        return [number for number in numbers if number not in left]

    @property
    def empty_search(self) -> bool:
        """Whether a search found nothing that is relevant. One that failed is none."""
        return self.query is not None and self.outage is None and not self.passages

    def details(self) -> dict[str, Any]:
        """Everything that was found on the way."""
        return {
            "action": self.action,
            "upper": self.upper,
            "lower": self.lower,
            "passages": [
                {"number": number, "id": passage.id, "title": passage.title, "score": round(score, 4)}
                for number, (passage, score) in enumerate(zip(self.retrieved, self.scores, strict=True), start=1)
            ],
            "dropped": self.dropped,
            "strips": listed(self.internal or ()),
            "query": self.query,
            "searched": [{"title": page.title, "source": page.source} for page in self.searched],
            "search_failed": self.failure,
            "search_strips": listed(self.external or ()),
            "doubtful": self.doubtful,
        }

    def judgement(self, *, borrowed: bool) -> str:
        """The action and why, in a line; `borrowed` thresholds are the paper's, for want of others."""
        if not self.scores:
            return f"nothing was retrieved: {self.action}"
        best = f"best score {max(self.scores):.2f} of {len(self.scores)} passages"
        whose = "; from the paper, as the evaluator has none" if borrowed else ""
        return f"{best}: {self.action} (correct from {self.upper:g}, incorrect below {self.lower:g}{whose})"

    def reason(self, answer: Answer) -> str:
        """Where the answer is from, and what the strategy that gave it says itself."""
        return " ".join(part for part in (self._provenance(answer), answer.reason) if part)

    def _provenance(self, answer: Answer) -> str:
        judged = "The retrieved passages were judged irrelevant" if self.retrieved else "No passage was retrieved"
        lacking = f"{judged}, and {self.failure}." if self.failure else f"{judged}."
        if not self.passages:
            return lacking if answer.text is None else f"{lacking} The answer is from the model's memory."
        if self.doubtful:
            return f"{lacking} What follows is from the best of them, and doubtful."
        if self.action == "incorrect":
            return f"{judged}, and a search for {self.query!r} took their place."
        if self.action == "ambiguous":
            return (
                f"The retrieved passages may be irrelevant, and {self.failure or f'{self.query!r} was searched for'}."
            )
        return ""


def kept(strips: Sequence[Strip]) -> str:
    """How many are kept, of how many."""
    return f"{sum(strip.kept for strip in strips)} of {len(strips)}"


def listed(strips: Sequence[Strip]) -> list[dict[str, Any]]:
    """Strips as the trace shows them."""
    return [
        {"kept": strip.kept, "score": round(strip.score, 4), "title": strip.passage.title, "text": strip.text}
        for strip in strips
    ]
