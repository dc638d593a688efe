"""Generated text with the model's own rating."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .reflection import IRRELEVANT, UNSUPPORTED, Critique, said


@dataclass(frozen=True, slots=True)
class Segment:
    """Text that the model wrote after the passage at this position, or after none (None)."""

    passage: int | None
    written: str
    score: float
    critique: Critique

    @property
    def text(self) -> str:
        """The text without reflection tokens."""
        return said(self.written)

    def rank(self) -> tuple[bool, float]:
        """Return the sort key. A segment without text ranks last, because it is no answer."""
        return bool(self.text), self.score

    @property
    def stands(self) -> bool:
        """Whether the model finds its passage relevant and supporting, at least in part."""
        return self.passage is not None and not {IRRELEVANT, UNSUPPORTED} & set(self.critique.marks)

    def listed(self) -> dict[str, Any]:
        """Return the segment as JSON."""
        return {
            "document": None if self.passage is None else self.passage + 1,
            "text": self.text,
            "score": self.score,
            "probability": self.critique.probability,
            "relevance": self.critique.relevance,
            "support": self.critique.support,
            "utility": self.critique.utility,
            "marks": list(self.critique.marks),
        }
