"""Turn a reply into an Answer: the marked answer, and the documents that it names.

Replies are untrusted data: parsing never raises, and ignores named documents that do not exist.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass

from robust_qa import Answer, Citation, Passage, Position, Reading
from robust_qa.kit import answer_key, cite, cite_reading, contains_words, with_title
from rqa_prompts import final_answer, named_documents, says_unknown

_DOCUMENTS = re.compile(r"^[^\w\n]*documents?[^\w\n]*[:：](.*)$", re.I | re.M)


@dataclass(frozen=True, slots=True)
class Found:
    """The answer in a reply ("" if it declines) and the numbers of the documents that it names."""

    answer: str
    documents: tuple[int, ...] = ()


def find(reply: str, size: int = 0) -> Found:
    """Return the answer in a reply about `size` documents, and those named on a line of their own."""
    answer = final_answer(reply)
    return Found("" if says_unknown(answer) else answer, numbers(documents_line(reply) or "", size))


def documents_line(reply: str) -> str | None:
    """Return the rest of the last line that begins with `Documents:`, or None without one."""
    return next(reversed(_DOCUMENTS.findall(reply)), None)


def numbers(text: str, size: int) -> tuple[int, ...]:
    """Return the document numbers in text such as "1, 3" or "2-4", without those above `size`."""
    return named_documents(text, size)[0]


def concluded(reply: str, passages: Sequence[Passage] = ()) -> Answer:
    """Return the answer in a reply about `passages`, with citations. Abstains if it declines or is empty."""
    found = find(reply, len(passages))
    if not found.answer:
        empty, unknown = "The language model's reply is empty.", "The language model does not know the answer."
        return Answer(None, reason=unknown if reply else empty)
    return Answer(found.answer, citations=cited(found, passages))


def reconsidered(answer: Answer, before: str) -> Answer:
    """Return the answer with the one `before` it as the other side of a conflict, unless it is the same."""
    if not before or answer.text is None:
        return answer
    if contains_words(before, answer.text) or contains_words(answer.text, before):  # the same in other words
        return answer
    after = Position(answer.text, citations=answer.citations, chosen=True)
    return dataclasses.replace(answer, conflicts=(after, Position(before)))


def cited(found: Found, passages: Sequence[Passage]) -> tuple[Citation, ...]:
    """Return citations of the documents that a reply names and that support its answer."""
    return cite_reading(Reading(found.answer, passages=tuple(number - 1 for number in found.documents)), passages)


def read(reading: Reading, passages: Sequence[Passage]) -> Answer:
    """Return the Answer of a reading of `passages`. Abstains if they do not contain one."""
    if reading.text is None:
        return Answer(None, reason=reading.reason or "The passages do not hold an answer.")
    return Answer(reading.text, reading.score, cite_reading(reading, passages))


def holding(answer: str, passages: Sequence[Passage]) -> tuple[Citation, ...]:
    """Return citations of the passages that contain the answer as whole words."""
    return tuple(cite(p, answer) for p in passages if contains_words(answer, with_title(p.title, p.text)))


def voted(replies: Sequence[str], *passages: Sequence[Passage], chosen: int | None = None) -> Answer:
    """Return the answer of most `replies` (ties go to the first), or that of the reply `chosen`.

    `passages` are those that all replies saw, or one sequence for each reply. Answers are compared after normalisation.
    Replies without an answer do not vote. The confidence is the share of all replies with this answer; other answers
    are a conflict. Abstains if no reply has an answer.
    """
    seen = passages if len(passages) == len(replies) else passages * len(replies)
    found = [find(reply, len(own)) for reply, own in zip(replies, seen, strict=True)]
    camps: dict[str, list[int]] = {}
    for number, one in enumerate(found):
        if one.answer:
            camps.setdefault(answer_key(one.answer), []).append(number)
    if not camps:
        return Answer(None, reason="No reply of the language model has an answer.")
    winner = max(camps.values(), key=lambda camp: (chosen in camp, len(camp)))
    positions = [
        Position(
            found[chosen if chosen is not None and chosen in camp else camp[0]].answer,
            len(camp) / len(replies),
            tuple(dict.fromkeys(citation for number in camp for citation in cited(found[number], seen[number]))),
            chosen=camp is winner,
        )
        for camp in sorted(camps.values(), key=lambda camp: camp is not winner)
    ]
    first = positions[0]
    return Answer(first.text, first.confidence, first.citations, tuple(positions) if len(positions) > 1 else ())
