"""The entries of a question set: rows that are converted one by one, so that one error can list all invalid rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from robust_qa import InputError
from robust_qa.answering import portable
from rqa_rows import check_rows, input_rows, is_table, read_lines, table_fields

from .items import Malformed, gold_column

Entry = tuple[int, str, Callable[[], Any]]  # number from 1, location, function that returns the row or raises Malformed

HINT = "Set the layout with --format, or see rqa-eval(1) for the format of a row."
_decode = msgspec.json.Decoder().decode


def loads(text: bytes) -> Any:
    """Parse JSON. Also accepts NaN and lone surrogates, which Python's json module writes."""
    try:
        text.decode()
        try:
            return _decode(text)
        except msgspec.DecodeError:
            return _decode(portable(text))
    except msgspec.DecodeError as error:
        raise Malformed(f"it is not JSON: {str(error).removeprefix('JSON is malformed: ')}") from error
    except UnicodeDecodeError as error:
        raise Malformed(f"it is not UTF-8 text: {error.reason} at byte {error.start + 1}") from error


def json_lines(path: Path) -> Iterator[Entry]:
    """Yield the lines of a JSON lines file."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if number == 1:
                check_rows(line, str(path))
            text = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
            if text.strip():
                yield number, f"line {number}", partial(loads, text)


def table_rows(path: Path) -> Iterator[Entry]:
    """Yield the rows of a CSV or TSV file. `|` separates right answers."""

    def fields(row: bytes) -> dict[str, Any]:
        try:
            found = table_fields(row)
        except InputError as error:
            raise Malformed(f"{error.message} {error.hint}") from error
        except UnicodeDecodeError as error:
            raise Malformed(f"it is not UTF-8 text: {error.reason}") from error
        return with_alternatives(found)

    if not begins_table(path):
        raise InputError(f"{path} has no header with a column `question`.", hint=HINT)
    with path.open("rb") as file:
        for number, row in input_rows(read_lines(file), str(path)):
            if row:
                yield number, f"line {number}", partial(fields, row)


def with_alternatives(row: dict[str, Any]) -> dict[str, Any]:
    """Return the row of a table with the answers that `|` separates in its cell as a list."""
    column = gold_column(row)
    if isinstance(answers := row.get(column), str):
        row[column] = [answer.strip() for answer in answers.split("|") if answer.strip()]
    return row


def begins_table(path: Path) -> bool:
    """Return whether a file begins with the header of a table. Raises InputError if no column holds the question."""
    with path.open("rb") as file:
        try:
            return is_table(read_lines(file), str(path))
        except InputError as error:
            hint = "Name the column with the question `question`." if "--column" in error.hint else error.hint
            raise InputError(error.message, hint=hint) from error


def numbered(rows: Iterable[Any], name: str = "row") -> Iterator[Entry]:
    """Yield the rows of a list."""
    for number, row in enumerate(rows, start=1):
        yield number, f"{name} {number}", partial(same, row)


def load_json(path: Path) -> Any:
    """Return the content of a JSON file. Raises InputError."""
    try:
        return loads(path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
    except Malformed as error:
        raise InputError(f"{path} cannot be read: {error}.") from error


def same(row: Any) -> Any:
    """Return the row as it is."""
    return row
