"""Inconsistency of the members of a pool (Ensemble of Retrievers, Li et al. 2024, sections 2 and 3).

A member is a retriever or a strategy. A set of questions is an int: bit n is question n. A ratio over an empty set is
None.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

Questions = int
Ratio = float | None
Matrix = tuple[tuple[Ratio, ...], ...]


def questions(flags: Sequence[bool]) -> Questions:
    """Return the set of the positions in `flags` that are true."""
    return int("".join("1" if flag else "0" for flag in reversed(flags)) or "0", 2)


def relative_win_ratio(wrong: Sequence[Questions]) -> Matrix:
    """Eq. 1: RWR(i, j), the share of the questions that j answers wrong and i answers right.

    `wrong` has the questions that each member answers wrong. The diagonal is 0 or None.
    """
    return tuple(tuple(_share(theirs & ~mine, theirs) for theirs in wrong) for mine in wrong)


def mean_relative_win_ratio(rwr: Matrix, pool: int | None = None) -> tuple[Ratio, ...]:
    """Eq. 2: MRWR(i), the mean of row i without its diagonal: how often i is right where others are wrong.

    Only the first `pool` members count as others, so that an ensemble does not change the ratios of its members.
    """
    return tuple(_mean([ratio for j, ratio in enumerate(row[:pool]) if j != i]) for i, row in enumerate(rwr))


def mean_relative_lose_ratio(rwr: Matrix, pool: int | None = None) -> tuple[Ratio, ...]:
    """Eq. 3: MRLR(j), the mean of column j without its diagonal: how often others are right where j is wrong.

    0 means that no other member answers a question that j misses. Others are the first `pool` members.
    """
    return tuple(_mean([row[j] for i, row in enumerate(rwr[:pool]) if i != j]) for j in range(len(rwr)))


@dataclass(frozen=True, slots=True)
class Outcomes:
    """The outcomes of a member, each a set of questions.

    `asked`: all questions. `correct`: the answer is right. `answered`: there is an answer. `retrieved`: a passage
    contains a gold answer. `grounded`: a passage contains the member's answer.
    """

    asked: Questions
    correct: Questions
    answered: Questions
    retrieved: Questions
    grounded: Questions

    def retriever_error(self) -> Questions:
        """No passage contains a gold answer."""
        return self.asked & ~self.retrieved

    def hallucination_error(self) -> Questions:
        """No passage contains the answer."""
        return self.answered & ~self.grounded

    def extraction_error(self) -> Questions:
        """The answer is wrong; the passages contain it and also a gold answer."""
        return self.retrieved & self.grounded & self.answered & ~self.correct

    def lucky_guess(self) -> Questions:
        """The answer is right, but no passage contains a gold answer."""
        return self.retriever_error() & self.correct


@dataclass(frozen=True, slots=True)
class Decomposition:
    """Eq. 4 for a member, in numbers of questions.

    failures = retriever_error - lucky_guess + hallucination + extraction + unanswered.

    If a passage contains a gold answer, a failure is one of three. `hallucination`: no passage contains the wrong
    answer. `extraction`: a passage does. `unanswered`: there is no answer; the paper's readers always answer.
    """

    asked: int
    failures: int
    retriever_error: int
    lucky_guess: int
    hallucination: int
    extraction: int
    unanswered: int


def decompose(outcomes: Outcomes) -> Decomposition:
    """Return the parts of a member's failures after Eq. 4."""
    missed = outcomes.asked & outcomes.retrieved & ~outcomes.correct
    return Decomposition(
        asked=outcomes.asked.bit_count(),
        failures=(outcomes.asked & ~outcomes.correct).bit_count(),
        retriever_error=outcomes.retriever_error().bit_count(),
        lucky_guess=outcomes.lucky_guess().bit_count(),
        hallucination=(missed & outcomes.hallucination_error()).bit_count(),
        extraction=outcomes.extraction_error().bit_count(),
        unanswered=(missed & ~outcomes.answered).bit_count(),
    )


def error_ratios(members: Sequence[Outcomes]) -> dict[str, Matrix]:
    """Eq. 5 for each kind of error: RWR_e(i, j), the share of the errors of j that i does not make.

    After Appendix B of the paper, extraction errors are compared where both members retrieved a gold answer, and
    lucky guesses where neither did.
    """

    def matrix(error: Callable[[Outcomes], Questions], condition: Callable[[Outcomes], Questions]) -> Matrix:
        def ratio(mine: Outcomes, theirs: Outcomes) -> Ratio:
            made = error(theirs) & condition(mine) & condition(theirs)
            return _share(made & ~error(mine), made)

        return tuple(tuple(ratio(mine, theirs) for theirs in members) for mine in members)

    return {
        "retriever_error": matrix(Outcomes.retriever_error, lambda o: o.asked),
        "hallucination_error": matrix(Outcomes.hallucination_error, lambda o: o.asked),
        "extraction_error": matrix(Outcomes.extraction_error, lambda o: o.retrieved),
        "lucky_guess": matrix(Outcomes.lucky_guess, Outcomes.retriever_error),
    }


def _share(part: Questions, whole: Questions) -> Ratio:
    return part.bit_count() / whole.bit_count() if whole else None


def _mean(ratios: Sequence[Ratio]) -> Ratio:
    known = [ratio for ratio in ratios if ratio is not None]
    return sum(known) / len(known) if known else None
