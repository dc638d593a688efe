"""Questions that want a sum, a difference, a change, a ratio or an average, worked out from the cells of one table.

One operand is never the answer to such a question. Two rows and one column, or one row and two columns, are found by
their names; where these do not tell exactly one cell each, nothing is worked out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from robust_qa.kit import content_terms, words

_SINCE = r"(?=.*\b(?:from|between|over|to|compared|since)\b)"
_OPERATIONS = {
    "percentage change": r"\b(?:percentage|percent|year[- ]on[- ]year|%)\s+(?:change|increase|decrease|growth)",
    "change": rf"\bby how much\b|\b(?:change|increase|decrease|growth)\b{_SINCE}",
    "ratio": r"\bratio\b|\bproportion\b|\b(?:percentage|percent) of\b.*\b(?:of|in|over)\b.*\btotal\b",
    "average": r"\baverage\b",
    "difference": r"\bdifference\b|^how (?:much|many) (?:more|less|fewer|higher|lower|longer|cheaper)\b",
    "sum": r"\bsum of\b|\bcombined\b|\baltogether\b|\bin total\b|\btogether\b|\btotal\b.*\band\b",
    "count": r"^how many (?:\w+ ){1,4}.*\b(?:exceed\w*|above|below|over|under|(?:more|less|lower|higher) than)\b",
}
_WANTED = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in _OPERATIONS.items()}
_OTHER = re.compile(
    r"\s*(?:why|which|who|when|where)\b|.*\b(?:due to|driven by|relate[sd]? to|calculated|mean|respectively)\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_CELL = re.compile(r"\(?[-−–]?\s?[$£€]?\s?\(?\d[\d,]*(?:\.\d+)?\)?\s?%?\)?")
_THROUGH = re.compile(r"\b(?:19|20)\d\d\s*(?:-|–|to|through)\s*(?:19|20)\d\d\b")


def operation(question: str) -> str:
    """Return what a question wants to be worked out, "" if nothing."""
    if _OTHER.match(question):
        return ""
    return next((name for name, pattern in _WANTED.items() if pattern.search(question)), "")


@dataclass(frozen=True, slots=True)
class Cell:
    """A number of a table as it is written, with the names of its row and column. Its row begins at `start`."""

    row: str
    column: str
    text: str
    value: float
    place: int
    start: int


@dataclass(frozen=True, slots=True)
class Worked:
    """A result with its calculation, and the cells in it."""

    text: str
    calculation: str
    cells: tuple[Cell, ...]


def work_out(question: str, texts: Sequence[str]) -> Worked | None:
    """Return what `question` asks for, from the tables in `texts`. None if the cells are not clear."""
    wanted = operation(question)
    cells = [cell for place, text in enumerate(texts) for cell in _cells(text, place)]
    operands = _operands(question, cells, wanted) if wanted and wanted != "count" else None
    return _result(wanted, operands, question) if operands else None


def _cells(text: str, place: int) -> Iterator[Cell]:
    """Yield the numbers of rows: "Rent | 900 | 950" below their header, or "item: Rent; 2023: 900; 2024: 950"."""
    header: list[str] = []
    at, is_head = 0, True
    for line in text.split("\n"):
        start, at = at, at + len(line) + 1
        if " | " in line:
            parts = [part.strip() for part in line.split("|")]
            numbers = [_number(part) for part in parts[1:]]
            if all(value is None or _YEAR.fullmatch(part) for part, value in zip(parts[1:], numbers, strict=True)):
                header = _merged(header, parts) if is_head else (parts if any(map(_YEAR.search, parts[1:])) else header)
                continue
            is_head = False
            for number, (part, value) in enumerate(zip(parts[1:], numbers, strict=True), start=1):
                if value is not None:
                    yield Cell(parts[0], header[number] if number < len(header) else "", part, value, place, start)
        elif "; " in line and ": " in line:
            pairs = [pair.partition(": ") for pair in line.split("; ")]
            label = pairs[0][2]
            for name, _, part in pairs[1:]:
                if (value := _number(part)) is not None:
                    yield Cell(label, name, part.strip(), value, place, start)
        elif line.strip():
            header, is_head = [], True


def _merged(above: Sequence[str], below: Sequence[str]) -> list[str]:
    return [" ".join(filter(None, pair)) for pair in zip_longest(above, below)]


def _number(text: str) -> float | None:
    if not _CELL.fullmatch(text.strip()):
        return None
    digits = re.sub(r"[^\d.]", "", text)
    return (-1 if re.search(r"[-−–(]", text) else 1) * float(digits) if digits.strip(".") else None


def _operands(question: str, cells: Sequence[Cell], wanted: str) -> tuple[Cell, ...] | None:
    """Return the cells that the question names, the later or the first one first."""
    asked = {*content_terms(_YEAR.sub(" ", question)), *words(question)}
    years = list(dict.fromkeys(_YEAR.findall(question)))
    rows = _named(asked, cells)
    if len(years) == 2 and len(rows) == 1:
        if wanted == "average" and int(max(years)) - int(min(years)) > 1 and _THROUGH.search(question):
            years = [str(year) for year in range(int(min(years)), int(max(years)) + 1)]
        pair = [_only(cells, rows[0], year) for year in sorted(years, reverse=True)]
    elif len(years) <= 1 and len(rows) == 2:
        pair = [_only(cells, row, years[0] if years else "") for row in rows]
    else:
        return None
    return tuple(each for each in pair if each) if all(pair) else None


def _named(asked: set[str], cells: Sequence[Cell]) -> list[str]:
    """Return the names of rows that the question has in full, in its order, without those inside a longer name."""
    names = {}
    for cell in cells:
        terms = {*content_terms(_YEAR.sub(" ", cell.row))} or {*words(cell.row)}  # "Other" is a row, too
        if terms and terms <= asked:
            names[cell.row] = terms
    return [name for name, terms in names.items() if not any(terms < other for other in names.values())]


def _only(cells: Sequence[Cell], row: str, year: str) -> Cell | None:
    found = [cell for cell in cells if cell.row == row and (not year or year in cell.column)]
    return found[0] if len(found) == 1 else None


def _result(wanted: str, operands: Sequence[Cell], question: str) -> Worked | None:
    one, other, *_ = operands
    texts = [each.text for each in operands]
    if wanted == "percentage change" and "absolute" in question.lower():
        wanted = "difference"
    if wanted == "average":
        mean = sum(each.value for each in operands) / len(operands)
        return Worked(_said(mean), f"({' + '.join(texts)}) / {len(operands)}", tuple(operands))
    if wanted == "sum":
        return Worked(_said(one.value + other.value), " + ".join(texts), tuple(operands))
    if wanted in ("change", "difference"):
        return Worked(_said(one.value - other.value), " - ".join(texts), tuple(operands))
    if wanted == "percentage change" and other.value:
        change = 100 * (one.value - other.value) / other.value
        return Worked(f"{_said(change)} %", f"({' - '.join(texts)}) / {other.text}", tuple(operands))
    if wanted == "ratio" and other.value and "ratio" in question.lower():
        return Worked(_said(one.value / other.value), " / ".join(texts), tuple(operands))
    return None


def _said(value: float) -> str:
    text = f"{round(value, 2):,.2f}"
    return text.rstrip("0").rstrip(".")
