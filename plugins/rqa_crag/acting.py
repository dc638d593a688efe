"""The action that a question's scores trigger (Yan et al. 2024, Section 4.3), and the ablations of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

Action = Literal["correct", "incorrect", "ambiguous"]
Set = Literal["popqa", "pubqa", "arc", "bio"]
# Tables 2 and 11: an action left out, or one for every question.
Ablation = Literal[
    "without-correct", "without-incorrect", "without-ambiguous", "only-correct", "only-incorrect", "only-ambiguous"
]

# (upper, lower) of the paper's T5-large, by data set (Appendix B.3).
PAIRS: Mapping[Set, tuple[float, float]] = {
    "popqa": (0.59, -0.99),
    "pubqa": (0.5, -0.91),
    "arc": (0.5, -0.91),
    "bio": (0.95, -0.91),
}


def act(scores: Sequence[float], upper: float, lower: float, ablation: Ablation | None = None) -> Action:
    """Correct when a score reaches `upper`, Incorrect when none reaches `lower`, also of no scores; else Ambiguous.

    A score at a threshold has reached it, as in the published code. Without Correct or Incorrect, Ambiguous takes
    its place; without Ambiguous, `upper` alone parts the other two.
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
