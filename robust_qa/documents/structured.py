"""Read JSON, with the path to each value, and Jupyter notebooks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from .blocks import Block, Blocks, Unreadable
from .document import Document, File, Report
from .html import read_html
from .markdown import read_markdown

_SHORT = 100  # words of an object that is shown as one row
_OUTPUT = 4000  # characters of the output of a cell
_DEEPEST = 6  # levels of headings; deeper paths are written out


def read_json(value: Any) -> list[Block]:
    """Return the blocks of a JSON value. An object of an array is a row "key: value; key: value"."""
    blocks = Blocks()
    _add(blocks, value, ())
    return blocks.found


def _add(blocks: Blocks, value: Any, path: tuple[str, ...]) -> None:
    if isinstance(value, Mapping):
        deep = [key for key, each in value.items() if each and _is_deep(each)]
        for key, each in value.items():
            if key not in deep:
                blocks.option(".".join([*path[_DEEPEST:], str(key)]), _shown(each))
        for key in deep:
            blocks.heading(min(len(path) + 2, _DEEPEST), str(key))
            _add(blocks, value[key], (*path, str(key)))
    elif isinstance(value, list):
        for each in value:
            pairs = dict(_pairs(each)) if isinstance(each, Mapping) else {}
            if pairs and sum(len(text.split()) for text in pairs.values()) <= _SHORT:
                blocks.row(list(pairs), list(pairs.values()))
            elif isinstance(each, Mapping | list):
                if name := next((pairs[key] for key in ("name", "title", "id") if key in pairs), ""):
                    blocks.heading(min(len(path) + 2, _DEEPEST), name)
                _add(blocks, each, (*path, name))
            else:
                blocks.item("-", _shown(each))
    else:
        blocks.paragraph(_shown(value))


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
