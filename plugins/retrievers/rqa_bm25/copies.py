"""Fold copies of passages into one, so that they do not fill the result."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from robust_qa import Passage
from robust_qa.kit import content_terms, near_copies, sentences, visible

_NAMED = 3  # copies whose source is named


@dataclass
class _Kept:
    passage: Passage
    copies: dict[str, None] = field(default_factory=dict)  # their sources

    @cached_property
    def title(self) -> str:
        """The title, "" if it is only the file name: copies of a file differ in it."""
        return "" if self.passage.title == Path(self.passage.source).stem else visible(self.passage.title)

    @cached_property
    def text(self) -> str:
        return visible(self.passage.text)

    @cached_property
    def sentences(self) -> set[str]:
        return {visible(self.passage.text[start:end]) for start, end in sentences(self.passage.text)}

    def is_copy_of(self, other: _Kept, asked: set[str]) -> bool:
        if self.title != other.title:
            return False
        if self.text == other.text:
            return True
        if not near_copies(self.passage.text, other.passage.text):
            return False
        return asked.isdisjoint(content_terms("\n".join(self.sentences ^ other.sentences)))

    def folded(self) -> Passage:
        others = [source for source in self.copies if source != self.passage.source]
        if not others:
            return self.passage
        more = len(others) - _NAMED
        named = ", ".join(others[:_NAMED]) + (f" and {more} more" if more > 0 else "")
        place = f"{self.passage.place}, also in {named}" if self.passage.place else f"also in {named}"
        return replace(self.passage, place=place)


def without_copies(passages: Iterable[Passage], question: str, k: int) -> list[Passage]:
    """Return the first `k` passages. Copies of an earlier one are left out, and their sources are in its place.

    A copy has the same title and nearly the same words, and the sentences that differ have no word of the question.
    So two versions that differ in what is asked both stay.
    """
    asked = set(content_terms(question))
    kept: list[_Kept] = []
    for each in map(_Kept, passages):
        original = next((other for other in kept if each.is_copy_of(other, asked)), None)
        if original:
            original.copies[each.passage.source] = None
            continue
        kept.append(each)
        if len(kept) == k:
            break
    return [each.folded() for each in kept]
