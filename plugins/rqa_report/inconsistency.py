"""How members of a pool disagree about what they can answer (Ensemble of Retrievers, Li et al. 2024, sections 2 and 3).

A member is a retriever or a strategy. What holds of it is a set of questions, kept as the bits of an int: bit n is
question n. A ratio is None where there is nothing to take a share of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

Questions = int
Ratio = float | None
Matrix = tuple[tuple[Ratio, ...], ...]


def questions(flags: Sequence[bool]) -> Questions:
    """The set of the positions in `flags` that are true."""
    return int("".join("1" if flag else "0" for flag in reversed(flags)) or "0", 2)


def relative_win_ratio(wrong: Sequence[Questions]) -> Matrix:
    """Eq. 1: RWR(i, j), the share of the questions that member j answers wrong which member i answers right.

    `wrong` has the questions that each member answers wrong. On the diagonal stands 0, or None.
    """
    return tuple(tuple(_share(theirs & ~mine, theirs) for theirs in wrong) for mine in wrong)


def mean_relative_win_ratio(rwr: Matrix) -> tuple[Ratio, ...]:
    """Eq. 2: MRWR(i), the mean of row i without its diagonal: how often i is right where others are wrong."""
    return tuple(_mean([ratio for j, ratio in enumerate(row) if j != i]) for i, row in enumerate(rwr))


def mean_relative_lose_ratio(rwr: Matrix) -> tuple[Ratio, ...]:
    """Eq. 3: MRLR(j), the mean of column j without its diagonal: how often others are right where j is wrong.

    0: no other member answers what j does not.
    """
    return tuple(_mean([row[j] for i, row in enumerate(rwr) if i != j]) for j in range(len(rwr)))


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What is known of one member's answers to the questions `asked`, each a set of them.

    `correct`: the answer is right. `answered`: there is one. `retrieved`: a passage contains a gold answer.
    `grounded`: a passage contains the member's answer.
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
        """There is an answer that no passage contains."""
        return self.answered & ~self.grounded

    def extraction_error(self) -> Questions:
        """The answer stands in the passages, and so does a gold one, but it is wrong."""
        return self.retrieved & self.grounded & self.answered & ~self.correct

    def lucky_guess(self) -> Questions:
        """The answer is right, and no passage contains a gold one."""
        return self.retriever_error() & self.correct


@dataclass(frozen=True, slots=True)
class Decomposition:
    """Eq. 4, for a member whose answers are fixed: each a number of questions.

    failures = retriever_error - lucky_guess + hallucination + extraction + unanswered.

    `hallucination` counts the wrong answers that stand in no passage though a gold answer does. `unanswered` counts
    the abstentions there; the paper's readers always answer.
    """

    asked: int
    failures: int
    retriever_error: int
    lucky_guess: int
    hallucination: int
    extraction: int
    unanswered: int


def decompose(outcomes: Outcomes) -> Decomposition:
    """Eq. 4: where the failures of a member come from. With a gold answer retrieved, a failure is one of three."""
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

    As in the paper's Appendix B, the two kinds that depend on what was retrieved are compared where it is the same
    for both members: extraction errors where both retrieved a gold answer, lucky guesses where neither did.
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
