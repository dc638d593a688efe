"""Tell whether a text is in English, the only language that the packaged model was trained and calibrated for."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from robust_qa.kit import content_terms, words

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

_ENGLISH = 0.25  # share of English stopwords from which a text is English without a closer look
# A text is in another language below this probability of English, or of no language, such as code and numbers.
_LEAST = 0.02


def other_language(text: str) -> str:
    """Return the ISO 639 code of the language of `text`, "" if it may be English."""
    found = words(text)
    if len(found) - len(content_terms(text)) >= _ENGLISH * len(found):  # loading the identifier takes a second
        return ""
    ranked = {code: float(likely) for code, likely in _identifier().rank(text)}
    return max(ranked, key=ranked.__getitem__) if ranked["en"] + ranked["zxx"] < _LEAST else ""


@cache
def _identifier() -> LanguageIdentifier:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
