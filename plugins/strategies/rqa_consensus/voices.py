"""The voices of a vote: passages of one document or host speak together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from robust_qa import Passage, Reading, RqaError, Toolbox
from robust_qa.kit import Prompt, answer_key, ask_each
from rqa_claims import with_normal_values

from .vote import SILENT, Ballot


@dataclass(frozen=True, slots=True)
class Statement:
    """A passage and the reading of it alone."""

    passage: Passage
    reading: Reading

    @property
    def text(self) -> str:
        """The answer, "" if the passage has none."""
        return self.reading.text or ""

    @property
    def sureness(self) -> float:
        """The reader's confidence, 1 for a reader that gives none."""
        return 1.0 if self.reading.score is None else self.reading.score


@dataclass(frozen=True, slots=True)
class Voice:
    """The statements of one source, the most confident one first, and their common weight."""

    statements: tuple[Statement, ...]
    weight: float

    @property
    def text(self) -> str:
        """The answer, "" if none of the passages has one."""
        return self.statements[0].text

    @property
    def ballot(self) -> Ballot:
        """The ballot for the vote."""
        return Ballot(answer_key(with_normal_values(self.text)) if self.text else SILENT, self.weight)


async def read_each(
    question: str, passages: Sequence[Passage], toolbox: Toolbox, prompt: Prompt | None, threshold: float
) -> list[Statement]:
    """Return the reading of each passage alone, all at once.

    A reader that is not sure of its best answer gives it as the first rival. A passage has no answer below `threshold`,
    or if its call failed. Raises the error if all calls failed.
    """
    outcomes = await ask_each(lambda passage: toolbox.read(question, [passage], prompt=prompt), passages)
    for number, outcome in enumerate(outcomes, start=1):
        if isinstance(outcome, RqaError):
            toolbox.note(f"passage {number} has no vote: {outcome.message}")
    readings = (Reading(None) if isinstance(outcome, RqaError) else outcome for outcome in outcomes)
    return [Statement(passage, _best(reading, threshold)) for passage, reading in zip(passages, readings, strict=True)]


def _best(reading: Reading, threshold: float) -> Reading:
    best = reading.rivals[0] if reading.text is None and reading.rivals else reading
    return Reading(None) if best.score is not None and best.score < threshold else best


def voices(
    statements: Sequence[Statement], source_of: Callable[[Passage, int], str], weigh: Callable[[Passage, int], float]
) -> list[Voice]:
    """Return the voices in the order of their first passages.

    Passages of equal source share a voice, which says what its most confident passage says. `weigh` returns the weight
    of a voice from its first passage and its rank, from 0. Voices without weight are left out.
    """
    groups: dict[str, list[Statement]] = {}
    for position, statement in enumerate(statements):
        groups.setdefault(source_of(statement.passage, position), []).append(statement)
    found = []
    for rank, group in enumerate(groups.values()):
        spoken = sorted(group, key=lambda each: (not each.text, -each.sureness))
        found.append(Voice(tuple(spoken), weigh(group[0].passage, rank)))
    return [voice for voice in found if voice.weight > 0]


def each_alone(passage: Passage, position: int) -> str:
    """Return a key that no other passage has."""
    return str(position)
