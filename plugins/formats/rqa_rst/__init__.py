"""Format `rst`: reStructuredText."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence

from robust_qa.documents import (
    Block,
    Blocks,
    Document,
    File,
    Report,
    header_title,
    indent,
    read_text,
    unwrapped,
)

_ADORNMENT = re.compile(r"([=\-~^\"'`#*+.:_<>])\1+[ \t]*")
_ITEM = re.compile(r"(?P<mark>[-*+•]|(?:\d{1,3}|#|[a-zA-Z])[.)]|\((?:\d{1,3}|[a-z])\))(?P<space> +)(?=\S)")
_FIELD = re.compile(r":(?P<name>[^:\s][^:\n]*):(?: +(?P<value>.*))?")
_DIRECTIVE = re.compile(r"\.\. (?P<name>[\w:+-]+?):: ?(?P<argument>.*)")
_FOOTNOTE = re.compile(r"\.\. \[(?P<mark>[^\]]+)\] (?P<text>.*)")
_OPTION = re.compile(r"(?P<term>(?:--?|/)\w[\w=<>, /.\[\]-]*?)(?:  +(?P<text>\S.*))?")
_TITLED = re.compile(r"[A-Z][\w-]*:\s")
_CODE = frozenset("code code-block sourcecode parsed-literal prompt testcode doctest math console".split())
_HIDDEN = frozenset(
    """image toctree contents include index highlight currentmodule module raw literalinclude default-domain role
    meta sectnum tocdepth autosummary rst-class target-notes only-index canonical""".split()
)
_VERSIONS = {
    "versionadded": "Added in version",
    "versionchanged": "Changed in version",
    "deprecated": "Deprecated since version",
}
_INLINE = re.compile(
    r"``(?P<literal>.+?)``"
    r"|(?::(?P<role>[\w:+-]+):)?`(?P<text>[^`<]+?)(?:\s*<(?P<target>[^`>]+)>)?`(?:__?(?!\w))?"
    r"|(?::[\w:+-]+:)?`<(?P<bare>[^`>]+)>`(?:__?(?!\w))?"
    r"|(?<![\w*])\*\*(?P<strong>\S(?:[^*]*?\S)?)\*\*(?![\w*])"
    r"|(?<![\w*])\*(?P<emphasis>[^\s*](?:[^*]*?[^\s*])?)\*(?![\w*])"
    r"|(?<!\w)\[[#*\w-]+\]_(?!\w)"
    r"|(?<!\w)\|(?P<name>[^\s|](?:[^|\n]*[^\s|])?)\|_?(?!\w)"
    r"|(?<![\w.+-])(?P<reference>[^\W_](?:[\w.+-]{0,60}[^\W_])?)__?(?=[\s.,;:)?!]|\Z)"
    r"|\\(?P<escaped>\S)|\\ ",
    re.S,
)


def read(file: File, report: Report) -> Iterator[Document]:
    """Yield the document, in parts if it is long."""
    return read_text(file, read_rst)


def read_rst(text: str, line: int = 1) -> tuple[str, list[Block]]:
    """Return the title in a header ("" if none) and the blocks. `line` is the first line's number."""
    reader = _Reader()
    lines = [each.rstrip() for each in text.expandtabs().split("\n")]
    reader.read(lines, line, 0)
    header = next((i for i, each in enumerate(lines) if not each), len(lines))
    found = reader.blocks.found
    if sum(block.kind == "heading" and block.level == 1 for block in found) > 1:  # no heading is the title
        found = [
            Block("heading", each.text, each.level + 1, (), each.line) if each.kind == "heading" else each
            for each in found
        ]
    return header_title(lines[:header]), found


