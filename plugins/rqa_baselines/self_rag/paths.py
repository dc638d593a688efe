"""What the model wrote, segment by segment, and how good it finds it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from .reflection import IRRELEVANT, UNSUPPORTED, Critique, quoted, said


@dataclass(frozen=True, slots=True)
class Segment:
    """What the model writes over the passage at a position, or over none, up to where it `asks` for passages again."""

    passage: int | None
    written: str
    asks: bool
    score: float
    critique: Critique

    @property
    def text(self) -> str:
        """For people."""
        return said(self.written)

    @property
    def stands(self) -> bool:
        """Whether the model does not find its passage irrelevant, or that it says otherwise."""
        return self.passage is not None and not {IRRELEVANT, UNSUPPORTED} & set(self.critique.marks)

    def listed(self) -> dict[str, Any]:
        """Ready for JSON."""
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
    """Segments in a row; none yet at the start of a search."""

    segments: tuple[Segment, ...] = ()

    @property
    def score(self) -> float:
        """The product of the segments' scores, as in the published inference."""
        return math.prod(segment.score for segment in self.segments)

    @property
    def text(self) -> str:
        """For people."""
        return " ".join(segment.text for segment in self.segments if segment.text)

    @property
    def written(self) -> str:
        """As it is put into a prompt, to be continued."""
        return "".join(quoted(segment.written) for segment in self.segments)

    @property
    def asks(self) -> bool:
        """Whether it is to be continued."""
        return not self.segments or self.segments[-1].asks

    def rank(self) -> tuple[bool, float]:
        """What paths are sorted by: one that says nothing is no answer, however sure the model is of it."""
        return bool(self.text), self.score

    def listed(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {"text": self.text, "score": self.score, "segments": [segment.listed() for segment in self.segments]}
