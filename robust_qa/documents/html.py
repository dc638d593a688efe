"""Read the blocks of an HTML page, without reference marks such as [1] and heading links such as ¶."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from html.parser import HTMLParser

from ..kit.dates import iso_date
from ..kit.text import superscript
from .blocks import Block, Blocks, as_title

_UNSEEN = frozenset("script style template svg noscript nav".split())
_SPACED = frozenset("option button label".split())
_SEPARATE = frozenset(
    """address article aside blockquote body center dd details dialog div dl dt fieldset figcaption figure footer
    form h1 h2 h3 h4 h5 h6 header hr legend li main nav ol p pre section summary table tr ul caption tbody thead
    tfoot""".split()
)
_CDATA = re.compile(r"<!\[CDATA\[|\]\]>")
# A "<" without a ">" before the next "<". The parser would search the whole rest of the page for each one.
_STRAY = re.compile(r"<(?!!(?!\[))(?=[^<>]*(?:<|\Z))")

_META = re.compile(r"<meta\s[^<>]{1,1000}>", re.IGNORECASE)
_DATES = (
    "article:modified_time og:updated_time dcterms.modified last-modified "
    "article:published_time dcterms.date dc.date date"
).split()

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LONGEST_HEADING = 300  # characters; a longer one is text styled as a heading
_A_BLOCK = re.compile(r"\blang(?:uage)?-|\bsourceCode\b|\bhljs\b")  # classes of code in a language
_NOTE = re.compile(r"\b(?:note|warning|tip|important|caution|admonition|callout|alert)\b")  # classes of a note
_OWN_LINKS = frozenset("¶ # § 🔗".split())  # texts of a heading's link to itself


def read_html(html: str, line: int = 1) -> tuple[str, list[Block]]:
    """Return the title in <title> ("" if none) and the blocks. `line` is the first line's number."""
    html = _STRAY.sub("&lt;", _CDATA.sub("", html.replace("\r\n", "\n").replace("\r", "\n")))
    if html.rfind("<!--") > html.rfind("-->"):
        html += "-->"
    page = _Page(line)
    with suppress(AssertionError):  # raised at a malformed <![; the text before it has been read
        page.feed(html)
        page.close()
    page.flush()
    return as_title(page.title), page.blocks.found


def date_in(html: str) -> str:
    """Return the date in the <meta> elements: the last update, else the publication, "" if there is none."""
    found: dict[str, str] = {}
    for element in _META.findall(html):
        tag = _Meta()
        tag.feed(element)
        name = (tag.fields.get("property") or tag.fields.get("name") or "").lower()
        if date := iso_date(tag.fields.get("content") or ""):
            found.setdefault(name, date)
    return next((found[name] for name in _DATES if name in found), "")


class _Meta(HTMLParser):
    """The attributes of one element."""

    def __init__(self) -> None:
        super().__init__()
        self.fields: dict[str, str | None] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.fields = dict(attrs)


@dataclass(slots=True)
class _List:
    """An open list. `next` is the number of its next item, None for bullets. `outside` items contain it."""

    outside: int
    next: int | None = None


@dataclass(slots=True)
class _Table:
    """An open table. `cell` says whether text belongs to its last cell."""

    header: list[str] = field(default_factory=list)
    cells: list[str] = field(default_factory=list)
    is_head: bool = True  # whether all text of the row is bold or in <th>
    rows: int = 0
    in_head: bool = False  # whether the last cell is <th>
    cell: bool = False
    line: int = 0


