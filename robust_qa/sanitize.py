"""Text from outside made safe to print, to encode and to compare."""

from __future__ import annotations

import re
import unicodedata

# C0 and C1 controls other than tab and newline, bidirectional overrides, lone surrogates, and tags, which spell what
# models read and nobody sees: they can steer a terminal, an editor or a model, never an answer.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]")


_UNESCAPED = re.compile(  # those that JSON leaves
    rb"\x7f|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]|\xe2\x81[\xa6-\xa9]|\xf3\xa0[\x80\x81][\x80-\xbf]"
)


# Joiners, marks of direction, choices of a variant, fillers, tags: needed in some texts, without a word of their own.
UNSEEN = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2060-\u206f\ufe00-\ufe0f\ufeff"
    "\U000e0000-\U000e01ef"
)


_INVISIBLE = re.compile(f"[{UNSEEN}]")


_HALF = re.compile("[\ud800-\udfff]")


def whole_characters(text: str) -> str:
    """`text` with U+FFFD for a lone surrogate, as broken input has them: UTF-8 has no bytes for it."""
    return _HALF.sub("\ufffd", text)


def visible(text: str) -> str:
    """`text` as people see it: copies differ at most in spaces, and in characters that are not seen."""
    return " ".join((text if text.isascii() else _INVISIBLE.sub("", text)).split())


def printable(text: str) -> str:
    """`text` without the characters that could steer a terminal or hide other text."""
    return _CONTROL.sub("", text)


def flat(text: str) -> str:
    """`text` as printable, in one line: a second could pass for another answer, source or message."""
    return " ".join(printable(text).split())


def printable_json(encoded: bytes) -> bytes:
    """JSON with those characters escaped: it says the same, and steers nothing."""
    return _UNESCAPED.sub(lambda match: _escaped(match[0].decode()), encoded)


def _escaped(character: str) -> bytes:
    units = character.encode("utf-16-be").hex(" ", 2).split()  # two where it is beyond the first plane
    return "".join(f"\\u{unit}" for unit in units).encode()


# Soft hyphen, zero width space, word joiner and byte order mark: not seen, and not of the word, which they would part.
# As does U+2010 at the end of a line where a small letter goes on, as man(1) writes it.
_WITHIN_WORDS = re.compile(
    "\u00ad(?:[ \\t]*\\n[ \\t]*(?=\\w))?|[\u200b\u2060\ufeff]"
    r"|(?<=[^\W\d_])\u2010[ \t]*\n[ \t]*(?=[^\W\d_A-Z])"
)


def tidy(text: str) -> str:
    """`text` as the index can hold it: composed characters (NFC), no NULs, no lone surrogates, words in one piece."""
    if not text.isascii():
        text = _WITHIN_WORDS.sub("", text)
        text = unicodedata.normalize("NFC", text).encode("utf-8", "replace").decode()
    return text.replace("\0", " ")
