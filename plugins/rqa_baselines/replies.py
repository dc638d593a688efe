"""From a reply to an Answer: the marked answer, and the documents it is said to stand in.

A reply is data: nothing here raises, and documents that a reply names and that do not exist are left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from robust_qa import Answer, Citation, Passage, Reading
from robust_qa.kit import cite, cite_reading, contains_words, final_answer, named_documents, says_unknown, with_title

_DOCUMENTS = re.compile(r"^[^\w\n]*documents?[^\w\n]*[:：](.*)$", re.I | re.M)


@dataclass(frozen=True, slots=True)
class Found:
    """What a reply answers ("" when it declines) and the numbers of the documents it names for that."""

    answer: str
    documents: tuple[int, ...] = ()


def find(reply: str, size: int = 0) -> Found:
    """The answer that a reply about `size` documents states, and those that it names on a line of their own."""
    answer = final_answer(reply)
    return Found("" if says_unknown(answer) else answer, numbers(documents_line(reply) or "", size))


def documents_line(reply: str) -> str | None:
    """What stands after the last `Documents:` of a reply, on its line; None when there is none."""
    return next(reversed(_DOCUMENTS.findall(reply)), None)


def numbers(text: str, size: int) -> tuple[int, ...]:
    """The numbers of documents in text such as "1, 3" or "2-4", those that are none of `size` left out."""
    return named_documents(text, size)[0]


def concluded(reply: str, passages: Sequence[Passage] = ()) -> Answer:
    """The answer of a reply about `passages`, with their citations; abstains when the reply declines or is empty."""
    found = find(reply, len(passages))
    if not found.answer:
        empty, unknown = "The language model's reply is empty.", "The language model does not know the answer."
        return Answer(None, reason=unknown if reply else empty)
    return Answer(found.answer, citations=cited(found, passages))


def cited(found: Found, passages: Sequence[Passage]) -> tuple[Citation, ...]:
    """The documents that a reply names for its answer, and that bear it out."""
    return cite_reading(Reading(found.answer, passages=tuple(number - 1 for number in found.documents)), passages)


def read(reading: Reading, passages: Sequence[Passage]) -> Answer:
    """A reading of `passages` as an Answer; abstains where they do not hold one."""
    if reading.text is None:
        return Answer(None, reading.score, reason=reading.reason or "The passages do not hold an answer.")
    return Answer(reading.text, reading.score, cite_reading(reading, passages))


def holding(answer: str, passages: Sequence[Passage]) -> tuple[Citation, ...]:
    """Citations of those of `passages` in which the answer stands, word for word."""
    return tuple(cite(p, answer) for p in passages if contains_words(answer, with_title(p.title, p.text)))
