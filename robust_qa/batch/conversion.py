"""Inputs that are not rows: workbooks, and JSON as other tools and public sets write it. They become JSON lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import date, datetime, time
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ..errors import InputError
from .layout import BOM, READ
from .rows import portable
from .tables import cell_value

_LINES = frozenset({".jsonl", ".ndjson"})
_LONGEST = 1 << 24  # bytes of a first line that is looked at
_MATCHES = frozenset({"equals", "contains", "icontains"})  # promptfoo's assertions that state an answer

Fields = dict[str, Any]


class Converted(NamedTuple):
    """What a file is, in words, and its rows."""

    kind: str
    rows: Iterator[Fields]


def converted(path: Path) -> Converted | None:
    """Return the rows of an xlsx workbook, or of JSON as SQuAD, HotpotQA or promptfoo write it; else None.

    Reads a JSON file whole. Raises InputError if the file cannot be read.
    """
    suffix = path.suffix.lower()
    try:
        if suffix == ".xlsx":
            return Converted("workbook", _workbook(path))
        if suffix == ".json" or suffix in _LINES:
            return _json(path, lines=suffix in _LINES)
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror}.") from error
    return None


def _json(path: Path, *, lines: bool) -> Converted | None:
    with path.open("rb") as file:
        first = _decoded(file.readline(_LONGEST))
        if isinstance(first, dict) and isinstance(first.get("vars"), dict):
            file.seek(0)
            return Converted("tests of promptfoo", _rows(path, map(_decoded, filter(bytes.strip, file.readlines()))))
        if lines or (isinstance(first, dict) and not isinstance(first.get("data") or first.get("tests"), list)):
            return None
        file.seek(0)
        content = _decoded(file.read())
    if isinstance(content, dict) and isinstance(content.get("data"), list):
        return Converted("SQuAD", _squad(path, content["data"]))
    found = content.get("tests") if isinstance(content, dict) else content
    if not isinstance(found, list) or not found or not isinstance(found[0], dict):
        return None
    kind = "tests of promptfoo" if "vars" in found[0] else "HotpotQA" if _has_paragraphs(found[0]) else "JSON array"
    return Converted(kind, _rows(path, iter(found)))


def _decoded(text: bytes) -> Any:
    """Return the JSON value, None if it is not JSON."""
    with suppress(msgspec.DecodeError, RecursionError):
        return msgspec.json.decode(portable(text.removeprefix(BOM)))
    return None


def _rows(path: Path, entries: Iterator[Any]) -> Iterator[Fields]:
    for number, entry in enumerate(entries, start=1):
        if not isinstance(entry, dict):
            raise InputError(f"Entry {number} of {path} is not an object.")
        if isinstance(entry.get("vars"), dict):
            yield _tested(entry)
        elif _has_paragraphs(entry):
            yield _hotpot(entry)
        else:
            yield entry


def _tested(entry: Mapping[str, Any]) -> Fields:
    """Return a test of promptfoo: its variables, and the answers that it expects."""
    expected = [
        each["value"]
        for each in entry.get("assert") or ()
        if isinstance(each, dict) and each.get("type") in _MATCHES and isinstance(each.get("value"), str)
    ]
    return {**entry["vars"], **({"answers": expected} if expected else {})}


def _has_paragraphs(entry: Mapping[str, Any]) -> bool:
    """Return whether `context` has titles and sentences, as in HotpotQA, 2WikiMultihopQA and their kin."""
    context = entry.get("context")
    return bool(context) and isinstance(context, list) and all(isinstance(e, list) and len(e) == 2 for e in context)


def _hotpot(entry: Mapping[str, Any]) -> Fields:
    passages = [{"title": title, "text": " ".join(map(str.strip, sentences))} for title, sentences in entry["context"]]
    kept = {name: value for name, value in entry.items() if name not in ("_id", "context", "answer")}
    answers = [entry["answer"]] if isinstance(entry.get("answer"), str) else None
    return {"id": entry.get("_id"), **kept, **({"answers": answers} if answers else {}), "passages": passages}


def _squad(path: Path, articles: list[Any]) -> Iterator[Fields]:
    for a, article in enumerate(articles):
        for p, paragraph in enumerate(_listed(path, article, f"data[{a}]", "paragraphs")):
            for q, asked in enumerate(_listed(path, paragraph, f"data[{a}].paragraphs[{p}]", "qas")):
                try:
                    answers = [answer["text"] for answer in asked.get("answers") or ()]
                    known = answers or asked.get("is_impossible")
                    yield {
                        "id": asked.get("id"),
                        "question": asked["question"],
                        **({"answers": answers} if known else {}),
                        "passages": [{"title": article.get("title") or "", "text": paragraph["context"]}],
                    }
                except (KeyError, TypeError, AttributeError) as error:
                    where = f"data[{a}].paragraphs[{p}].qas[{q}]"
                    raise InputError(f"{path}: {where} is not a question of a SQuAD set: {error!r}.") from error


def _listed(path: Path, value: Any, where: str, name: str) -> list[Any]:
    inner = value.get(name) if isinstance(value, dict) else None
    if not isinstance(inner, list):
        raise InputError(f"{path}: {where} has no list `{name}`, so it is not a SQuAD set.")
    return inner


def _workbook(path: Path) -> Iterator[Fields]:
    """Yield the rows of the first sheet below its header. An empty cell is no field."""
    import openpyxl

    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except Exception as error:  # openpyxl raises what its zip and XML libraries raise
        raise InputError(f"{path} is not a workbook that can be read: {error}.") from error
    rows = (row for row in book.worksheets[0].iter_rows(values_only=True) if any(cell is not None for cell in row))
    names = [str(name or "").strip() for name in next(rows, ())]
    names = [name.lower() if name.lower() in READ else name for name in names]
    for row in rows:
        named = zip(names, row, strict=False)
        yield {name: _value(name, cell) for name, cell in named if name and cell not in (None, "")}


def _value(name: str, cell: Any) -> Any:
    if isinstance(cell, datetime) and cell.time() == time():
        cell = cell.date()
    if isinstance(cell, date | time):
        return cell.isoformat()
    return cell_value(name, cell) if isinstance(cell, str) else cell
