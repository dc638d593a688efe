"""Splits text into words, for the index and for queries."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import TYPE_CHECKING

from robust_qa.kit import with_parts

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
# Scripts without spaces between words, and Hangul, which joins particles to words: Thai to Myanmar, Khmer, kana, Han.
# Each pair of characters is a word, which never misses a match and needs no dictionary.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\U00020000-\U0003ffff]+"
)
# Arabic and Hebrew points, the Arabic stretch, Greek accents and Cyrillic yo are optional. A lower-case İ is two
# characters.
_FOLDED: dict[int, str] = {
    **dict.fromkeys([*range(0x591, 0x5C8), 0x640, *range(0x64B, 0x660), 0x670], ""),
    **{code: unicodedata.normalize("NFD", chr(code))[0] for code in [*range(0x370, 0x400), *range(0x1F00, 0x2000)]},
    **{ord(letter): folded for letter, folded in ("ёе", "ЁЕ", "İI")},
}
# Stemmers that need accents. Words are stemmed again after their accents are removed, so that queries without
# accents match too.
_ACCENTED_ENDINGS = frozenset("es fr hu it pt ro tr".split())
_WORD = re.compile(r"[^\W_]+")
_COMPOUND = re.compile(r"[^\W_]{0,40}?(?:[a-z](?=[A-Z])|[A-Z](?=[A-Z][a-z])|[^\W\d_](?=\d)|\d(?=[^\W\d_]))[^\W_]{1,40}")
_HYPHENED = re.compile(r"(?<![\w-])[^\W\d_]+-[^\W\d_]+(?![\w-])")
_JOINT = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]|[^\W\d_]\d|\d[^\W\d_]")  # that every compound has
_MOST_PARTS = 6  # more are data, such as a checksum
_LONGEST_WORD = 128  # bytes; longer words are data such as base64


def analysed(text: str, language: str) -> list[str]:
    """Return the words of `text`, in lower case, stemmed in `language` and without accents."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).translate(_FOLDED)
        text = _UNSPACED.sub(lambda run: f" {' '.join(_pairs(run[0]))} ", text)
    return _analyzer(language).analyze(text)


def compounds(text: str) -> dict[str, str]:
    """Return the words of `text` that consist of several, with their parts: parseHTTPCode, AB1234, E0417."""
    if not _JOINT.search(text):
        return {}
    unusual = [word for word in _WORD.findall(text) if not (word.isalpha() and word[1:].islower())]  # for speed
    found = {word: with_parts(word) for word in unusual if _COMPOUND.fullmatch(word)}
    return {word: parts for word, parts in found.items() if parts.count(" ") < _MOST_PARTS}


def joined(text: str) -> list[str]:
    """Return the words of two parts in `text` as one: e-mail is email, X-ray is Xray."""
    return [word.replace("-", "") for word in _HYPHENED.findall(text)] if "-" in text else []


def stemmed(language: str) -> str:
    """Return `language` if it has a stemmer, else "none"."""
    return language if language in LANGUAGES else "none"


def _pairs(run: str) -> list[str]:
    return [run[start : start + 2] for start in range(max(1, len(run) - 1))]


@cache
def _analyzer(language: str) -> TextAnalyzer:
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    builder = TextAnalyzerBuilder(Tokenizer.regex(r"[\w--_]+")).filter(Filter.remove_long(_LONGEST_WORD))
    builder = builder.filter(Filter.lowercase())
    stemmer = LANGUAGES[language]
    if stemmer and language != "en":  # English words have accents only if they are foreign
        builder = builder.filter(Filter.stemmer(stemmer))
    builder = builder.filter(Filter.ascii_fold())
    if stemmer and (language == "en" or language in _ACCENTED_ENDINGS):
        builder = builder.filter(Filter.stemmer(stemmer))
    return builder.build()
