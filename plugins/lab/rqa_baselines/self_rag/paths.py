"""Generated text, segment by segment, with the model's own rating."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from .reflection import IRRELEVANT, UNSUPPORTED, Critique, quoted, said


@dataclass(frozen=True, slots=True)
class Segment:
    """Text that the model wrote after the passage at this position, or after none (None).

    It ends where the model `asks` for passages again.
    """

    passage: int | None
    written: str
    asks: bool
    score: float
    critique: Critique

    @property
    def text(self) -> str:
        """The text without reflection tokens."""
        return said(self.written)

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


@dataclass(frozen=True, slots=True)
class Path:
    """Consecutive segments; empty at the start of a search."""

    segments: tuple[Segment, ...] = ()

    @property
    def score(self) -> float:
        """The product of the segments' scores, as in the published inference."""
        return math.prod(segment.score for segment in self.segments)

    @property
    def text(self) -> str:
        """The text without reflection tokens."""
        return " ".join(segment.text for segment in self.segments if segment.text)

    @property
    def written(self) -> str:
        """The text for a prompt that continues the path."""
        return "".join(quoted(segment.written) for segment in self.segments)

    @property
    def asks(self) -> bool:
        """Whether the path should be continued."""
        return not self.segments or self.segments[-1].asks

    def rank(self) -> tuple[bool, float]:
        """Return the sort key. A path without text ranks last, because it is no answer."""
        return bool(self.text), self.score

    def listed(self) -> dict[str, Any]:
        """Return the path as JSON."""
        return {"text": self.text, "score": self.score, "segments": [segment.listed() for segment in self.segments]}
