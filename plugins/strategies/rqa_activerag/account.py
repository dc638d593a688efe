"""Turn the agents' replies into an Answer, and report how it was found."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from robust_qa import Answer, Citation, Passage, Position, Reading
from robust_qa.kit import cite, cite_reading, contains_words, with_title

from .parsing import Revision, Thought, references


@dataclass(frozen=True, slots=True)
class Lesson:
    """The results of one instruction: the knowledge T ("" without assimilation) and the revision."""

    instruction: str
    knowledge: str
    revision: Revision


def answered(thought: Thought | None, lessons: Sequence[Lesson], pool: Sequence[Passage]) -> Answer:
    """Return the majority answer of `lessons`, or an abstention if none has an answer.

    Other answers are a conflict, including an abandoned answer from memory. With several lessons, the confidence is the
    share of those that agree.
    """
    agreeing = elected(lessons)
    if not agreeing:
        if thought and thought.answer:
            reason = "The language model gave no answer in the end; the one from memory was given up."
            return Answer(None, reason=reason, conflicts=(Position(thought.answer, citations=_from_memory(thought)),))
        or_memory = ", neither from the documents nor from memory" if thought else " from the documents"
        return Answer(None, reason=f"The language model gave no answer{or_memory}.")
    text = agreeing[0].revision.answer
    confidence = len(agreeing) / len(lessons) if len(lessons) > 1 else None
    cited = tuple(dict.fromkeys(one for lesson in agreeing for one in _citations(lesson, text, pool)))
    positions = [Position(text, confidence, cited, chosen=True)]
    for lesson in lessons:
        _add(positions, lesson.revision.answer, _citations(lesson, lesson.revision.answer, pool))
    if thought:
        _add(positions, thought.answer, _from_memory(thought))
    return Answer(text, confidence, cited, tuple(positions) if len(positions) > 1 else ())


def elected(lessons: Sequence[Lesson]) -> list[Lesson]:
    """Return the lessons with the majority answer, the elected one first; none without an answer."""
    speaking = [lesson for lesson in lessons if lesson.revision.answer]
    return [speaking[position] for position in elect([lesson.revision.answer for lesson in speaking])]


def remembered(thought: Thought | None) -> Answer:
    """Return the answer of the thought alone, for a question without passages."""
    if thought is None:
        return Answer(None, reason="No passage was found for the question.")
    if not thought.answer:
        return Answer(None, reason="Nothing was found, and the language model knows no answer by heart.")
    return Answer(thought.answer, citations=_from_memory(thought))


def details(thought: Thought | None, lessons: Sequence[Lesson], pool: Sequence[Passage]) -> dict[str, Any]:
    """Return `Answer.details` as JSON. Documents are numbered from 1."""
    agreeing = elected(lessons)
    return {
        "documents": [
            {"number": number, "id": passage.id, "title": passage.title} for number, passage in enumerate(pool, start=1)
        ],
        "before": {"thought": thought.text, "answer": thought.answer or None} if thought else None,
        "lessons": [
            {
                "instruction": lesson.instruction,
                "knowledge": lesson.knowledge,
                "corrections": [
                    {
                        "before": correction.before,
                        "after": correction.after,
                        "citations": [
                            {"number": number, **dataclasses.asdict(cite(pool[number - 1], correction.after))}
                            for number in correction.documents
                        ],
                    }
                    for correction in lesson.revision.corrections
                ],
                "after": {"thought": lesson.revision.thought, "answer": lesson.revision.answer or None},
                "documents": list(lesson.revision.documents),
                "degraded": lesson.revision.degraded,
                "chosen": lesson in agreeing,
            }
            for lesson in lessons
        ],
        "citations_removed": sum(lesson.revision.removed for lesson in lessons),
    }


def explained(answer: Answer, thought: Thought | None, lessons: Sequence[Lesson]) -> str:
    """Return the decision in one line."""
    if answer.text is None:
        return answer.reason
    agreeing = f" by {len(elected(lessons))} of {len(lessons)} instructions" if len(lessons) > 1 else ""
    before = ""
    if thought:
        corrections = sum(len(lesson.revision.corrections) for lesson in lessons)
        before = f"; from memory: {thought.answer or None!r}; corrections: {corrections}"
    return f"chosen{agreeing}: {answer.text!r}{before}"


def _add(positions: list[Position], answer: str, citations: tuple[Citation, ...]) -> None:
    if answer and not any(agree(answer, position.text) for position in positions):
        positions.append(Position(answer, citations=citations))


def _citations(lesson: Lesson, answer: str, pool: Sequence[Passage]) -> tuple[Citation, ...]:
    """Return the documents that the reply names, else those of its corrections.

    Without either, returns those that the knowledge names and that contain `answer`.
    """
    revision = lesson.revision
    corrected = dict.fromkeys(number for correction in revision.corrections for number in correction.documents)
    named = tuple(number - 1 for number in revision.documents or corrected)
    if not named:
        learnt = [number - 1 for number in references(lesson.knowledge, len(pool))]
        named = tuple(n for n in learnt if contains_words(answer, with_title(pool[n].title, pool[n].text)))
    return cite_reading(Reading(answer, passages=named), pool)


def _from_memory(thought: Thought) -> tuple[Citation, ...]:
    return (cite(Passage(thought.text, id="thought", origin="memory"), thought.answer),)


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
