"""Read the blocks of an HTML page, without reference marks such as [1], heading links such as ¶ and hidden text."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import zip_longest

from robust_qa.kit import iso_date

from .blocks import Block, Blocks, as_title
from .superscripts import superscript
from .tables import joined

_UNSEEN = frozenset("script style template svg noscript nav".split())
_SPACED = frozenset("option button label".split())
_SEPARATE = frozenset(
    """address article aside blockquote body center dd details dialog div dl dt fieldset figcaption figure footer
    form h1 h2 h3 h4 h5 h6 header hr legend li main nav ol p pre section summary table tr ul caption tbody thead
    tfoot""".split()
)
_STRUCK = frozenset("del s strike".split())
_HIDDEN = re.compile(r"display:\s*none|visibility:\s*hidden|line-through", re.IGNORECASE)  # in a style
_BANNER = re.compile(r"\bcookie[-_ ]?(?:consent|banner|notice|bar|popup)", re.IGNORECASE)  # in a class or an id
_WHOLE = frozenset("html body".split())  # hidden only until a script shows them
_CLOSING = {"p": _SEPARATE, **dict.fromkeys(("td", "th"), frozenset("td th tr".split()))}  # tags that end an element
_VOID = frozenset("area br col embed hr img input link meta source track wbr".split())
_CDATA = re.compile(r"<!\[CDATA\[|\]\]>")
# A "<" without a ">" before the next "<". The parser would search the whole rest of the page for each one.
_STRAY = re.compile(r"<(?!!(?!\[))(?=[^<>]*(?:<|\Z))")

_META = re.compile(r"<meta\s[^<>]{1,1000}>", re.IGNORECASE)
_DATES = (
    "article:modified_time og:updated_time dcterms.modified last-modified "
    "article:published_time dcterms.date dc.date date"
).split()

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_MOST_SPANNED = 1000  # rows or columns of a cell
_NAMED = 2  # words of a text in place of a picture that only name it, as in "Python logo"
_MAILTO = "mailto:"
_RECENT = 5  # pieces of text that may already tell what an abbreviation or a link stands for
_LONGEST_HEADING = 300  # characters; a longer one is text styled as a heading
_A_BLOCK = re.compile(r"\blang(?:uage)?-|\bsourceCode\b|\bhljs\b")  # classes of code in a language
_NOTE = re.compile(r"\b(?:note|warning|tip|important|caution|admonition|callout|alert)\b")  # classes of a note
_SPACE = re.compile(r"[^\S\n]*\n\s*|\s{2,}|[^\S ]")
_BREAK = re.compile(r"(?<![ \r])[ \r]*+\n[ \r\n]*")
_OWN_LINKS = frozenset("¶ # § 🔗".split())  # texts of a heading's link to itself


def read_html(html: str, line: int = 1, left_out: list[str] | None = None) -> tuple[str, list[Block]]:
    """Return the title in <title> ("" if none) and the blocks. `line` is the first line's number.

    Text that is struck out or hidden is added to `left_out`.
    """
    html = _STRAY.sub("&lt;", _CDATA.sub("", html.replace("\r\n", "\n").replace("\r", "\n")))
    if html.rfind("<!--") > html.rfind("-->"):
        html += "-->"
    page = _Page(line, [] if left_out is None else left_out)
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


def _is_hidden(tag: str, attributes: dict[str, str | None]) -> bool:
    """Return whether the text of an element is struck out, not shown, or a banner about cookies."""
    if tag in _VOID or tag in _WHOLE or attributes.get("role") == "tabpanel":
        return False
    names = f"{attributes.get('id') or ''} {attributes.get('class') or ''}"
    is_off = "hidden" in attributes and attributes["hidden"] != "until-found"
    style = attributes.get("style") or ""
    return tag in _STRUCK or is_off or _HIDDEN.search(style) is not None or _BANNER.search(names) is not None


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
    spans: list[tuple[int, int]] = field(default_factory=list)  # rows and columns of each cell
    below: dict[int, tuple[int, str]] = field(default_factory=dict)  # by column: rows left of a cell from above
    is_head: bool = True  # whether all text of the row is bold or in <th>
    rows: int = 0
    heads: int = 0  # rows of the header
    in_head: bool = False  # whether the last cell is <th>
    cell: bool = False
    line: int = 0


def _span(number: str | None) -> int:
    return min(int(number), _MOST_SPANNED) if number and number.isdecimal() else 1


def _laid_out(table: _Table) -> list[str]:
    """Return the cells of the open row by column. A cell of several columns or rows is in each."""
    found: list[str] = []

    def add_from_above() -> None:
        while (above := table.below.pop(len(found), None)) is not None:
            rows, cell = above
            if rows > 1:
                kept[len(found)] = rows - 1, cell
            found.append(cell)

    kept: dict[int, tuple[int, str]] = {}
    for cell, (rows, columns) in zip(table.cells, table.spans, strict=False):
        for _ in range(columns if table.is_head else 1):
            add_from_above()
            if rows > 1:
                kept[len(found)] = rows - 1, cell
            found.append(cell)
        if not table.is_head:
            found += [""] * (columns - 1)
    add_from_above()
    table.below = kept | table.below
    return found


def _collapsed(space: re.Match[str]) -> str:
    """Return white space as one space, and the ends of its lines as `Blocks` takes them."""
    return " " + "\r" * space[0].count("\n")


class _Page(HTMLParser):
    def __init__(self, line: int, left_out: list[str]) -> None:
        super().__init__(convert_charrefs=True)
        self._left_out = left_out
        self._hidden: list[str] = []  # the open element that hides its text, and those of its name inside
        self.title = ""
        self.blocks = Blocks()
        self._before = line - 1
        self._line = 0  # first line of the text
        self._last = 0  # its last line
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
        self._asides: list[tuple[str, str]] = []  # open abbreviations and links to addresses, with what they stand for

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: PLR0912
        if self._hidden and tag in _CLOSING.get(self._hidden[0], ()):
            self._hidden.clear()
        if tag in self._hidden or (not self._hidden and _is_hidden(tag, dict(attrs))):
            self._hidden.append(tag)
        if tag in _SEPARATE:
            if tag in _HEADINGS or tag == "table":
                self._leave_cell()
            self._separate()
        if tag in self._depth:
            self._depth[tag] += 1
        self._add_attributes(tag, dict(attrs))
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
            self._open_cell(tag, dict(attrs))
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
        if tag in self._hidden:
            self._hidden.pop()
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
        elif tag in ("a", "abbr"):
            if tag == "a":
                self._end_link()
            self._end_aside(tag)
        elif tag == "sup":
            self._end_superscript()
        elif tag == "code":
            self._code = len(self._text)
        elif tag in _SPACED:
            self._text.append(" ")

    def _add_attributes(self, tag: str, attributes: dict[str, str | None]) -> None:
        """Add the text of attributes: of pictures and of the page's description now, others at the end of the tag."""
        if tag == "meta" and (attributes.get("name") or "").lower() == "description":
            self.blocks.paragraph(attributes.get("content") or "", self._before + self.getpos()[0])
        elif tag == "img" and len((alt := attributes.get("alt") or "").split()) > _NAMED:
            self.handle_data(f" {alt} ")
        elif tag == "abbr":
            self._asides.append((tag, attributes.get("title") or ""))
        elif tag == "a":
            address = (attributes.get("href") or "").partition("?")[0]
            self._asides.append((tag, address[len(_MAILTO) :] if address.lower().startswith(_MAILTO) else ""))

    def _end_aside(self, tag: str) -> None:
        aside = self._asides.pop()[1] if self._asides and self._asides[-1][0] == tag else ""
        if aside and aside not in "".join(self._text[-_RECENT:]):
            self.handle_data(f" ({aside})")

    def handle_data(self, data: str) -> None:
        if any(self._depth[tag] for tag in _UNSEEN):
            return
        if self._depth["title"]:
            self.title += data
            return
        if self._hidden:
            self._left_out.append(data)
            return
        if data:  # empty for a reference to a control character
            begin = self._before + self.getpos()[0]
            if not self._line:
                self._line = self._last = begin
            late = begin - self._last  # lines that ended in a tag
            if self._in_cell() and not data.isspace():
                table = self._tables[-1]
                is_bold = bool(self._depth["b"] or self._depth["strong"]) and not table.rows
                table.is_head = table.is_head and (table.in_head or is_bold)
            self._last += data.count("\n")
            if not self._depth["pre"]:
                data = _SPACE.sub(_collapsed, data)
                if late and (data[0] == " " or self._text[-1][-1:].isspace()):  # not within a word
                    data = "\r" * late + data
                    self._last += late
            self._text.append(data)

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
            self.blocks.code(text, line, depth, lined=True)
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
        text = _BREAK.sub(lambda found: "\r" * found[0].count("\r") + "\n" * min(found[0].count("\n"), 2), text)
        text = re.sub(r" {2,}", " ", text)
        self._line += text[: len(text) - len(text.lstrip())].count("\r")
        return text.strip()

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

    def _open_cell(self, tag: str, attributes: dict[str, str | None]) -> None:
        self._end_cell()
        if self._tables:
            self.flush()
            rows, columns = (_span(attributes.get(name)) for name in ("rowspan", "colspan"))
            self._tables[-1].spans.append((rows, columns))
            self._tables[-1].cell = True
            self._tables[-1].in_head = tag == "th"

    def _end_cell(self) -> None:
        if not self._in_cell():
            self.flush()
            return
        table = self._tables[-1]
        table.cells.append(self._take())
        table.line = table.line or self._line
        table.cell, self._line = False, 0

    def _end_row(self) -> None:
        if not self._tables:
            return
        self._end_cell()
        table = self._tables[-1]
        alone = len(table.cells) == 1 and not table.below
        if table.cells:
            table.cells = _laid_out(table)
        if table.is_head and len(table.cells) > 1:
            begun = table.header if table.rows and table.rows == table.heads else []
            table.header = [joined(*pair) for pair in zip_longest(begun, table.cells, fillvalue="")]
            table.heads += 1
        elif alone:
            self.blocks.paragraph(table.cells[0], table.line, len(self._marks))
        else:
            self.blocks.row(table.header, table.cells, table.line, len(self._marks))
        table.rows += bool(table.cells)
        table.cells, table.spans, table.is_head, table.line = [], [], True, 0

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