class _Reader:
    def __init__(self) -> None:
        self.blocks = Blocks()
        self._styles: list[tuple[bool, str]] = []  # of headings: overlined, character; highest level first

    def read(self, lines: Sequence[str], number: int, depth: int, term: str = "") -> None:  # noqa: PLR0912, PLR0915
        """Add the blocks of `lines`; the first has the line number `number`. A `term` belongs to the first one."""
        i = 0
        literal = False  # whether an indented block is code
        while i < len(lines):
            line = lines[i]
            at = number + i
            if not line:
                i += 1
                continue
            if line[0] == " ":
                end = _indented(lines, i)
                if literal:
                    self.blocks.code("\n".join(_dedented(lines[i:end])), at, depth)
                else:
                    self.read(_dedented(lines[i:end]), at, depth)
                literal, i = False, end
                continue
            if literal and not line[0].isalnum():  # quoted code, as in an e-mail
                literal = False
            if end := self._heading(lines, i, at):
                i = end
            elif line.startswith("..") and (line == ".." or line[2] == " "):
                end = _indented(lines, i + 1)
                self._explicit(lines[i:end], at, depth)
                i = end
            elif line.startswith("__ ") or (line != "::" and _ADORNMENT.fullmatch(line) and not _is_table(lines, i)):
                i += 1
            elif _is_table(lines, i):
                i = self._table(lines, i, at, depth)
            elif line.startswith(">>> "):
                end = _paragraph(lines, i)
                self.blocks.code("\n".join(lines[i:end]), at, depth)
                i = end
            elif mark := _ITEM.match(line):
                end = _indented(lines, i + 1, mark.end())
                self._item(mark, lines[i:end], at, depth)
                i = end
            elif field := _FIELD.match(line):
                end = _indented(lines, i + 1)
                value = " ".join([field["value"] or "", *lines[i + 1 : end]])
                self.blocks.option(_shown(field["name"]), _shown(unwrapped(value)), at, depth)
                i = end
            elif i + 1 < len(lines) and lines[i + 1].startswith(" ") and not line.endswith("::"):
                end = _indented(lines, i + 1)
                self._definition(line, _dedented(lines[i + 1 : end]), at, depth)
                i = end
            else:
                end = _paragraph(lines, i)
                literal = self._text(lines[i:end], at, depth, term)
                term = ""
                i = end

    def _heading(self, lines: Sequence[str], i: int, number: int) -> int:
        """Add the heading at `i`, if there is one. Return the index after it, otherwise 0."""
        over = _ADORNMENT.fullmatch(lines[i])
        if over and len(lines[i]) >= 3 and i + 2 < len(lines) and lines[i + 1] and lines[i + 2] == lines[i]:
            title, style, end = lines[i + 1], (True, over[1]), i + 3
        elif not over and i + 1 < len(lines) and (under := _ADORNMENT.fullmatch(lines[i + 1])):
            if len(lines[i + 1]) < min(3, len(lines[i])):
                return 0
            title, style, end = lines[i], (False, under[1]), i + 2
        else:
            return 0
        if style not in self._styles:
            self._styles.append(style)
        self.blocks.heading(self._styles.index(style) + 1, _shown(title), number)
        return end

    def _text(self, lines: Sequence[str], number: int, depth: int, term: str) -> bool:
        """Add a paragraph. Return whether code follows."""
        text = "\n".join(lines)
        literal = text.endswith("::")
        if literal:
            text = "" if text == "::" else text[:-2].rstrip() if text[-3].isspace() else text[:-1]
        if not all(_TITLED.match(line) for line in lines):  # lines of a header stay
            text = unwrapped(text)
        shown = _shown(text)
        if term:
            self.blocks.option(term, shown, number, depth - 1)
        else:
            self.blocks.paragraph(shown, number, depth)
        return literal

    def _item(self, mark: re.Match[str], lines: Sequence[str], number: int, depth: int) -> None:
        body = [lines[0][mark.end() :], *_dedented(lines[1:])]
        end = _paragraph(body, 0)
        for i, line in enumerate(body[1:end], start=1):  # a list without a blank line before it
            if _ITEM.match(line):
                end = i
                break
        text = " ".join(body[:end])
        shown = "-" if mark["mark"] in "*+•-" else mark["mark"]
        self.blocks.item(shown, _shown(text.removesuffix("::") + ":" if text.endswith("::") else text), number, depth)
        if text.endswith("::"):
            self.blocks.code("\n".join(_dedented(body[end:])), number + end, depth + 1)
        else:
            self.read(body[end:], number + end, depth + 1)

    def _definition(self, term: str, lines: Sequence[str], number: int, depth: int) -> None:
        if option := _OPTION.fullmatch(term):
            term, lines = option["term"], [option["text"] or "", *lines]
        self.read(lines, number + 1, depth + 1, _shown(term))

    def _explicit(self, lines: Sequence[str], number: int, depth: int) -> None:
        """Add a directive or a footnote. Comments and targets are not shown."""
        body = _dedented(lines[1:])
        if footnote := _FOOTNOTE.match(lines[0]):
            text = unwrapped(" ".join([footnote["text"], *body]))
            self.blocks.paragraph(f"[{footnote['mark'].lstrip('#')}] {_shown(text)}", number, depth)
        if not (directive := _DIRECTIVE.match(lines[0])):
            return
        name, argument = directive["name"].lower(), directive["argument"].strip()
        options = 0
        while options < len(body) and _FIELD.match(body[options]):
            options += 1
        body, number = body[options:], number + 1 + options
        if name in _CODE:
            self.blocks.code("\n".join(body), number, depth)
        elif name in _HIDDEN:
            return
        elif name == "figure":
            self.read(body, number, depth)
        elif name == "list-table":
            self._list_table(body, number, depth)
        elif name == "csv-table":
            for row in csv.reader(filter(None, body)):
                self.blocks.row((), [_shown(cell) for cell in row], number, depth)
        elif name in _VERSIONS:
            version, _, text = argument.partition(" ")
            rest = unwrapped(" ".join([text, *body]))
            self.blocks.paragraph(f"{_VERSIONS[name]} {version}: {_shown(rest)}".removesuffix(": "), number, depth)
        elif ":" in name or name in ("option", "envvar", "data", "function", "class", "method", "confval", "describe"):
            self.read(body, number, depth + 1, _shown(argument))
        else:
            self._admonition(name, argument, body, number, depth)

    def _admonition(self, name: str, argument: str, body: Sequence[str], number: int, depth: int) -> None:
        start = next((i for i, line in enumerate(body) if line), len(body))
        end = _paragraph(body, start)
        if argument and name not in ("admonition", "rubric", "topic", "sidebar"):
            start, end = 0, _paragraph(body, 0)
            label, text = name, " ".join([argument, *body[:end]])
        else:
            label, text = argument or name, " ".join(body[start:end])
        if _ITEM.match(text) or text.endswith("::"):
            self.blocks.paragraph(f"{_shown(label).capitalize()}:", number, depth)
            self.read(body, number, depth)
        else:
            self.blocks.paragraph(f"{_shown(label).capitalize()}: {_shown(unwrapped(text))}", number, depth)
            self.read(body[end:], number + end, depth)

    # -- tables

    def _table(self, lines: Sequence[str], i: int, number: int, depth: int) -> int:
        """Add the rows of a table. Return the index after it."""
        end = i
        if lines[i].startswith("+"):
            while end < len(lines) and lines[end][:1] in ("+", "|"):
                end += 1
            rows, header = _grid(lines[i:end])
        else:
            rules = 0
            while end < len(lines) and rules < 3 and (lines[end] or rules < 3):
                rules += _is_rule(lines[end])
                end += 1
                if rules == 2 and (end >= len(lines) or not lines[end]):
                    break
            rows, header = _simple(lines[i:end])
        for row in rows:
            self.blocks.row(header, row, number, depth)
        return end

    def _list_table(self, lines: Sequence[str], number: int, depth: int) -> None:
        rows: list[list[str]] = []
        for line in lines:
            text = line.strip()
            if line.startswith("* "):
                rows.append([])
                text = text[2:].strip()
            if text.startswith("-") and rows:
                rows[-1].append(text[1:].strip())
            elif text and rows and rows[-1]:
                rows[-1][-1] += f" {text}"
        for row in rows[1:]:
            self.blocks.row([_shown(name) for name in rows[0]], [_shown(cell) for cell in row], number, depth)


