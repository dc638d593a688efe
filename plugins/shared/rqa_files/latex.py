"""Letters that LaTeX and BibTeX write as commands."""

from __future__ import annotations

import re
import unicodedata

_LETTERS = dict(zip("ss aa AA ae AE oe OE o O l L".split(), "ßåÅæÆœŒøØłŁ", strict=True))
_ACCENTS = dict(
    zip("`'^~\"=.uvHckr", map(chr, (768, 769, 770, 771, 776, 772, 775, 774, 780, 779, 807, 808, 778)), strict=True)
)
_ACCENT = re.compile(r"\\(?:([`'^~\"=.])|([uvHckr])(?=\{))\{?\\?([a-zA-Z])\}?")


def without_escapes(text: str) -> str:
    """Return text with the letters and spaces that LaTeX writes as commands: ``M\\"uller`` is Müller."""
    for command, letter in _LETTERS.items():
        text = re.sub(rf"\\{command}(?:\{{\}}|\b ?)", letter, text)
    text = _ACCENT.sub(lambda found: unicodedata.normalize("NFC", found[3] + _ACCENTS[found[1] or found[2]]), text)
    return re.sub(r"\\([%&_#$])", r"\1", re.sub(r"~|\\,", " ", text.replace("\\-", "")))
