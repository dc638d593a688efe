"""What a word is, to the index and to a query alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tantivy import TextAnalyzer

LANGUAGES = {  # and the stemmer of each
    "none": None,
    "ar": "arabic",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hu": "hungarian",
    "it": "italian",
    "nl": "dutch",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
}
# Scripts that put no space between words, and Hangul, whose particles are written onto the word. Each of their
# characters is a word of its own: coarser than a dictionary's segmentation, and it never misses a match.
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_TOKEN = rf"[{_UNSPACED}]|[\w--[_{_UNSPACED}]]+"
# Their stemmers know an ending by its accent. What is left after that is stemmed once more: who types no accents finds
# (nearly) as much.
_ACCENTED_ENDINGS = frozenset("es fr hu it pt ro tr".split())
_LONGEST_WORD = 128  # bytes; longer ones are base64 and its like, and only swell the index


def analyzer(language: str) -> TextAnalyzer:
    """Words lower-cased, stemmed in `language` (one of LANGUAGES), without accents."""
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    builder = TextAnalyzerBuilder(Tokenizer.regex(_TOKEN)).filter(Filter.remove_long(_LONGEST_WORD))
    builder = builder.filter(Filter.lowercase())
    stemmer = LANGUAGES[language]
    if stemmer and language != "en":  # which has accents in foreign words only, and rules for none
        builder = builder.filter(Filter.stemmer(stemmer))
    builder = builder.filter(Filter.ascii_fold())
    if stemmer and (language == "en" or language in _ACCENTED_ENDINGS):
        builder = builder.filter(Filter.stemmer(stemmer))
    return builder.build()


def searchable(text: str) -> str:
    """Tidy `text` as it is searched: an İ in lower case would be an i and a dot of its own."""
    return text.replace("İ", "I")
