"""The text of an HTML page, as its reader sees it."""

from __future__ import annotations

import re
from contextlib import suppress
from html.parser import HTMLParser

from .headings import Heading, one_line

_UNSEEN = frozenset("script style template svg noscript".split())
_BREAKS = {"br": "\n", "td": " ", "th": " "} | dict.fromkeys(
    """address article aside blockquote body dd details dialog div dl dt fieldset figcaption figure footer
    form h1 h2 h3 h4 h5 h6 header hr legend li main nav ol p pre section summary table tr ul""".split(),
    "\n\n",
)
_CDATA = re.compile(r"<!\[CDATA\[|\]\]>")
# A "<" that no ">" follows before the next one. The parser looks for the end of each such tag, and of each open
# comment, through all of the rest: minutes for a small file of them.
_STRAY = re.compile(r"<(?!!(?!\[))(?=[^<>]*(?:<|\Z))")


_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LONGEST_HEADING = 300  # characters; one of more is text that was marked for its looks


def extract(html: str) -> tuple[str, str, tuple[Heading, ...]]:
    """The title (of <title>, else of the first <h1>, else ""), the text, a blank line between blocks, its headings."""
    html = _STRAY.sub("&lt;", _CDATA.sub("", html))
    if html.rfind("<!--") > html.rfind("-->"):
        html += "-->"
    page = _Page()
    with suppress(AssertionError):  # the parser's word for a malformed <![; what stands before it was read
        page.feed(html)
        page.close()
    text = ""
    headings = []
    end = 0
    for level, first, last in page.headings:
        title = _tidied(page.text[first:last])
        if not 0 < len(title) <= _LONGEST_HEADING:
            continue
        before = _tidied(page.text[end:first])
        text += f"{before}\n\n" if before else ""
        headings.append(Heading(len(text), len(text) + len(title), level, one_line(title)))
        text += f"{title}\n\n"
        end = last
    text += _tidied(page.text[end:])
    return page.title or page.heading, text.strip(), tuple(headings)


def _tidied(parts: list[str]) -> str:
    text = re.sub(r" *\n *", "\n", re.sub(r" {2,}", " ", "".join(parts)))
    return re.sub(r"\n{3,}", "\n\n", text).strip()


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title = ""
        self.heading = ""
        self.text: list[str] = []
        self.headings: list[tuple[int, int, int]] = []  # level, and between which places of `text`
        self._heading: tuple[int, int] | None = None  # the open one: level, and its first place in `text`
        self._worded = False  # whether that one has text yet
        self._depth = dict.fromkeys((*_UNSEEN, "title", "h1"), 0)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in self._depth:
            self._depth[tag] += 1
        if tag in _HEADINGS or _BREAKS.get(tag) == "\n\n":
            self._end_heading()  # of one whose own end tag is missing
        self.text.append(_BREAKS.get(tag, ""))
        if tag in _HEADINGS:
            self._heading, self._worded = (_HEADINGS[tag], len(self.text)), False

    def handle_endtag(self, tag: str) -> None:
        if self._depth.get(tag):
            self._depth[tag] -= 1
        if tag == "h1" and self.heading.strip():
            self._depth.pop("h1", None)  # only the first counts
        if tag in _HEADINGS:
            self._end_heading()
        self.text.append(_BREAKS.get(tag, ""))

    def _end_heading(self) -> None:
        if self._heading and self._worded:
            self.headings.append((*self._heading, len(self.text)))
            self._heading = None

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.text.append(_BREAKS.get(tag, ""))

    def handle_data(self, data: str) -> None:
        if any(self._depth[tag] for tag in _UNSEEN):
            return
        if self._depth["title"]:
            self.title += data
            return
        if self._depth.get("h1"):
            self.heading += data
        self._worded = self._worded or not data.isspace()
        self.text.append(re.sub(r"\s+", " ", data))
