"""What a word is, to the index and to a query alike."""

from __future__ import annotations

import unicodedata
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
# Scripts that put no space between words. Each of their characters is a word of its own: coarser than a
# dictionary's segmentation, and it never misses a match.
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_TOKEN = rf"[{_UNSPACED}]|[\w--[_{_UNSPACED}]]+"
_LONGEST_WORD = 128  # bytes; longer ones are base64 and its like, and only swell the index


def analyzer(language: str) -> TextAnalyzer:
    """Words lower-cased, without accents, stemmed in `language` (one of LANGUAGES)."""
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    builder = (
        TextAnalyzerBuilder(Tokenizer.regex(_TOKEN))
        .filter(Filter.remove_long(_LONGEST_WORD))
        .filter(Filter.lowercase())
        .filter(Filter.ascii_fold())
    )
    if stemmer := LANGUAGES[language]:
        builder = builder.filter(Filter.stemmer(stemmer))
    return builder.build()


def tidy(text: str) -> str:
    """`text` as the index can hold it: composed characters (NFC), no NULs, no lone surrogates."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text).encode("utf-8", "replace").decode()
    return text.replace("\0", " ")
