"""Sources, what they say, and about which scope they say it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from robust_qa import Citation, Passage, Reading
from robust_qa.kit import answer_key, cite_reading, content_terms, near_copies, words
from rqa_claims import (
    Asked,
    Claim,
    may_agree,
    same_name,
    says_same,
    sentence_around,
    source_of,
    with_digits,
)

_SLOT = re.compile(
    r"\b(for|in|on|at|during|with|without|under|over|between|by|from)\s+(?:(?:the|a|an|all|our|your|every|each)\s+)?"
    r"(?=([^.,;:!?()\n]{1,200}))",
    re.IGNORECASE,
)
_LONGEST = 3  # words of a scope


@dataclass(frozen=True, eq=False)
class Source:
    """The passages of a document or web host, and the weight that the user gives it."""

    passages: list[Passage]
    trust: float

    @cached_property
    def text(self) -> str:
        return "\n".join(passage.text for passage in self.passages)

    @property
    def parts(self) -> list[Source]:
        """Each passage alone if only their name makes them one source: no file vouches for it."""
        is_named = len(self.passages) > 1 and not any(passage.file for passage in self.passages)
        return [Source([passage], self.trust) for passage in self.passages] if is_named else []

    def copies(self, other: Source) -> bool:
        """Return whether the other has no voice beside this one: it has nearly the same words, or the same name."""
        return source_of(self.passages[0]) == source_of(other.passages[0]) or near_copies(self.text, other.text)


@dataclass(frozen=True, eq=False)
class Statement:
    """What a source says when it is read alone. `reading` is the likeliest, however unsure the reader is."""

    source: Source
    reading: Reading

    @property
    def confidence(self) -> float:
        return self.reading.score or 0.0

    @cached_property
    def key(self) -> str:
        return answer_key(with_digits(self.reading.text or ""))

    @property
    def citations(self) -> tuple[Citation, ...]:
        return cite_reading(self.reading, self.source.passages)

    @cached_property
    def claim(self) -> Claim:
        return Claim.of(self.reading, self.source.passages)

    def agrees(self, other: Statement) -> bool:
        """Return whether both give one answer: in the same words, as one quantity, or as names of one person."""
        if self.claim.differs(other.claim):
            return False
        if (self.claim.values or other.claim.values) and _has_number(self.key) != _has_number(other.key):
            return False  # "days" is no short form of "15 days"
        texts = self.reading.text or "", other.reading.text or ""
        return says_same(self.key, other.key) or self.claim.agrees(other.claim) or same_name(*texts)

    def contradicts(self, other: Statement) -> bool:
        """Return whether both say something else about the same thing."""
        return self.claim.contradicts(other.claim) and not may_agree(self.key, other.key)

    def is_about_another(self, asked: Asked) -> bool:
        """Return whether the sentence names another thing than the question, which other sources may tell."""
        if self.reading.start is None or self.reading.end is None:
            return False
        passage = self.source.passages[self.reading.passages[0]]
        return asked.is_astray(passage, self.reading.start, self.reading.end)

    @property
    def masked(self) -> list[Passage]:
        """The passages with dots in place of the answer, one for each character, so that all places stay."""
        text = self.source.passages[self.reading.passages[0]].text
        answer = text[self.reading.start : self.reading.end]
        return [replace(each, text=each.text.replace(answer, "…" * len(answer))) for each in self.source.passages]

    @cached_property
    def scopes(self) -> dict[str, set[str]]:
        """The words after each preposition of the sentence, and those of the title after its first one."""
        found: dict[str, set[str]] = {}
        for match in _SLOT.finditer(f"{self.rest} {self.reading.text}"):
            scope = content_terms(" ".join(match[2].split()[:_LONGEST]))
            found.setdefault(match[1].lower(), set()).update(scope)
        first, *others = words(self.source.passages[0].title.partition(" > ")[0]) or [""]
        return found | {f"title {first}": set(others)}

    def is_apart(self, other: Statement, asked: set[str]) -> bool:
        """Return whether the words `asked` name the scope of `other`, where this statement has one, too."""
        for place in self.scopes.keys() & other.scopes.keys():
            own, right = self.scopes[place] - other.scopes[place], other.scopes[place] - self.scopes[place]
            named = right <= asked if place.startswith("title") else right & asked
            if own and right and named and not own & asked:
                return True
        return False

    @property
    def rest(self) -> str:
        """The sentence of the answer without the answer: what it is about."""
        return sentence_around(self.reading, self.source.passages)


def _has_number(key: str) -> bool:
    return any(each.isdigit() for each in key)


def sources_of(passages: Sequence[Passage], trust: Callable[[Passage], float]) -> list[Source]:
    """Return the sources of `passages` in the order of their first ones.

    `trust` gives the weight of a passage's source; sources with the weight 0 are not heard.
    """
    groups: dict[str, list[Passage]] = {}
    for passage in passages:
        groups.setdefault(source_of(passage), []).append(passage)
    found = [Source(own, trust(own[0])) for own in groups.values()]
    return [source for source in found if source.trust > 0]


def statement(source: Source, reading: Reading) -> Statement:
    """Return what `source` says: an unsure reader gives its likeliest answer as the first rival."""
    return Statement(source, reading.rivals[0] if reading.text is None and reading.rivals else reading)
