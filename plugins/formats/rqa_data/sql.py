"""Read SQL: the rows that a dump inserts are rows of tables, and the rest is source code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from rqa_files import Blocks, Document, File, Report, read_code_file

_TOGETHER = 1000  # rows of a table in a document
_NAME = r"(?P<table>[\w.\"`\[\]$-]+)"
_TABLE = re.compile(
    rf"^CREATE\s+(?:\w+\s+)?TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?{_NAME}\s*\((?P<columns>[^;]*)", re.M | re.I
)
_COLUMN = re.compile(
    r"(?:^|,)\s*(?!(?:PRIMARY|UNIQUE|FOREIGN|CONSTRAINT|CHECK|FULLTEXT|INDEX|KEY)\b)[\"`\[]?([^\W\d]\w*)[\"`\]]?\s+\w",
    re.M | re.I,
)
_FILLED = re.compile(
    rf"^(?:(?:INSERT|REPLACE)\s+(?:\w+\s+)?INTO\s+{_NAME}\s*(?:\((?P<names>[^()]*)\)\s*)?VALUES\s*"
    r"|COPY\s+(?P<copied>[\w.\"]+)\s*\((?P<columns>[^()]*)\)\s+FROM\s+stdin;\n)",
    re.M | re.I,
)
_TOKEN = re.compile(r"'((?:[^'\\]|''|\\.)*+)'|([(),;])|([^\s(),;']+)", re.S)
_AFTER = re.compile(r"\s*(?:[,;]|\\\.\n)?")  # of a row
_ESCAPED = re.compile(r"''|\\([nrt'\"\\])")
_PLAIN = {"n": "\n", "r": " ", "t": " "}


def read_sql(file: File, report: Report) -> Iterator[Document]:
    """Yield the rows of each INSERT and COPY, then the other statements. A file without them is source code."""
    text = file.text()
    columns = {_plain(table["table"]): _COLUMN.findall(table["columns"]) for table in _TABLE.finditer(text)}
    rest, line, last = "", 1, 0  # the other statements, with their lines, and where the rows before end
    for table, rows in groupby(_rows(text), key=lambda row: row[0]):
        blocks = Blocks()
        for _, names, begin, stop, cells in rows:
            after = _AFTER.match(text, stop)
            end = after.end() if after else stop
            rest += text[last:begin] + "\n" * text.count("\n", begin, end)
            line, last = line + text.count("\n", last, begin), end
            blocks.row(names or columns.get(table, ()), cells, line)
            line += text.count("\n", begin, end)
            if len(blocks.found) == _TOGETHER:
                yield file.document(f"{file.stem} > {table}", blocks.found, part=f"{table}:{line}")
                blocks = Blocks()
        if blocks.found:
            yield file.document(f"{file.stem} > {table}", blocks.found, part=f"{table}:{line}")
    if last:
        code = _FILLED.sub(lambda found: "\n" * found[0].count("\n"), rest + text[last:]).encode()
        file = File(file.path, file.limit, "utf-8", formats=file.formats, inside=file.path.name, content=code)
    yield from read_code_file(file)


def _rows(text: str) -> Iterator[tuple[str, list[str], int, int, list[str]]]:
    """Yield each row with its table, its columns if they are named, and its start and end in the text."""
    at = 0
    while filled := _FILLED.search(text, at):
        at = filled.end()
        names = [_plain(name) for name in (filled["names"] or filled["columns"] or "").split(",") if name.strip()]
        table = _plain(filled["table"] or filled["copied"])
        for begin, end, cells in _copied(text, at) if filled["copied"] else _inserted(text, at):
            yield table, names, begin, end, cells
            at = end


def _copied(text: str, at: int) -> Iterator[tuple[int, int, list[str]]]:
    """Yield the lines of a COPY, up to the one that ends it."""
    while (end := text.find("\n", at)) > 0 and not text.startswith("\\.", at):
        yield at, end, ["" if cell == "\\N" else _unescaped(cell) for cell in text[at:end].split("\t")]
        at = end + 1


def _inserted(text: str, at: int) -> Iterator[tuple[int, int, list[str]]]:
    """Yield the rows in parentheses of an INSERT, up to what is no row."""
    depth, begin, cells = 0, at, [""]
    for token in _TOKEN.finditer(text, at):
        mark = token[2]
        if mark == "(" and not depth:
            depth, begin, cells = 1, token.start(), [""]
        elif mark == ")" and depth == 1:
            yield begin, token.end(), cells
            depth = 0
        elif not depth:
            if mark != ",":
                return
        elif mark == "," and depth == 1:
            cells.append("")
        else:
            depth += (mark == "(") - (mark == ")")
            value = token[0] if token[1] is None else _unescaped(token[1])
            cells[-1] = f"{cells[-1]} {value}".strip() if value.upper() != "NULL" else cells[-1]


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda found: _PLAIN.get(found[1], found[1]) if found[1] else "'", text)


def _plain(name: str) -> str:
    """Return a name without the marks around its parts."""
    return re.sub(r"[\"`\[\]\s]", "", name)
