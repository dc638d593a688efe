"""Read the blocks of Markdown, without text that is struck out or a comment."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from robust_qa.kit import iso_date

from . import html
from .blocks import Block, Blocks, as_title
from .tables import spanning

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
_SKIPPED = frozenset("template layout weight permalink slug url draft toc nav_order sidebar_position id".split())
_FIELD = re.compile(r"^[\"']?([\w.-]+)[\"']?[ \t]*:[ \t]*(.*(?:\n(?:[ \t]+\S|-[ \t]).*)*)", re.M)
_STRUCK = re.compile(r"<(/?)(?:del|s|strike)\b", re.I)
_COMMENT = re.compile(
    r"%%[^%\n]+%%| \^[\w-]+\Z|\[\^[\w-]{1,20}\](?!:)"
)  # of Obsidian: comments, names of blocks; marks of notes
_LINK = re.compile(r"!?\[\[([^\[\]|\n]+)(?:\|([^\[\]\n]+))?\]\]")  # of a wiki
_MARKED = re.compile(r"==(?=\S)([^=\n]+)(?<=\S)==")
_BREAK = re.compile(r"<br\b", re.I)
_NESTING = 20  # of lists and quotes; deeper ones are text


def read_markdown(text: str, line: int = 1, left_out: list[str] | None = None) -> tuple[str, list[Block]]:
    """Return the title in the front matter ("" if none) and the blocks. `line` is the first line's number.

    The other fields of the front matter are a row. Text that is struck out is added to `left_out`.
    """
    from markdown_it import MarkdownIt

    begin, title = _front_matter(text)
    line += text.count("\n", 0, begin)
    parser = MarkdownIt("commonmark", {"maxNesting": _NESTING}).enable(["table", "strikethrough"])
    reader = _Reader(line, [] if left_out is None else left_out)
    fields = _fields(text[:begin])
    reader.blocks.row(list(fields), list(fields.values()), line - text.count("\n", 0, begin) + 1)
    reader.read(parser.parse(text[begin:]))
    return title, reader.blocks.found


class _Reader:
    """Turns the tokens of markdown-it into blocks."""

    def __init__(self, line: int, left_out: list[str]) -> None:
        self.blocks = Blocks()
        self._left_out = left_out
        self._line = line  # of the first token
        self._marks: list[str] = []  # of the open items; "" once the item has text
        self._numbers: list[int | None] = []  # next number of each open list, None if it has bullets
        self._header: list[str] = []
        self._cells: list[str] = []
        self._row = 0  # line of the open row
        self._is_first = False  # whether it is the first below the header

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
                    self.blocks.heading(int(token.tag[1:]), _shown(tokens[i + 1].children, self._left_out), line)
                case "paragraph_open":
                    self._paragraph(_shown(tokens[i + 1].children, self._left_out), line)
                case "fence" | "code_block":
                    self.blocks.code(token.content, line + (token.type == "fence"), depth, lined=True)
                case "html_block":
                    self.blocks.extend(html.read_html(token.content, line, self._left_out)[1])
                case "thead_open":
                    self._header, self._cells = [], []
                case "thead_close":
                    self._header, self._is_first = self._cells, True
                case "tr_open":
                    self._cells, self._row = [], line
                case "th_open" | "td_open":
                    self._cells.append(_shown(tokens[i + 1].children, self._left_out))
                case "tr_close" if self._header and self._is_first and (names := spanning(self._header, self._cells)):
                    self._header, self._is_first = names, False
                case "tr_close" if self._header:
                    self._is_first = False
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


def _shown(tokens: Sequence[Token] | None, left_out: list[str]) -> str:
    """Return the text of inline tokens, without marks and targets of links. What is struck out goes to `left_out`."""
    text, struck = "", 0
    for token in tokens or ():
        if token.type in ("s_open", "s_close"):
            struck += token.nesting
        elif token.type == "html_inline" and (mark := _STRUCK.match(token.content)):
            struck += -1 if mark[1] else 1
        elif struck > 0:
            left_out.append(token.content)
        elif token.type == "text":
            text += _without_marks(token.content)
        elif token.type == "code_inline":
            text += token.content
        elif token.type == "image":
            text += _shown(token.children, left_out)
        elif token.type == "hardbreak" or (token.type == "html_inline" and _BREAK.match(token.content)):
            text += "\r\n" if token.type == "hardbreak" else "\n"
        elif token.type == "softbreak":
            text += "\r"
    return text


def _without_marks(text: str) -> str:
    """Return text without the marks of note-taking programs. A link is its text, with its page in brackets."""
    text = _MARKED.sub(r"\1", _COMMENT.sub("", text))
    return _LINK.sub(lambda link: f"{link[2]} ({link[1]})" if link[2] else link[1], text)


def _fields(front: str) -> dict[str, str]:
    """Return the fields of the front matter that tell something about the document, by name."""
    found = _FRONT.match(front)
    fields = {}
    for name, value in _FIELD.findall(found["yaml"]) if found else ():
        between = r"\n[ \t]*-[ \t]+|," if value.startswith("[") else r"\n[ \t]*-[ \t]+"
        items = [_scalar(item.strip()) for item in re.split(between, value.strip("[] \t"))]
        shown = ", ".join(filter(None, map(str.strip, items)))
        if shown and name.lower() not in _SKIPPED and name.lower() != "title" and "\n" not in shown:
            fields[name] = _without_marks(shown)
    return fields


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
