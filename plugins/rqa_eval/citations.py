"""Citation precision and recall: whether what an answer cites bears out what it says.

As ALCE defines them (Gao et al. 2023, Section 3), sentence by sentence; but there a model of entailment judges, and
here words do: what an evaluator judges is relevance to a question, which is another matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from robust_qa import Outcome
from robust_qa.kit import normalise, sentences

from .holding import in_words, searched

_SENTENCE = 8  # words; fewer, without a stop at the end, are a name, a date and the like
_ENOUGH = 0.8  # of the words of a sentence; the rest may be said in another way
_FUNCTION_WORDS = frozenset(
    """about after also and are as at be been before but by can could did do does for from had has have he her him his
    i if in into is it its may not of on or our she so some such than that their them then there these they this those
    to under was we were what when where which while who whom whose will with would you your""".split()
)


@dataclass(frozen=True, slots=True)
class Quote:
    """What is looked up in a quote, found once: every sentence is held against it, alone and among the others."""

    searched: str
    words: frozenset[str]


def precision(outcome: Outcome) -> float | None:
    """The share of the citations that a sentence of the answer rests on; None without answer or citations.

    A sentence rests on a citation that bears it out alone, or without which the others do not bear it out.
    """
    if outcome.answer.text is None or not outcome.answer.citations:
        return None
    quotes = _quotes(outcome)
    supported = [claim for claim in _claims(outcome.answer.text) if bears_out(quotes, claim)]
    rests = [
        any(bears_out([quote], claim) or not bears_out(quotes[:n] + quotes[n + 1 :], claim) for claim in supported)
        for n, quote in enumerate(quotes)
    ]
    return sum(rests) / len(rests)


def recall(outcome: Outcome) -> float | None:
    """The share of the answer's sentences that its citations together bear out; None without answer."""
    if outcome.answer.text is None:
        return None
    quotes, claims = _quotes(outcome), _claims(outcome.answer.text)
    return sum(bears_out(quotes, claim) for claim in claims) / len(claims) if claims else None


def bears_out(quotes: Sequence[Quote], claim: str) -> bool:
    """Whether a quote contains the claim, in whole words; or of a sentence the quotes hold most words, all numbers.

    That share of words is K-Precision, of the measures by words the nearest to people's judgement of whether an answer
    is faithful to its passages (Adlakha et al. 2024, Section 5). It sees no negation.
    """
    normal = normalise(claim)
    if any(in_words(normal, quote.searched) for quote in quotes):
        return True
    words = normal.split()
    if len(words) < _SENTENCE and not claim.endswith((".", "!", "?")):
        return False
    wanted = set(words) - _FUNCTION_WORDS
    lacking = wanted.difference(*(quote.words for quote in quotes))
    numbers = any(character.isdigit() for word in lacking for character in word)
    return bool(wanted) and not numbers and len(wanted) - len(lacking) >= _ENOUGH * len(wanted)


def _claims(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


def _quotes(outcome: Outcome) -> list[Quote]:
    """The quotes of the answer's citations."""
    texts = [citation.quote for citation in outcome.answer.citations]
    return [Quote(searched(text), frozenset(normalise(text).split())) for text in texts]
