"""Citation precision and recall after ALCE (Gao et al. 2023, Section 3).

ALCE uses an entailment model to decide whether a quote supports a sentence. Here shared words decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from robust_qa import Outcome
from robust_qa.kit import normalise, sentences
from rqa_eval.relevance import in_words, search_text

_SENTENCE = 8  # words: a shorter text without a full stop is a name or a date
_COVERAGE = 0.8  # share of the words of a sentence that the quotes must contain
_FUNCTION_WORDS = frozenset(
    """about after also and are as at be been before but by can could did do does for from had has have he her him his
    i if in into is it its may not of on or our she so some such than that their them then there these they this those
    to under was we were what when where which while who whom whose will with would you your""".split()
)


@dataclass(frozen=True, slots=True)
class Quote:
    """A quote prepared for lookups: its normalised text and words."""

    text: str
    words: frozenset[str]


def precision(outcome: Outcome) -> float | None:
    """Return the share of the citations that a sentence needs. None without an answer or citations.

    A sentence needs a citation that supports it alone, or without which the other citations do not support it.
    """
    if outcome.answer.text is None or not outcome.answer.citations:
        return None
    quotes = _quotes(outcome)
    supported = [claim for claim in _claims(outcome.answer.text) if supports(quotes, claim)]
    needed = [
        any(supports([quote], claim) or not supports(quotes[:n] + quotes[n + 1 :], claim) for claim in supported)
        for n, quote in enumerate(quotes)
    ]
    return sum(needed) / len(needed)


def recall(outcome: Outcome) -> float | None:
    """Return the share of the answer's sentences that its citations together support. None without an answer."""
    if outcome.answer.text is None:
        return None
    quotes, claims = _quotes(outcome), _claims(outcome.answer.text)
    return sum(supports(quotes, claim) for claim in claims) / len(claims) if claims else None


def supported(outcome: Outcome) -> float | None:
    """Return the share of the answer's sentences that the passages support, each alone. None without an answer.

    It takes the place of FactScore (Min et al. 2023), whose judge is a paid model.
    """
    if outcome.answer.text is None or not outcome.passages:
        return None
    claims, passages = _claims(outcome.answer.text), [_quote(passage.text) for passage in outcome.passages]
    return sum(any(supports([one], claim) for one in passages) for claim in claims) / len(claims) if claims else None


def supports(quotes: Sequence[Quote], claim: str) -> bool:
    """Return whether the quotes support the claim.

    A quote contains the claim as whole words; or the claim is a sentence, and the quotes contain most of its words
    and all of its numbers. This is K-Precision (Adlakha et al. 2024, Section 5). It ignores negation.
    """
    normal = normalise(claim)
    if any(in_words(normal, quote.text) for quote in quotes):
        return True
    words = normal.split()
    if len(words) < _SENTENCE and not claim.endswith((".", "!", "?")):
        return False
    content = set(words) - _FUNCTION_WORDS
    missing = content.difference(*(quote.words for quote in quotes))
    missing_number = any(character.isdigit() for word in missing for character in word)
    return bool(content) and not missing_number and len(content) - len(missing) >= _COVERAGE * len(content)


def _claims(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


def _quotes(outcome: Outcome) -> list[Quote]:
    return [_quote(citation.quote) for citation in outcome.answer.citations]


def _quote(text: str) -> Quote:
    return Quote(search_text(text), frozenset(normalise(text).split()))
