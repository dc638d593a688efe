"""Read question sets in the format of rqa or in common public formats, and detect the format."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec

from robust_qa import InputError
from rqa_rows import check_rows, question_column, workbook_rows

from .entries import (
    HINT,
    Entry,
    begins_table,
    json_lines,
    load_json,
    loads,
    numbered,
    table_rows,
    with_alternatives,
)
from .extras import find
from .items import Item, Malformed, item

_SHOWN = 5  # malformed rows that an error lists


def read_set(path: Path, layout: str | None = None) -> tuple[list[Item], str]:
    """Return the questions at `path` and their layout, by default detected. InputError lists malformed rows."""
    try:
        if not (stat.S_ISREG(mode := path.stat().st_mode) or stat.S_ISDIR(mode)):
            raise InputError(
                f"{path} is a stream, but a set is read more than once.",
                hint="Write it to a file first.",
            )
        layout = layout or _detect(path)
        items, problems = [], []
        for number, where, row in (LAYOUTS.get(layout) or find("layouts", layout))(path):
            try:
                items.append(item(number, row()))
            except Malformed as error:
                problems.append(f"{where}: {error}")
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror}.", hint="Check the path.") from error
    if problems:
        more = f"\nand {len(problems) - _SHOWN} more." if len(problems) > _SHOWN else ""
        raise InputError(
            f"{path} has {len(problems)} malformed {'row' if len(problems) == 1 else 'rows'}. No question was asked.\n"
            + "\n".join(problems[:_SHOWN])
            + more,
            hint=f"It was read as {layout}. {HINT}",
        )
    if not items:
        raise InputError(f"{path} has no questions.", hint=f"It was read as {layout}. {HINT}")
    return items, layout


def _detect(path: Path) -> str:
    if path.is_dir():
        if (path / "queries.jsonl").is_file():
            return "beir"
        raise InputError(f"{path} is a folder without queries.jsonl, so it is not a BEIR set.")
    with path.open("rb") as file:
        head = file.read(1 << 16)
    if not head.strip():
        raise InputError(f"{path} has no questions.")
    first = head.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")[0].rstrip()
    if layout := _table_layout(path, first):
        return layout
    if path.suffix == ".json" and first.startswith(b"["):
        rows = load_json(path)
        first = msgspec.json.encode(rows[0] if isinstance(rows, list) and rows else rows)
    if not first.startswith(b"{"):
        check_rows(first, str(path))
        raise InputError(f"Cannot detect the layout of {path} from its first line.", hint=HINT)
    try:
        row = loads(first)
    except Malformed:
        if path.suffix != ".json":
            return "jsonl"  # its reader explains the error
        row = load_json(path)
    if not isinstance(row, dict):
        raise InputError(f"Cannot detect the layout of {path}: it is not an object.", hint=HINT)
    for layout, fields in _SIGNS:
        if fields <= row.keys():
            return layout
    if question_column(row):
        return "jsonl"
    raise InputError(f"Cannot detect the layout of {path} from the fields {', '.join(list(row)[:8])}.", hint=HINT)


def _table_layout(path: Path, header: bytes) -> str:
    """Return the layout of a table, "" for other files. Raises InputError if no column holds the question."""
    if path.suffix == ".xlsx":
        return "xlsx"
    columns = set(header.split(b"\t"))
    if {b"claim", b"label"} <= columns:
        return "pubhealth"
    if {b"context1", b"context2", b"contradictType"} <= set(header.split(b",")):
        return "wikicontradict"
    if header.startswith((b"{", b"[")) or not begins_table(path):
        return ""
    return "promptfoo" if b"__expected" in header else "csv"


# The first layout whose fields are all in the row wins.
_SIGNS: tuple[tuple[str, set[str]], ...] = (
    ("squad", {"data"}),
    ("nq", {"question_text", "annotations"}),
    ("musique", {"question", "paragraphs"}),
    ("nq-swap", {"org_context", "sub_context"}),
    ("conflictbank", {"question", "options", "correct_option"}),
    ("hotpotqa", {"question", "context", "_id"}),
    ("promptfoo", {"vars"}),
    ("promptfoo", {"tests"}),
    ("triviaqa", {"Data"}),
    ("bioasq", {"questions"}),
    ("asqa", {"dev"}),
    ("asqa", {"qa_pairs"}),
    ("rgb", {"query", "positive", "negative"}),
    ("jsonl", {"question", "answers", "passages"}),
    ("ctxs", {"question", "ctxs"}),
    ("alce", {"question", "docs"}),
    ("ramdocs", {"documents", "gold_answers"}),
    ("arc", {"question", "answerKey"}),
    ("jsonl", {"question"}),
    ("kilt", {"input"}),
    ("beir", {"_id", "text"}),
)


LAYOUTS: Mapping[str, Callable[[Path], Iterator[Entry]]] = {
    "jsonl": json_lines,
    "csv": table_rows,
    "xlsx": lambda path: numbered(with_alternatives(row) for _, row in workbook_rows(path)),
}
