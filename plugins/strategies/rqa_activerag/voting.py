"""Vote among the answers of different instructions."""

from __future__ import annotations

from collections.abc import Sequence

from robust_qa.kit import contains_words


def elect(answers: Sequence[str]) -> list[int]:
    """Return the positions of the winner and of the answers that agree with it, winner first.

    An answer gets a vote from each answer that contains it, so that "either of two" does not win with the votes for
    both. The most votes win; ties go to the first answer.
    """
    voters = [[other for other, text in enumerate(answers) if contains_words(own, text)] for own in answers]
    winner = max(range(len(answers)), key=lambda position: len(voters[position]), default=0)
    return [winner, *(other for other in voters[winner] if other != winner)] if answers else []


def agree(one: str, other: str) -> bool:
    """Whether one answer contains the other as whole words, both normalised."""
    return contains_words(one, other) or contains_words(other, one)
