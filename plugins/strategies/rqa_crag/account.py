"""The action for a question's scores (Yan et al. 2024, Section 4.3), and the account of a correction as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from robust_qa import Answer, CallError, Passage

from .strips import Strip

Action = Literal["correct", "incorrect", "ambiguous"]
Set = Literal["popqa", "pubqa", "arc", "bio"]
# Tables 2 and 11: without an action, or the same one for every question.
Ablation = Literal[
    "without-correct", "without-incorrect", "without-ambiguous", "only-correct", "only-incorrect", "only-ambiguous"
]

# (upper, lower) for the paper's T5-large, by data set (Appendix B.3).
PAIRS: Mapping[Set, tuple[float, float]] = {
    "popqa": (0.59, -0.99),
    "pubqa": (0.5, -0.91),
    "arc": (0.5, -0.91),
    "bio": (0.95, -0.91),
}


def act(scores: Sequence[float], upper: float, lower: float, ablation: Ablation | None = None) -> Action:
    """Return Correct if a score is at least `upper`, Incorrect if none is at least `lower`, else Ambiguous.

    Without scores, returns Incorrect. The ablations replace Correct or Incorrect by Ambiguous, or without Ambiguous,
    `upper` separates the other two.
    """
    only: Mapping[str | None, Action] = {f"only-{action}": action for action in get_args(Action)}
    if ablation in only:
        return only[ablation]
    if ablation == "without-ambiguous":
        lower = upper
    action: Action = "ambiguous"
    if scores and max(scores) >= upper:
        action = "correct"
    elif not scores or max(scores) < lower:
        action = "incorrect"
    return "ambiguous" if ablation == f"without-{action}" else action


@dataclass
class Allowance:
    """The number of texts that may still be judged for a question (None: no limit), and of those refused."""

    left: int | None
    refused: int = 0

    def take(self, asked: list[int]) -> list[int]:
        """Return the first of `asked`, as many as may still be judged."""
        taken = asked if self.left is None else asked[: self.left]
        self.refused += len(asked) - len(taken)
        self.left = None if self.left is None else self.left - len(taken)
        return taken


@dataclass
class Correction:
    """The result of a correction: `passages` is the knowledge to answer from (k in Algorithm 1).

    `failure`: why a search gave nothing. `outage`: the error if the search or its keywords failed. `doubtful`: the
    knowledge was judged irrelevant but is used, because the configuration says so.
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
        """The numbers, from 1, of the retrieved passages without a kept strip."""
        numbers = range(1, len(self.retrieved) + 1)
        if self.internal is not None:
            left = {strip.place + 1 for strip in self.internal if strip.kept}
        else:  # the passages were used whole, or not at all
            left = set(numbers) if self.doubtful or self.action != "incorrect" else set()
        return [number for number in numbers if number not in left]

    @property
    def empty_search(self) -> bool:
        """Whether a search succeeded but found nothing relevant."""
        return self.query is not None and self.outage is None and not self.passages

    def details(self) -> dict[str, Any]:
        """Return `Answer.details`."""
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
        """Return the action and its reason in one line. `borrowed`: the thresholds are the paper's by default."""
        if not self.scores:
            return f"nothing was retrieved: {self.action}"
        best = f"best score {max(self.scores):.2f} of {len(self.scores)} passages"
        whose = "; from the paper, as the evaluator has none" if borrowed else ""
        return f"{best}: {self.action} (correct from {self.upper:g}, incorrect below {self.lower:g}{whose})"

    def reason(self, answer: Answer) -> str:
        """Return the origin of the answer, followed by the reason of the strategy that gave it."""
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
    """Return how many strips are kept, as in: 3 of 7."""
    return f"{sum(strip.kept for strip in strips)} of {len(strips)}"


def listed(strips: Sequence[Strip]) -> list[dict[str, Any]]:
    """Return the strips as JSON for the trace."""
    return [
        {"kept": strip.kept, "score": round(strip.score, 4), "title": strip.passage.title, "text": strip.text}
        for strip in strips
    ]
