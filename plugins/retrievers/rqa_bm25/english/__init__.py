"""Whether a word is English: a Bloom filter of a dictionary, which takes one of a thousand other words for English.

To make it again, with the dictionary of symspellpy (one word and its frequency a line):

    python -m rqa_bm25.english frequency_dictionary_en_82_765.txt
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_FILE = Path(__file__).with_name("words.bloom")
_BYTES = 1 << 17  # 14 bits for each of the 75,000 words
_HASHES = 7
_LONG = 9  # letters of a word that may have two errors


def is_english(word: str) -> bool:
    """Return whether a word in lower case is in the dictionary."""
    bits = _bits()
    return all(bits[place >> 3] >> (place & 7) & 1 for place in _places(word))


def is_slip(typed: str, word: str) -> bool:
    """Return whether `typed` may be a typing error of `word`: one letter more, less or other, or two exchanged.

    A long word may have two. The first letter is right. A letter after the whole word, and another letter in a word
    that is not English, make another name: https, httpx.
    """
    if typed[:1] != word[:1] or (len(typed) > len(word) and typed.startswith(word)):
        return False
    if len(typed) == len(word) and sorted(typed) != sorted(word) and not is_english(word):
        return False
    return _distance(typed, word) <= (2 if min(len(typed), len(word)) >= _LONG else 1)


def _distance(one: str, other: str) -> int:
    """Return the edits between two words (Damerau 1964; of the optimal string alignment)."""
    last: list[int] = []
    before: list[int] = []
    row = list(range(len(other) + 1))
    for n, letter in enumerate(one, start=1):
        last, before, row = before, row, [n]
        for m, another in enumerate(other, start=1):
            best = min(before[m] + 1, row[m - 1] + 1, before[m - 1] + (letter != another))
            if n > 1 and m > 1 and letter == other[m - 2] and one[n - 2] == another:
                best = min(best, last[m - 2] + 1)
            row.append(best)
    return row[-1]


def _places(word: str) -> Iterator[int]:
    digest = hashlib.blake2b(word.encode(), digest_size=4 * _HASHES).digest()
    for start in range(0, len(digest), 4):
        yield int.from_bytes(digest[start : start + 4], "big") % (_BYTES * 8)


@cache
def _bits() -> bytes:
    return _FILE.read_bytes()


def write(words: list[str]) -> None:
    """Write the filter of `words`."""
    bits = bytearray(_BYTES)
    for word in words:
        for place in _places(word):
            bits[place >> 3] |= 1 << (place & 7)
    _FILE.write_bytes(bits)
