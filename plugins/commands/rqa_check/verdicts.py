"""The verdict about a sentence of an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from robust_qa import Citation

Verdict = Literal["supported", "contradicted", "disputed", "not decided"]


@dataclass(frozen=True, slots=True)
class Checked:
    """A sentence of an answer with its verdict. `citation` is the text that decides, `reason` why there is none.

    `supporting` and `contradicting` have a citation of each independent source.
    """

    sentence: str
    verdict: Verdict
    citation: Citation | None = None
    reason: str = ""
    supporting: tuple[Citation, ...] = ()
    contradicting: tuple[Citation, ...] = ()
