"""Choose the action for a question's scores (Yan et al. 2024, Section 4.3), and its ablations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

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
