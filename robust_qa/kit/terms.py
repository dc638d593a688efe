"""Reduce the words of a text to stems that can be compared."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Set
from functools import lru_cache

# Han, kana and Hangul are written without spaces, so each of their characters is a word.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_LONGEST = 32  # characters of a word, so that the cache stays small
# Six letters join direct(or|ed|ing) and compos(er|ed). Five rank SQuAD's sentences as well; four, seven and whole words
# are worse.
_STEM = 6

STOPWORDS = frozenset(
    """a about after all also am an and any are as at be because been before being both but by called can
    could did do does doing for from had has have he her him his how i if in into is it its itself just
    known many me more most much my name named no not of on or other our out over s same she should so
    some such t than that the their them then there these they this those through to too under until up
    very was we were what when where which while who whom whose why will with would you your""".split()
)


def content_terms(text: str) -> list[str]:
    """Return the stems of the words of `text` without English stopwords, in order."""
    return [_stem(word[:_LONGEST]) for word in _WORD.findall(text.lower()) if word not in STOPWORDS]


def term_spans(text: str, terms: Set[str]) -> list[tuple[int, int]]:
    """Return the offsets in `text` of the words whose stems are in `terms`, which `content_terms` returned."""
    return [word.span() for word in _WORD.finditer(text) if _stem(word[0].lower()[:_LONGEST]) in terms]


@lru_cache(maxsize=1 << 14)
def _stem(word: str) -> str:
    """Return the first letters of a lower-case word, without accents and without the s of a plural."""
    if not word.isascii():
        word = "".join(char for char in unicodedata.normalize("NFKD", word) if not unicodedata.combining(char))
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    return word[:_STEM]
