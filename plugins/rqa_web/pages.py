"""The text of a page: the paragraphs of its main part, without menus, notices and scripts."""

from __future__ import annotations

import html
import logging
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from robust_qa.documents import charset
from robust_qa.kit import flat, raised

_SHORTEST = 10  # characters; a paragraph has more than that (published code of CRAG)
_TAG = re.compile(r"<(/?[a-z][a-z0-9]*)\b[^<>]*>", re.IGNORECASE)
_BEYOND_ALL = re.compile(r"&#[0-9]{9,};?")  # references to no character; html.unescape raises at 4,301 digits
_SUP = r"<sup\b[^<>]*>(?P<raised>.{0,400}?)</sup\s*>"
_RAISED = re.compile(_SUP, re.IGNORECASE | re.DOTALL)
_POWER = re.compile(rf"(?P<before>[^\s<>])(?P<ends>(?:</\w{{1,9}}>){{0,3}}){_SUP}", re.IGNORECASE | re.DOTALL)
_REFERS = re.compile(r"<a\b[^<>]*\bhref\s*=\s*[\"']?[^\"'\s<>]*#", re.IGNORECASE)
_HIDDEN_BEGINS = re.compile(r"<!--|<(?:script|style)\b", re.IGNORECASE)
_HIDDEN_ENDS = re.compile(r"-->|</(?:script|style)\b[^<>]*>", re.IGNORECASE)
_BLOCKS = frozenset(
    """address article aside blockquote body details div dl fieldset figure footer form h1 h2 h3 h4 h5 h6 header
    hr main nav ol p pre section table ul""".split()
)


@dataclass(frozen=True, slots=True)
class Page:
    """A page as it came: media type and charset are "" where the site does not say."""

    body: bytes
    type: str = ""
    charset: str = ""

    def decoded(self) -> str:
        """The text, by its byte order mark, the charset that the site names, or the page; else as UTF-8.

        What does not fit is replaced.
        """
        return self.body.decode(charset(self.body, self.charset, page=True) or "utf-8", "replace")


def read(page: Page, words: int) -> str:
    """The paragraphs of `page`, parted by blank lines, `words` words of them at most."""
    main = "" if page.type == "text/plain" else _joined(_main_text(_leveled(page.decoded())).splitlines(), words)
    return main or read_markup(page, words)


def read_markup(page: Page, words: int) -> str:
    """The same of all paragraphs that the markup names, menus and notices too; linear in whatever comes."""
    text = page.decoded()
    return _joined(
        re.split(r"\n\s*\n", text) if page.type == "text/plain" else _marked_paragraphs(_leveled(text)), words
    )


def unescaped(text: str) -> str:
    """`text` with characters in place of references to them, as &amp; is one, and U+FFFD for those to none."""
    return html.unescape(_BEYOND_ALL.sub("\ufffd", text))


def _leveled(text: str) -> str:
    """The markup `text` without marks that refer to notes, and with raised numbers apart: 2<sup>32</sup> is not 232."""

    def shown(match: re.Match[str]) -> str:
        return unescaped(_TAG.sub("", match["raised"])).strip()

    def unmarked(match: re.Match[str]) -> str:
        return match[0] if raised("", shown(match), refers=bool(_REFERS.search(match["raised"]))) else ""

    def apart(match: re.Match[str]) -> str:
        before, plain = match["before"], shown(match)
        written = raised(before, plain)
        return match[0] if written == plain else f"{before}{match['ends']}{html.escape(written)}"

    return _POWER.sub(apart, _RAISED.sub(unmarked, text))


def _joined(paragraphs: Iterable[str], words: int) -> str:
    kept: list[str] = []
    for paragraph in dict.fromkeys(map(flat, paragraphs)):
        if words <= 0:
            break
        if len(paragraph) > _SHORTEST:
            listed = paragraph.split(" ")
            kept.append(" ".join(listed[:words]))
            words -= len(listed)
    return "\n\n".join(kept)


def _main_text(text: str) -> str:
    trafilatura = _trafilatura()
    if trafilatura is None:
        return ""
    try:
        return trafilatura.extract(text, include_comments=False, fast=True) or ""
    except Exception:  # any markup may come; there is another way to read it
        return ""


@cache
def _trafilatura() -> Any:
    try:
        import trafilatura
    except ImportError:
        return None  # the extra [web] is not installed
    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)  # what it says of a page is no news for people
    return trafilatura


def _marked_paragraphs(text: str) -> Iterator[str]:
    """The first heading, and the paragraphs that the markup names. Linear in whatever comes.

    html.parser is not: it takes two minutes for 150 kB of `<a href='`.
    """
    opened: list[str] | None = None
    heading, end = True, 0
    text = _without(text, _HIDDEN_BEGINS, _HIDDEN_ENDS)
    for tag in _TAG.finditer(text):
        if opened is not None:
            opened.append(text[end : tag.start()])
        end, name = tag.end(), tag[1].lower()
        if opened is not None and name.removeprefix("/") in _BLOCKS:
            yield unescaped("".join(opened))
            opened = None
        if name == "p" or (name == "h1" and heading):
            opened, heading = [], False
    if opened is not None:
        yield unescaped("".join([*opened, text[end:]]))


def _without(text: str, begins: re.Pattern[str], ends: re.Pattern[str]) -> str:
    """`text` without what stands between a beginning and the next end; nothing after one that has no end."""
    first, *others = begins.split(text)
    return first + "".join(ends.split(other, maxsplit=1)[-1] for other in others if ends.search(other))
