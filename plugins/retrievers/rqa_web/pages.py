"""Extracts the main text of a page, without menus, notices and scripts."""

from __future__ import annotations

import html
import logging
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from robust_qa.kit import single_line
from rqa_files import charset, superscript

_SHORTEST = 10  # characters; shorter paragraphs are dropped (published code of CRAG)
_TAG = re.compile(r"<(/?[a-z][a-z0-9]*)\b[^<>]*>", re.IGNORECASE)
_BEYOND_ALL = re.compile(r"&#[0-9]{9,};?")  # invalid character references; html.unescape raises at 4,301 digits
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
    """A fetched page. Media type and charset are "" if the site does not send them."""

    body: bytes
    type: str = ""
    charset: str = ""

    def decoded(self) -> str:
        """Return the text, decoded by its byte order mark, the site's charset, the page's charset, or UTF-8."""
        return self.body.decode(charset(self.body, self.charset, page=True) or "utf-8", "replace")


def read(page: Page, words: int) -> str:
    """Return the main paragraphs of `page`, separated by blank lines, at most `words` words."""
    main = (
        ""
        if page.type == "text/plain"
        else _joined(_main_text(_without_superscripts(page.decoded())).splitlines(), words)
    )
    return main or read_markup(page, words)


def read_markup(page: Page, words: int) -> str:
    """Return all paragraphs in the markup, menus and notices too, in linear time."""
    text = page.decoded()
    return _joined(
        re.split(r"\n\s*\n", text) if page.type == "text/plain" else _marked_paragraphs(_without_superscripts(text)),
        words,
    )


def unescaped(text: str) -> str:
    """Return `text` with character references such as &amp; replaced; invalid ones become U+FFFD."""
    return html.unescape(_BEYOND_ALL.sub("\ufffd", text))


def _without_superscripts(text: str) -> str:
    """Return markup without footnote marks and with exponents kept apart: 2<sup>32</sup> is not 232."""

    def shown(match: re.Match[str]) -> str:
        return unescaped(_TAG.sub("", match["raised"])).strip()

    def unmarked(match: re.Match[str]) -> str:
        return match[0] if superscript("", shown(match), refers=bool(_REFERS.search(match["raised"]))) else ""

    def separated(match: re.Match[str]) -> str:
        before, plain = match["before"], shown(match)
        written = superscript(before, plain)
        return match[0] if written == plain else f"{before}{match['ends']}{html.escape(written)}"

    return _POWER.sub(separated, _RAISED.sub(unmarked, text))


def _joined(paragraphs: Iterable[str], words: int) -> str:
    kept: list[str] = []
    for paragraph in dict.fromkeys(map(single_line, paragraphs)):
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
    except Exception:  # a page may contain any markup; read_markup is the fallback
        return ""


@cache
def _trafilatura() -> Any:
    try:
        import trafilatura
    except ImportError:
        return None  # extra [web]
    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)  # its messages do not help users
    return trafilatura


def _marked_paragraphs(text: str) -> Iterator[str]:
    """Yield the first heading and all paragraphs, in linear time.

    html.parser is not linear: 150 kB of `<a href='` take two minutes.
    """
    parts: list[str] | None = None
    heading, end = True, 0
    text = _without(text, _HIDDEN_BEGINS, _HIDDEN_ENDS)
    for tag in _TAG.finditer(text):
        if parts is not None:
            parts.append(text[end : tag.start()])
        end, name = tag.end(), tag[1].lower()
        if parts is not None and name.removeprefix("/") in _BLOCKS:
            yield unescaped("".join(parts))
            parts = None
        if name == "p" or (name == "h1" and heading):
            parts, heading = [], False
    if parts is not None:
        yield unescaped("".join([*parts, text[end:]]))


def _without(text: str, begins: re.Pattern[str], ends: re.Pattern[str]) -> str:
    """Return `text` without the parts from a match of `begins` to the next match of `ends`, or to the end."""
    first, *others = begins.split(text)
    return first + "".join(ends.split(other, maxsplit=1)[-1] for other in others if ends.search(other))
