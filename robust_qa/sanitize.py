"""Make untrusted text safe to print, encode and compare."""

from __future__ import annotations

import re
import unicodedata

# Control characters except tab and newline, bidirectional overrides, lone surrogates, and tag characters, which
# models read but people do not see.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]")

_UNESCAPED = re.compile(  # those that JSON encoders do not escape
    rb"\x7f|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]|\xe2\x81[\xa6-\xa9]|\xf3\xa0[\x80\x81][\x80-\xbf]"
)

# Invisible characters that are legitimate in some scripts: joiners, direction marks, variation selectors, fillers.
UNSEEN = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2060-\u206f\ufe00-\ufe0f\ufeff"
    "\U000e0000-\U000e01ef"
)

_INVISIBLE = re.compile(f"[{UNSEEN}]")

_SURROGATE = re.compile("[\ud800-\udfff]")


def whole_characters(text: str) -> str:
    """Replace lone surrogates by U+FFFD, because UTF-8 cannot encode them."""
    return _SURROGATE.sub("\ufffd", text)


def visible(text: str) -> str:
    """Return `text` without invisible characters and with single spaces, to compare copies."""
    return " ".join((text if text.isascii() else _INVISIBLE.sub("", text)).split())


def printable(text: str) -> str:
    """Return `text` without characters that could control a terminal or hide other text."""
    return _CONTROL.sub("", text)


def single_line(text: str) -> str:
    """Return `text` as printable and in one line, because a second line could fake a source or message."""
    return " ".join(printable(text).split())


def printable_json(encoded: bytes) -> bytes:
    """Escape the characters in JSON that could control a terminal or hide text."""
    return _UNESCAPED.sub(lambda match: _escaped(match[0].decode()), encoded)


def _escaped(character: str) -> bytes:
    units = character.encode("utf-16-be").hex(" ", 2).split()  # two units beyond U+FFFF
    return "".join(f"\\u{unit}" for unit in units).encode()


# Invisible characters that would split a word: soft hyphen, zero width space, word joiner, byte order mark.
# Also U+2010 at the end of a line, as man(1) hyphenates.
_WITHIN_WORDS = re.compile(
    "\u00ad(?:[ \\t]*\\n[ \\t]*(?=\\w))?|[\u200b\u2060\ufeff]"
    r"|(?<=[^\W\d_])\u2010[ \t]*\n[ \t]*(?=[^\W\d_A-Z])"
)


def tidy(text: str) -> str:
    """Return `text` ready for an index: NFC, no NULs, no lone surrogates, no hyphens inside words."""
    if not text.isascii():
        text = _WITHIN_WORDS.sub("", text)
        text = unicodedata.normalize("NFC", text).encode("utf-8", "replace").decode()
    return text.replace("\0", " ")
