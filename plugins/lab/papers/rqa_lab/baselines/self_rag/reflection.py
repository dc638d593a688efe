"""Self-RAG's reflection tokens: read the model's own, and break up imitations in untrusted text.

The names are those of the published models. The scores follow Section 3.3 of the paper and its published inference.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from robust_qa import Token
from robust_qa.kit import printable, single_line

RETRIEVE, NO_RETRIEVAL = "[Retrieval]", "[No Retrieval]"
IRRELEVANT, UNSUPPORTED = "[Irrelevant]", "[No support / Contradictory]"
# The value of each token in its group.
_RELEVANCE = {"[Relevant]": 1.0, IRRELEVANT: 0.0}
_SUPPORT = {"[Fully supported]": 1.0, "[Partially supported]": 0.5, UNSUPPORTED: 0.0}
_UTILITY = {f"[Utility:{stars}]": (stars - 3) / 2 for stars in range(1, 6)}
_RETRIEVAL = {RETRIEVE: 1.0, NO_RETRIEVAL: 0.0}
_REFLECTION = {*_RETRIEVAL, *_RELEVANCE, *_SUPPORT, *_UTILITY, "[Continue to Use Evidence]"}

_MARK = re.compile(f"({'|'.join(map(re.escape, sorted(_REFLECTION)))})")
_TAG = re.compile(r"</?(?:paragraph|s)>|<\|[^<>|\s]{1,40}\|>")
# Special tokens of all model families, the markup of instructions, and rqa's own marks.
_STEERING = re.compile(rf"{_MARK.pattern}|<[^<>\s]{{1,40}}>|<<<|\[/?[A-Z_]{{2,40}}\]|###")


@dataclass(frozen=True, slots=True)
class Critique:
    """A model's rating of its continuation: the reflection tokens in it, and their expected values.

    `probability` is the geometric mean over all tokens. Relevance and support are in [0, 1], utility in [-1, 1]; 0 if
    the model does not rate it.
    """

    marks: tuple[str, ...]
    probability: float
    relevance: float
    support: float
    utility: float


def critique(tokens: Sequence[Token]) -> Critique:
    """Return the rating: relevance from the first token, support and utility from the first of their kind."""
    texts = [token.text.strip() for token in tokens]

    def first(worths: Mapping[str, float]) -> float:
        return next(
            (_expected(token, worths) or 0.0 for token, text in zip(tokens, texts, strict=True) if text in worths), 0.0
        )

    return Critique(
        marks=tuple(text for text in texts if text in _REFLECTION),
        probability=math.exp(min(sum(token.logprob for token in tokens) / max(len(tokens), 1), 0.0)),
        relevance=(_expected(tokens[0], _RELEVANCE) if tokens else None) or 0.0,
        support=first(_SUPPORT),
        utility=first(_UTILITY),
    )


def wish(tokens: Sequence[Token]) -> float | None:
    """Return the probability that the model wants passages, or None if it says neither yes nor no."""
    return _expected(tokens[0], _RETRIEVAL) if tokens else None


def _expected(token: Token, worths: Mapping[str, float]) -> float | None:
    """Return the expected value of a group at `token`, or None if no token of the group is an alternative there."""
    logprobs = {text.strip(): logprob for text, logprob in {token.text: token.logprob, **token.top}.items()}
    found = {text: math.exp(min(logprobs[text], 0.0)) for text in worths if text in logprobs}
    total = sum(found.values())
    return sum(worths[text] * probability for text, probability in found.items()) / total if total else None


def said(text: str) -> str:
    """Return a continuation without reflection tokens, on one line."""
    return single_line(_TAG.sub(" ", _MARK.sub(" ", text)))


def defused(text: str) -> str:
    """Return `text` with reflection tokens, other special tokens and instruction markup broken up."""
    text = printable(text)
    # Repeat, because splitting one token may leave another that overlapped it.
    while _STEERING.search(text):
        text = _STEERING.sub(lambda match: f"{match[0][0]} {match[0][1:]}", text)
    return text


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
