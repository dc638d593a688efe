"""The language of a text, and the form of a question."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from .text import STOPWORDS

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


_YES_NO = re.compile(
    r"\s*(?:and |but |so |ok,? |hi,? )?"
    r"(?:am|is|are|was|were|do|does|did|can|could|may|might|must|shall|should|will|would|has|have|had)"
    r"(?:n['’]t)?\s(?!.*\bor (?!not\b))[^?]*\??\s*",
    re.IGNORECASE | re.DOTALL,
)


_LED = re.compile(r"(?!wh|how\b).*[,;:.!]\s", re.IGNORECASE | re.DOTALL)  # "We are twelve, " before what is asked


def is_yes_no(question: str) -> bool:
    """Return whether an English question wants yes or no: it begins with its verb and gives nothing to choose from."""
    asked = question.strip()
    led = _LED.match(asked) if asked.endswith("?") else None
    return bool(_YES_NO.fullmatch(asked) or (led and _YES_NO.fullmatch(asked, led.end())))


@cache
def _identifier() -> LanguageIdentifier:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
