"""Detect the language of a text."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from .terms import STOPWORDS

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

_SAMPLE = 2000  # characters that show the language
_ENGLISH = 0.25  # share of English stopwords from which a text is English without a closer look
# A text is in another language below this probability of English, or of no language, such as code and numbers.
_LEAST = 0.02
_TELLING = 6  # words of an ASCII question that tell its language; fewer are often names and terms


def language_of(text: str) -> str:
    """Return the ISO 639 code of the language of `text`, "en" if it may be English or is in no language."""
    sample = text[:_SAMPLE]
    words = sample.lower().split()
    if sum(word in STOPWORDS for word in words) >= _ENGLISH * len(words):  # loading the identifier takes a second
        return "en"
    ranked = {code: float(likely) for code, likely in _identifier().rank(sample)}
    return max(ranked, key=ranked.__getitem__) if ranked["en"] + ranked["zxx"] < _LEAST else "en"


def language_of_question(question: str) -> str:
    """Return the language of a question, as `language_of` does; "en" if it is too short to tell."""
    tells = len(question.split()) >= _TELLING or not question.isascii()
    return language_of(question) if tells else "en"


@cache
def _identifier() -> LanguageIdentifier:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
