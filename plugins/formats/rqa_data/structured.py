"""Read JSON, with the path to each value, and Jupyter notebooks."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from rqa_files import Block, Blocks, Document, File, Report, Unreadable, read_code_file, read_html, read_markdown

_VALUE = re.compile(r'"(?:[^"\\]|\\.)*+"(\s*+:)?|[\[{]|\n|[^\s,:\[\]{}"]++')  # of JSON, or a key, or a line's end
_SHORT = 100  # words of an object that is shown as one row
_OUTPUT = 4000  # characters of the output of a cell
_DEEPEST = 6  # levels of headings; deeper paths are written out


Lines = Mapping[tuple[int, str | int], int]
"""The line of each value in an object or array, by the id of this and its key or index."""


def read_json(value: Any, lines: Lines = MappingProxyType({})) -> list[Block]:
    """Return the blocks of a JSON value. An object of an array is a row "key: value; key: value"."""
    blocks = Blocks()
    _add(blocks, value, (), lines)
    return blocks.found


def read_json_file(file: File, report: Report) -> Iterator[Document]:
    """Yield the document of a JSON file. What is no valid JSON is read as source code."""
    with suppress(json.JSONDecodeError, RecursionError):
        value = json.loads(text := file.text())
        yield file.document("", read_json(value, _lines(text, value)))
        return
    yield from read_code_file(file)


def _lines(text: str, value: Any) -> Lines:
    """Return the line of each value in a JSON text, none if a key is there twice."""
    found: dict[tuple[int, str | int], int] = {}
    numbers: list[int] = []
    line = 1
    for token in _VALUE.finditer(text):
        if not token[1] and token[0] != "\n":  # no key
            numbers.append(line)
        line += token[0].count("\n")
    each = iter(numbers)

    def walk(owner: int, key: str | int, inner: Any) -> None:
        found[owner, key] = next(each, 0)
        pairs = inner.items() if isinstance(inner, Mapping) else enumerate(inner) if isinstance(inner, list) else ()
        for name, part in pairs:
            walk(id(inner), name, part)

    walk(0, "", value)
    return found if len(found) == len(numbers) else {}


def _add(blocks: Blocks, value: Any, path: tuple[str, ...], lines: Lines) -> None:
    if isinstance(value, Mapping):
        deep = [key for key, each in value.items() if each and _is_deep(each)]
        for key, each in value.items():
            if key not in deep:
                line = lines.get((id(value), key), 0)
                blocks.option(".".join([*path[_DEEPEST:], str(key)]), _shown(each), line)
        for key in deep:
            blocks.heading(min(len(path) + 2, _DEEPEST), str(key), lines.get((id(value), key), 0))
            _add(blocks, value[key], (*path, str(key)), lines)
    elif isinstance(value, list):
        for number, each in enumerate(value):
            line = lines.get((id(value), number), 0)
            pairs = dict(_pairs(each)) if isinstance(each, Mapping) else {}
            if pairs and sum(len(text.split()) for text in pairs.values()) <= _SHORT:
                blocks.row(list(pairs), list(pairs.values()), line)
            elif isinstance(each, Mapping | list):
                if name := next((pairs[key] for key in ("name", "title", "id") if key in pairs), ""):
                    blocks.heading(min(len(path) + 2, _DEEPEST), name, line)
                _add(blocks, each, (*path, name), lines)
            else:
                blocks.item("-", _shown(each), line)
    else:
        blocks.paragraph(_shown(value), bool(lines))


def _pairs(value: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    for key, each in value.items():
        name = f"{above}.{key}" if above else str(key)
        if isinstance(each, Mapping):
            yield from _pairs(each, name)
        else:
            yield name, _shown(each)


def _is_deep(value: Any) -> bool:
    """Return whether the value is an object, or an array with objects or arrays."""
    if isinstance(value, list):
        return any(isinstance(each, Mapping | list) for each in value)
    return isinstance(value, Mapping)


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_shown, value))
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def read_notebook(file: File, report: Report) -> Iterator[Document]:
    """Yield the document of a Jupyter notebook: its text, code and the text of its output."""
    notebook = json.loads(file.text())
    if not isinstance(notebook, dict):
        raise Unreadable("it is not a notebook")
    cells = notebook.get("cells") or [cell for sheet in notebook.get("worksheets", ()) for cell in sheet["cells"]]
    blocks: list[Block] = []
    for number, cell in enumerate(cells, start=1):
        blocks += [replace(block, line=number, lines=()) for block in _cell(cell)]
    yield file.document("", blocks, place="cell")


def _cell(cell: Mapping[str, Any]) -> list[Block]:
    text = _joined(cell.get("source", cell.get("input", "")))
    if cell["cell_type"] not in ("code", "heading"):
        return read_markdown(text)[1]
    blocks = Blocks()
    if cell["cell_type"] == "heading":
        blocks.heading(int(cell.get("level", 1)), text)
        return blocks.found
    blocks.code(text)
    for output in cell.get("outputs", ()):
        data = output.get("data", {})
        if "<table" in (page := _joined(data.get("text/html", ""))):  # has the columns that its text aligns
            blocks.extend(read_html(page)[1])
        else:
            blocks.code(_joined(output.get("text") or data.get("text/plain", ""))[:_OUTPUT])
    return blocks.found


def _joined(text: str | Sequence[str]) -> str:
    return text if isinstance(text, str) else "".join(text)
