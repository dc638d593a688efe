"""Words as the reader compares them: stems without accents, and the words that say nothing."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

# Han, kana and Hangul are written without spaces, so there every character is a word.
_TERM = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
# Six letters join direct(or|ed|ing) and compos(er|ed), and what they join wrongly is rare: SQuAD's sentences are
# ranked as well with five, worse with four, seven or whole words.
_STEM = 6

STOPWORDS = frozenset(
    """a about after all also am an and any are as at be because been before being both but by called can
    could did do does doing for from had has have he her him his how i if in into is it its itself just
    known many me more most much my name named no not of on or other our out over s same she should so
    some such t than that the their them then there these they this those through to too under until up
    very was we were what when where which while who whom whose why will with would you your""".split()
)


def terms(text: str) -> list[str]:
    """The words of `text` in order, each reduced to its stem."""
    return [stem(word) for word in _TERM.findall(text.lower())]


def content_terms(text: str) -> list[str]:
    """The stems of the words of `text` that are no stopwords, in order."""
    return [stem(word) for word in _TERM.findall(text.lower()) if word not in STOPWORDS]


def stem(word: str) -> str:
    """The first letters of a lower-case word, without accents; common irregular forms are joined."""
    return _stem(word[:32])  # so that the cache stays small whatever the text


@lru_cache(maxsize=1 << 14)
def _stem(word: str) -> str:
    if not word.isascii():
        word = "".join(char for char in unicodedata.normalize("NFKD", word) if not unicodedata.combining(char))
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    return word[:_STEM]


_FORMS = """
write wrote written writes writing writer writers
birth born birthplace
die died dies dying death deaths dead
bury buried buries burial
win won wins winning winner winners
begin began begun
sing sang sung singer singers song songs
make made makes making
become became
build built
lead led leader leaders
find found
marry married marries wife husband spouse wedding
play played plays playing player players
"""
_IRREGULAR = {form: line.split()[0] for line in _FORMS.strip().splitlines() for form in line.split()}
