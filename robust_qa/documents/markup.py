"""Extract the visible text of an HTML page, without reference marks such as [1] and heading links such as ¶."""

from __future__ import annotations

import re
from contextlib import suppress
from html.parser import HTMLParser

from ..kit.text import superscript
from .headings import Heading, as_title

_UNSEEN = frozenset("script style template svg noscript".split())
_BREAKS = {"br": "\n"} | dict.fromkeys("td th option button label".split(), " ")
_BREAKS |= dict.fromkeys(
    """address article aside blockquote body center dd details dialog div dl dt fieldset figcaption figure footer
    form h1 h2 h3 h4 h5 h6 header hr legend li main nav ol p pre section summary table tr ul""".split(),
    "\n\n",
)
_CDATA = re.compile(r"<!\[CDATA\[|\]\]>")
# A "<" without a ">" before the next "<". The parser would search the whole rest of the page for each one.
_STRAY = re.compile(r"<(?!!(?!\[))(?=[^<>]*(?:<|\Z))")

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LONGEST_HEADING = 300  # characters; a longer one is text styled as a heading
_A_BLOCK = re.compile(r"\blang(?:uage)?-|\bsourceCode\b|\bhljs\b")  # classes of code in a language
_OWN_LINKS = frozenset("¶ # § 🔗".split())  # texts of a heading's link to itself


def extract(html: str) -> tuple[str, str, tuple[Heading, ...]]:
    """Return the title, the text and the headings. The title is that of <title> or the first <h1>, or ""."""
    html = _STRAY.sub("&lt;", _CDATA.sub("", html.replace("\r\n", "\n").replace("\r", "\n")))
    if html.rfind("<!--") > html.rfind("-->"):
        html += "-->"
    page = _Page()
    with suppress(AssertionError):  # raised at a malformed <![; the text before it has been read
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
        headings.append(Heading(len(text), len(text) + len(title), level, as_title(title)))
        text += f"{title}\n\n"
        end = last
    text += _tidied(page.text[end:])
    first_headings = (_tidied(page.text[first:last]) for level, first, last in page.headings if level == 1)
    return page.title or next(filter(None, first_headings), ""), text.strip(), tuple(headings)


def _tidied(parts: list[str]) -> str:
    text = re.sub(r" *\n *", "\n", re.sub(r" {2,}", " ", "".join(parts)))
    return re.sub(r"\n{3,}", "\n\n", text).strip()


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title = ""
        self.text: list[str] = []
        self.headings: list[tuple[int, int, int]] = []  # level, start and end position in `text`
        self._heading: tuple[int, int] | None = None  # level and start of the open heading
        self._has_text = False  # whether the open heading has text yet
        self._link = 0  # start of the open link with a fragment, 0 if none
        self._same_page = False  # whether that link leads into this page
        self._superscript = 0  # start of the open <sup>, 0 if none
        self._refers = False  # whether the open <sup> contains a link
        self._mark: tuple[int, int] | None = None  # start and end of a reference mark that the open link may enclose
        self._code = -1  # end of the last block of code
        self._depth = dict.fromkeys((*_UNSEEN, "title", "pre"), 0)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in self._depth:
            self._depth[tag] += 1
        if tag in _HEADINGS or _BREAKS.get(tag) == "\n\n":
            self._end_heading()  # its end tag may be missing
        self._break(tag)
        if tag in _HEADINGS:
            self._heading, self._has_text = (_HEADINGS[tag], len(self.text)), False
        elif tag == "a" and "#" in (href := dict(attrs).get("href") or ""):
            self._link, self._same_page, self._refers, self._mark = len(self.text), href[0] == "#", True, None
        elif tag == "sup":
            self._end_superscript()  # an outer one
            self._superscript, self._refers = len(self.text), False
        elif (
            tag == "code"
            and self._depth["pre"]
            and self._code == len(self.text)
            and _A_BLOCK.search(dict(attrs).get("class") or "")  # else it may be inline code
        ):
            self.text.append("\n\n")  # another block, for example in another language

    def handle_endtag(self, tag: str) -> None:
        if self._depth.get(tag):
            self._depth[tag] -= 1
        if tag in _HEADINGS:
            self._end_heading()
        elif tag == "a":
            self._end_link()
        elif tag == "sup":
            self._end_superscript()
        elif tag == "code":
            self._code = len(self.text)
        self._break(tag)

    def _break(self, tag: str) -> None:
        if tag in _BREAKS:
            self.text.append(_BREAKS[tag])

    def _end_link(self) -> None:
        start, self._link = self._link, 0
        shown = "".join(self.text[start:]).strip() if start else ""
        own = self._heading and shown in _OWN_LINKS and (self._same_page or not self.text[start - 1][-1].isalnum())
        if own or (start, len(self.text)) == self._mark:
            del self.text[start:]

    def _end_superscript(self) -> None:
        """Drop a reference mark. Separate a number: 2<sup>32</sup> is not 232."""
        start, self._superscript = self._superscript, 0
        shown = "".join(self.text[start:]).strip() if start else ""
        if not shown:
            return
        before, is_mark = self.text[start - 1][-1], not superscript("", shown, refers=True)
        written = superscript(before, shown, refers=self._refers)
        if written != shown:
            self.text[start:] = [written] if written else []
        self._mark = (start, len(self.text)) if is_mark else None

    def _end_heading(self) -> None:
        self._link = self._superscript = 0
        if self._heading and self._has_text:
            self.headings.append((*self._heading, len(self.text)))
            self._heading = None

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._break(tag)

    def handle_data(self, data: str) -> None:
        if any(self._depth[tag] for tag in _UNSEEN):
            return
        if self._depth["title"]:
            self.title += data
            return
        if data:  # empty for a reference to a control character
            self._has_text = self._has_text or not data.isspace()
            self.text.append(data if self._depth["pre"] else re.sub(r"\s+", " ", data))
