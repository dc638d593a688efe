"""Splits text into words, for the index and for queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tantivy import TextAnalyzer

LANGUAGES = {  # language: stemmer
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
# Scripts without spaces between words, and Hangul, which joins particles to words. Each character is a word: less
# precise than segmentation with a dictionary, but it never misses a match.
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_TOKEN = rf"[{_UNSPACED}]|[\w--[_{_UNSPACED}]]+"
# Stemmers that need accents. Words are stemmed again after their accents are removed, so that queries without
# accents match too.
_ACCENTED_ENDINGS = frozenset("es fr hu it pt ro tr".split())
_LONGEST_WORD = 128  # bytes; longer words are data such as base64


def analyzer(language: str) -> TextAnalyzer:
    """Return an analyzer that lower-cases words, stems them in `language` and removes accents."""
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    builder = TextAnalyzerBuilder(Tokenizer.regex(_TOKEN)).filter(Filter.remove_long(_LONGEST_WORD))
    builder = builder.filter(Filter.lowercase())
    stemmer = LANGUAGES[language]
    if stemmer and language != "en":  # English words have accents only if they are foreign
        builder = builder.filter(Filter.stemmer(stemmer))
    builder = builder.filter(Filter.ascii_fold())
    if stemmer and (language == "en" or language in _ACCENTED_ENDINGS):
        builder = builder.filter(Filter.stemmer(stemmer))
    return builder.build()


def searchable(text: str) -> str:
    """Return `text` as it is indexed. A lower-case İ would become two characters."""
    return text.replace("İ", "I")
