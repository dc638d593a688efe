"""The vote among answers that were found in different ways."""

from __future__ import annotations

from collections.abc import Sequence

from robust_qa.kit import contains_words


def elect(answers: Sequence[str]) -> list[int]:
    """Positions of the winner and of the answers that agree with it, the winner first; none of none.

    Each answer has the votes of those that say as much or more, so that "either of two" does not win by the votes for
    both. The most votes win, and of equals the first answer.
    """
    voters = [[other for other, text in enumerate(answers) if contains_words(own, text)] for own in answers]
    winner = max(range(len(answers)), key=lambda position: len(voters[position]), default=0)
    return [winner, *(other for other in voters[winner] if other != winner)] if answers else []


def agree(one: str, other: str) -> bool:
    """Whether one answer occurs in the other as whole words, both normalised."""
    return contains_words(one, other) or contains_words(other, one)
