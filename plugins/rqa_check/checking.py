"""Compare the sentences of an answer with the sentences of passages, by shared words and by values.

A value is a word with a digit or a capital letter, except the first word of a sentence. The closest sentence is the one
with most of the words, weighted by rarity. It supports the claim if it has all values, too. It contradicts the claim if
it has another value of the same kind in place of a missing one.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from robust_qa import Citation, Passage, Toolbox
from robust_qa.kit import content_terms, sentences, words

Verdict = Literal["supported", "contradicted", "not found"]

LEAST = 0.7  # of the words of a claim in its closest sentence
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_NAME = re.compile(r"(?<=[\w,;('\"] )[A-Z][\w’'-]*")


@dataclass(frozen=True, slots=True)
class Checked:
    """A sentence of an answer with its verdict and, unless it is not found, the closest sentence of the passages."""

    sentence: str
    verdict: Verdict
    citation: Citation | None = None


@dataclass(frozen=True, slots=True)
class _Statement:
    text: str
    numbers: frozenset[str]
    names: frozenset[str]
    terms: frozenset[str]  # besides the values
    everything: frozenset[str]  # all words, and those of the title
    passage: Passage | None = None


async def check_answer(answer: str, toolbox: Toolbox, passages: Sequence[Passage] | None = None) -> list[Checked]:
    """Return each sentence of `answer` with its verdict. Without `passages`, retrieves some for each sentence."""
    if passages is not None:
        return check_sentences(answer, passages)
    found = []
    for sentence in _split(answer):
        found += check_sentences(sentence, await toolbox.retrieve(sentence))
    return found


def check_sentences(answer: str, passages: Sequence[Passage], least: float = LEAST) -> list[Checked]:
    """Return each sentence of `answer` with its verdict. Calls no model.

    A sentence is found if its closest sentence in `passages` has the share `least` of its words.
    """
    known = [_statement(each, passage) for passage in passages for each in _split(passage.text)]
    counts = Counter(term for each in known for term in each.everything)
    return [_verdict(_statement(each), known, counts, least) for each in _split(answer)]


def _verdict(claim: _Statement, known: Sequence[_Statement], counts: Counter[str], least: float) -> Checked:
    weights = {term: math.log(1 + (len(known) + 1) / (1 + counts[term])) for term in claim.terms}
    total = sum(weights.values())

    def share(other: _Statement) -> float:
        return sum(weights[term] for term in claim.terms & other.everything) / total if total else 1.0

    def missing(other: _Statement) -> int:
        return len((claim.numbers | claim.names) - other.everything)

    near = [other for other in known if share(other) >= least]
    supporting = [other for other in near if not missing(other)]
    if supporting:
        return Checked(claim.text, "supported", _cited(max(supporting, key=share)))
    rivals = [other for other in near if _differs(claim, other)]
    if rivals:
        return Checked(
            claim.text, "contradicted", _cited(max(rivals, key=lambda other: (share(other), -missing(other))))
        )
    return Checked(claim.text, "not found")


def _differs(claim: _Statement, other: _Statement) -> bool:
    """Return whether each kind of value that `other` misses has another value there."""
    lacking = [
        (own - other.everything, theirs - own)
        for own, theirs in ((claim.numbers, other.numbers), (claim.names, other.names))
    ]
    return any(gone for gone, _ in lacking) and all(instead for gone, instead in lacking if gone)


def _statement(text: str, passage: Passage | None = None) -> _Statement:
    numbers, names = frozenset(_NUMBER.findall(text)), frozenset(map(str.lower, _NAME.findall(text)))
    values = {term for value in (*numbers, *names) for term in (*content_terms(value), value)}
    title = passage.title if passage else ""
    shown = f"{title} {text}"
    everything = frozenset((*content_terms(shown), *words(shown), *_NUMBER.findall(shown)))
    return _Statement(text, numbers, names, frozenset(content_terms(text)) - values, everything, passage)


def _split(text: str) -> list[str]:
    return [" ".join(text[start:end].split()) for start, end in sentences(text)]


def _cited(statement: _Statement) -> Citation:
    passage = statement.passage or Passage("")
    return Citation(statement.text, passage.title, passage.source, passage.id, passage.origin, passage.date)
