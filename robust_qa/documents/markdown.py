"""Read the blocks of Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..kit.dates import iso_date
from . import html
from .blocks import Block, Blocks, as_title

if TYPE_CHECKING:
    from markdown_it.token import Token

# Only if a key follows: otherwise `---` is a horizontal rule.
_FRONT = re.compile(
    r"\A---[ \t]*\n(?=[\w\"'-]+[ \t]*:)(?P<yaml>(?:(?:[\w\"'.-]+[ \t]*:(?:[ \t].*)?|[ \t].*|-[ \t].*|#.*|)\n)*?)"
    r"(?:---|\.\.\.)[ \t]*(?:\n|\Z)"
)
_TITLE = re.compile(r"^[\"']?title[\"']?[ \t]*:[ \t]*(?P<value>.*(?:\n[ \t]+\S.*)*)", re.M | re.I)
_DATES = tuple(re.compile(rf"^[\"']?{name}[\"']?[ \t]*:[ \t]*(.*)", re.M | re.I) for name in ("updated", "date"))
_QUOTED = re.compile(r"\"(?P<double>(?:[^\"\\]|\\.)*)\"|'(?P<single>(?:[^']|'')*)'", re.S)
_BREAK = re.compile(r"<br\b", re.I)
_NESTING = 20  # of lists and quotes; deeper ones are text


def read_markdown(text: str, line: int = 1) -> tuple[str, list[Block]]:
    """Return the title in the front matter ("" if none) and the blocks. `line` is the first line's number."""
    from markdown_it import MarkdownIt

    begin, title = _front_matter(text)
    line += text.count("\n", 0, begin)
    parser = MarkdownIt("commonmark", {"maxNesting": _NESTING}).enable(["table", "strikethrough"])
    reader = _Reader(line)
    reader.read(parser.parse(text[begin:]))
    return title, reader.blocks.found


class _Reader:
    """Turns the tokens of markdown-it into blocks."""

    def __init__(self, line: int) -> None:
        self.blocks = Blocks()
        self._line = line  # of the first token
        self._marks: list[str] = []  # of the open items; "" once the item has text
        self._numbers: list[int | None] = []  # next number of each open list, None if it has bullets
        self._header: list[str] = []
        self._cells: list[str] = []
        self._row = 0  # line of the open row

    def read(self, tokens: Sequence[Token]) -> None:  # noqa: PLR0912
        for i, token in enumerate(tokens):
            line = self._line + token.map[0] if token.map else 0
            depth = len(self._marks)
            match token.type:
                case "bullet_list_open":
                    self._numbers.append(None)
                case "ordered_list_open":
                    self._numbers.append(int(token.attrGet("start") or 1))
                case "bullet_list_close" | "ordered_list_close":
                    self._numbers.pop()
                case "list_item_open":
                    self._marks.append(self._next_mark())
                case "list_item_close":
                    self._marks.pop()
                case "heading_open":
                    self.blocks.heading(int(token.tag[1:]), _shown(tokens[i + 1].children), line)
                case "paragraph_open":
                    self._paragraph(_shown(tokens[i + 1].children), line)
                case "fence" | "code_block":
                    self.blocks.code(token.content, line, depth)
                case "html_block":
                    self.blocks.extend(html.read_html(token.content, line)[1])
                case "thead_open":
                    self._header, self._cells = [], []
                case "thead_close":
                    self._header = self._cells
                case "tr_open":
                    self._cells, self._row = [], line
                case "th_open" | "td_open":
                    self._cells.append(_shown(tokens[i + 1].children))
                case "tr_close" if self._header:
                    self.blocks.row(self._header, self._cells, self._row, depth)
                case "table_close":
                    if tokens[i - 1].type == "thead_close":  # it has one row, which is no header then
                        self.blocks.row((), self._header, self._row, depth)
                    self._header = []

    def _next_mark(self) -> str:
        number = self._numbers[-1]
        if number is None:
            return "-"
        self._numbers[-1] = number + 1
        return f"{number}."

    def _paragraph(self, text: str, line: int) -> None:
        if self._marks and self._marks[-1]:
            self.blocks.item(self._marks[-1], text, line, len(self._marks) - 1)
            self._marks[-1] = ""
        else:
            self.blocks.paragraph(text, line, len(self._marks))


def _shown(tokens: Sequence[Token] | None) -> str:
    """Return the text of inline tokens, without marks and targets of links."""
    text = ""
    for token in tokens or ():
        if token.type in ("text", "code_inline"):
            text += token.content
        elif token.type == "image":
            text += _shown(token.children)
        elif token.type == "hardbreak" or (token.type == "html_inline" and _BREAK.match(token.content)):
            text += "\n"
        elif token.type == "softbreak":
            text += " "
    return text


def date_in(text: str) -> str:
    """Return the date in the front matter: the last update, else the publication, "" if there is none."""
    front = _FRONT.match(text)
    found = [iso_date(match[1]) for pattern in _DATES if front and (match := pattern.search(front["yaml"]))]
    return next(filter(None, found), "")


def _front_matter(text: str) -> tuple[int, str]:
    """Return the end of the YAML front matter (0 if none) and its title ("" if none)."""
    front = _FRONT.match(text)
    if not front:
        return 0, ""
    title = _TITLE.search(front["yaml"])
    return front.end(), as_title(_scalar(title["value"])) if title else ""


def _scalar(value: str) -> str:
    if quoted := _QUOTED.match(value):
        if quoted["single"] is not None:
            return quoted["single"].replace("''", "'")
        return re.sub(r"\\(.)", r"\1", quoted["double"])
    if value.startswith((">", "|")):
        return value.partition("\n")[2]
    return re.sub(r"(?:^|[ \t])#.*", "", value)
