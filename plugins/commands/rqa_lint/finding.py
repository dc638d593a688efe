"""What `rqa lint` finds, and where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["disagreement", "duplicate", "instruction", "hidden"]


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a document: its source, the line (0 if unknown) and the text there."""

    source: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding with its places.

    `score` orders findings of a kind, from 0 to 1. `files` are those of the places, `times` is how often it is there.
    """

    kind: Kind
    message: str
    places: tuple[Place, ...]
    score: float = 1.0
    files: tuple[str, ...] = ()
    times: int = 1


def described(finding: Finding) -> str:
    """Return the message, with how often it is there."""
    many = finding.kind == "disagreement" and finding.times > 1
    return f"{finding.message}, {finding.times} times" if many else finding.message