def _is_rule(line: str) -> bool:
    return re.fullmatch(r"=+(?: +=+)+", line) is not None


def _is_table(lines: Sequence[str], i: int) -> bool:
    return _is_rule(lines[i]) or re.fullmatch(r"\+(?:-+\+)+", lines[i]) is not None


def _grid(lines: Sequence[str]) -> tuple[list[list[str]], list[str]]:
    """Return the rows and the header of a grid table."""
    rows: list[list[str]] = []
    header: list[str] = []
    open_row = False
    for line in lines:
        if line.startswith("+"):
            if "=" in line and rows:
                header = rows.pop()
            open_row = False
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if open_row and len(cells) == len(rows[-1]):
            rows[-1] = [f"{old} {new}".strip() for old, new in zip(rows[-1], cells, strict=True)]
        else:
            rows.append(cells)
        open_row = True
    return [[_shown(cell) for cell in row] for row in rows], [_shown(name) for name in header]


def _simple(lines: Sequence[str]) -> tuple[list[list[str]], list[str]]:
    """Return the rows and the header of a table whose columns are marked by `===  ===`."""
    starts = [match.start() for match in re.finditer("=+", lines[0])]
    rows: list[list[str]] = []
    header: list[str] = []
    rules = sum(map(_is_rule, lines))
    for line in lines[1:]:
        if _is_rule(line):
            if rules > 2 and not header and rows:
                header = [" ".join(names).strip() for names in zip(*rows, strict=True)]
                rows = []
            continue
        cells = [line[start:end].strip() for start, end in zip(starts, [*starts[1:], None], strict=True)]
        if rows and not cells[0] and any(cells):
            rows[-1] = [f"{old} {new}".strip() for old, new in zip(rows[-1], cells, strict=True)]
        elif any(cells) and not set(line) <= {"-", " "}:
            rows.append(cells)
    return [[_shown(cell) for cell in row] for row in rows], [_shown(name) for name in header]


# -- lines


def _indented(lines: Sequence[str], i: int, column: int = 1) -> int:
    """Return the index after the lines from `i` on that are blank or indented, without blank lines at the end."""
    end = i
    for at in range(i, len(lines)):
        if lines[at]:
            if indent(lines[at]) < min(column, 2):
                break
            end = at + 1
    return end


def _paragraph(lines: Sequence[str], i: int) -> int:
    return next((at for at in range(i, len(lines)) if not lines[at]), len(lines))


def _dedented(lines: Sequence[str]) -> list[str]:
    margin = min((indent(line) for line in lines if line), default=0)
    return [line[margin:] for line in lines]


def _shown(text: str) -> str:
    """Return inline markup as a reader sees it."""
    return _INLINE.sub(_unmarked, text)


def _unmarked(match: re.Match[str]) -> str:
    if (text := match["text"]) and not match["target"]:
        if match["role"] in ("pep", "rfc"):
            return f"{match['role'].upper()} {text}"
        return text.rpartition(".")[2] if text.startswith("~") else text.lstrip("!~")
    names = ("literal", "text", "bare", "strong", "emphasis", "name", "reference", "escaped")
    return next((match[name] for name in names if match[name]), "").strip()
