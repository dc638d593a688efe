"""The vote among answers that were found in different ways."""

from __future__ import annotations

from collections.abc import Sequence

from robust_qa import normalise


def elect(answers: Sequence[str]) -> list[int]:
    """Positions of the winner and of the answers that agree with it, the winner first; none of none.

    Each answer has the votes of those that say the same. The most votes win, and of equals the first answer.
    """
    supporters = [[other for other, text in enumerate(answers) if agree(own, text)] for own in answers]
    winner = max(range(len(answers)), key=lambda position: len(supporters[position]), default=0)
    return [winner, *(other for other in supporters[winner] if other != winner)] if answers else []


def agree(one: str, other: str) -> bool:
    """Whether one answer occurs in the other as whole words, both normalised."""
    shorter, longer = sorted((f" {normalise(one)} ", f" {normalise(other)} "), key=len)
    return shorter in longer if shorter.strip() else one == other