class _Page(HTMLParser):
    def __init__(self, line: int) -> None:
        super().__init__(convert_charrefs=True)
        self.title = ""
        self.blocks = Blocks()
        self._before = line - 1
        self._line = 0  # first line of the text
        self._text = [" "]  # of the current block
        self._heading = 0  # level of the open heading, 0 if none
        self._link = 0  # start of the open link with a fragment, 0 if none
        self._same_page = False  # whether that link leads into this page
        self._superscript = 0  # start of the open <sup>, 0 if none
        self._refers = False  # whether the open <sup> contains a link
        self._mark: tuple[int, int] | None = None  # start and end of a reference mark that the open link may enclose
        self._code = -1  # end of the last block of code
        self._depth = dict.fromkeys((*_UNSEEN, "title", "pre", "dt", "b", "strong"), 0)
        self._divisions: list[bool] = []  # whether each open <div> is a note
        self._notes = 0  # open notes
        self._lists: list[_List] = []
        self._marks: list[str] = []  # of the open items and descriptions; "" once they have text
        self._terms: list[str] = []  # whose description follows
        self._tables: list[_Table] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: PLR0912
        if tag in _SEPARATE:
            if tag in _HEADINGS or tag == "table":
                self._leave_cell()
            self._separate()
        if tag in self._depth:
            self._depth[tag] += 1
        if tag in _HEADINGS:
            self._heading = _HEADINGS[tag]
        elif tag == "div":
            self._divisions.append(bool(_NOTE.search(dict(attrs).get("class") or "")))
            self._notes += self._divisions[-1]
        elif tag in ("ul", "ol", "dl"):
            self._end_terms()
            self._lists.append(_List(len(self._marks), 1 if tag == "ol" else None))
        elif tag == "li":
            self._open_item()
        elif tag == "dt":
            self._close_items()
        elif tag == "dd":
            self._close_items()
            self._depth["dt"] = 0
            self._marks.append("dd")
        elif tag == "table":
            self._tables.append(_Table())
        elif tag == "tr":
            self._end_row()
        elif tag in ("td", "th"):
            self._open_cell(tag)
        elif tag == "a" and "#" in (href := dict(attrs).get("href") or ""):
            self._link, self._same_page, self._refers, self._mark = len(self._text), href[0] == "#", True, None
        elif tag == "sup":
            self._end_superscript()  # an outer one
            self._superscript, self._refers = len(self._text), False
        elif (
            tag == "code"
            and self._depth["pre"]
            and self._code == len(self._text)
            and _A_BLOCK.search(dict(attrs).get("class") or "")  # else it may be inline code
        ):
            self._text.append("\n\n")  # another block, for example in another language
        elif tag == "br":
            self._text.append("\n")
        elif tag in _SPACED:
            self._text.append(" ")

    def handle_endtag(self, tag: str) -> None:  # noqa: PLR0912
        if tag in _SEPARATE:
            self._separate()
        if self._depth.get(tag):
            self._depth[tag] -= 1
        if tag == "div" and self._divisions:
            self._notes -= self._divisions.pop()
        elif tag in ("ul", "ol", "dl"):
            if tag == "dl":
                self._end_terms()
            self._close_items()
            del self._lists[-1:]
        elif tag in ("li", "dd"):
            self._close_items()
        elif tag in ("td", "th"):
            self._end_cell()
        elif tag == "tr":
            self._end_row()
        elif tag == "table":
            self._end_row()
            del self._tables[-1:]
        elif tag in _HEADINGS:
            self._heading = 0
        elif tag == "a":
            self._end_link()
        elif tag == "sup":
            self._end_superscript()
        elif tag == "code":
            self._code = len(self._text)
        elif tag in _SPACED:
            self._text.append(" ")

    def handle_data(self, data: str) -> None:
        if any(self._depth[tag] for tag in _UNSEEN):
            return
        if self._depth["title"]:
            self.title += data
            return
        if data:  # empty for a reference to a control character
            if not self._line and not data.isspace():
                self._line = self._before + self.getpos()[0]
            if self._in_cell() and not data.isspace():
                table = self._tables[-1]
                is_bold = bool(self._depth["b"] or self._depth["strong"]) and not table.rows
                table.is_head = table.is_head and (table.in_head or is_bold)
            self._text.append(data if self._depth["pre"] else re.sub(r"\s+", " ", data))

    def flush(self) -> None:
        """End the current block."""
        text = self._take()
        line, self._line = self._line, 0
        depth = len(self._marks)
        if not text.strip():
            return
        if self._heading and len(text) <= _LONGEST_HEADING and not depth and not self._notes:
            self.blocks.heading(self._heading, text, line)
            self._heading = 0
        elif self._depth["dt"]:
            self._terms.append(text)
        elif self._depth["pre"]:
            self.blocks.code(text, line, depth)
        elif depth and self._marks[-1] == "dd":
            self._marks[-1] = ""
            self.blocks.option(self._taken_terms(), text, line, depth - 1)
        elif depth and self._marks[-1]:
            self.blocks.item(self._marks[-1], text, line, depth - 1)
            self._marks[-1] = ""
        else:
            self._end_terms()
            self.blocks.paragraph(text, line, depth)

    def _take(self) -> str:
        """Return the text of the current block, and begin another."""
        text = "".join(self._text)
        self._text = [" "]
        self._link = self._superscript = 0
        self._mark, self._code = None, -1
        if self._depth["pre"] and not self._in_cell():
            return text[1:]
        text = re.sub(r" *\n *", "\n", re.sub(r" {2,}", " ", text))
        return re.sub(r"\n{3,}", "\n\n", text).strip()

    def _separate(self) -> None:
        if self._in_cell():
            self._text.append("\n")
        else:
            self.flush()

    # -- lists

    def _open_item(self) -> None:
        self._close_items()
        number = self._lists[-1].next if self._lists else None
        if number is not None:
            self._lists[-1].next = number + 1
        self._marks.append("-" if number is None else f"{number}.")

    def _close_items(self) -> None:
        del self._marks[self._lists[-1].outside if self._lists else 0 :]

    def _taken_terms(self) -> str:
        terms, self._terms = ", ".join(self._terms), []
        return terms

    def _end_terms(self) -> None:
        """Show terms that have no description."""
        for term in self._terms:
            self.blocks.option(term, "", 0, len(self._marks))
        self._terms = []

    # -- tables

    def _in_cell(self) -> bool:
        return bool(self._tables) and self._tables[-1].cell

    def _leave_cell(self) -> None:
        """Show the open row as paragraphs: its table only lays out the page."""
        if self._in_cell():
            table = self._tables[-1]
            cells, table.cells, table.cell = table.cells, [], False
            for cell in cells:
                self.blocks.paragraph(cell, table.line, len(self._marks))
            self.flush()

    def _open_cell(self, tag: str) -> None:
        self._end_cell()
        if self._tables:
            self.flush()
            self._tables[-1].cell = True
            self._tables[-1].in_head = tag == "th"

    def _end_cell(self) -> None:
        if not self._in_cell():
            self.flush()
            return
        table = self._tables[-1]
        table.line = table.line or self._line
        table.cells.append(self._take())
        table.cell, self._line = False, 0

    def _end_row(self) -> None:
        if not self._tables:
            return
        self._end_cell()
        table = self._tables[-1]
        if table.is_head and len(table.cells) > 1:
            table.header = table.cells
        elif len(table.cells) == 1:
            self.blocks.paragraph(table.cells[0], table.line, len(self._marks))
        else:
            self.blocks.row(table.header, table.cells, table.line, len(self._marks))
        table.rows += bool(table.cells)
        table.cells, table.is_head, table.line = [], True, 0

    # -- links and superscripts

    def _end_link(self) -> None:
        start, self._link = self._link, 0
        shown = "".join(self._text[start:]).strip() if start else ""
        own = self._heading and shown in _OWN_LINKS and (self._same_page or not self._text[start - 1][-1:].isalnum())
        if own or (start, len(self._text)) == self._mark:
            del self._text[start:]

    def _end_superscript(self) -> None:
        """Drop a reference mark. Separate a number: 2<sup>32</sup> is not 232."""
        start, self._superscript = self._superscript, 0
        shown = "".join(self._text[start:]).strip() if start else ""
        if not shown:
            return
        before, is_mark = self._text[start - 1][-1], not superscript("", shown, refers=True)
        written = superscript(before, shown, refers=self._refers)
        if written != shown:
            self._text[start:] = [written] if written else []
        self._mark = (start, len(self._text)) if is_mark else None
