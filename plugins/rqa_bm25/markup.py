"""The text of an HTML page, as its reader sees it."""

from __future__ import annotations

import re
from contextlib import suppress
from html.parser import HTMLParser

_UNSEEN = frozenset("script style template svg noscript".split())
_BREAKS = {"br": "\n", "td": " ", "th": " "} | dict.fromkeys(
    """address article aside blockquote body dd details dialog div dl dt fieldset figcaption figure footer
    form h1 h2 h3 h4 h5 h6 header hr legend li main nav ol p pre section summary table tr ul""".split(),
    "\n\n",
)
_CDATA = re.compile(r"<!\[CDATA\[|\]\]>")
# A "<" that no ">" follows before the next one. The parser looks for the end of each such tag, and of each open
# comment, through all of the rest: minutes for a small file of them.
_STRAY = re.compile(r"<(?!!)(?=[^<>]*(?:<|\Z))")


def extract(html: str) -> tuple[str, str]:
    """The title (of <title>, else of the first <h1>, else "") and the text, a blank line between blocks."""
    html = _STRAY.sub("&lt;", _CDATA.sub("", html))
    if html.rfind("<!--") > html.rfind("-->"):
        html += "-->"
    page = _Page()
    with suppress(AssertionError):  # the parser's word for a malformed <![; what stands before it was read
        page.feed(html)
        page.close()
    text = re.sub(r" *\n *", "\n", re.sub(r" {2,}", " ", "".join(page.text)))
    return page.title or page.heading, re.sub(r"\n{3,}", "\n\n", text).strip()


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title = ""
        self.heading = ""
        self.text: list[str] = []
        self._depth = dict.fromkeys((*_UNSEEN, "title", "h1"), 0)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in self._depth:
            self._depth[tag] += 1
        self.text.append(_BREAKS.get(tag, ""))

    def handle_endtag(self, tag: str) -> None:
        if self._depth.get(tag):
            self._depth[tag] -= 1
        if tag == "h1" and self.heading.strip():
            self._depth.pop("h1", None)  # only the first counts
        self.text.append(_BREAKS.get(tag, ""))

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
        self.text.append(re.sub(r"\s+", " ", data))
