"""Rows of different tables, and sentences, that give other values of one thing: the price of oak in two lists.

Two rows are of one thing if they have the same name, which no other row of its table has, and if no other cell that
both have differs, but for values that exclude each other.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

from robust_qa.kit import cells_of, content_terms, words
from rqa_claims import Relation, Value, relate, values
from rqa_claims.claims import CLAUSE_END
from rqa_files import Document

from .contradictions import Statement
from .reports import Finding, Place

_CENTS = re.compile(r"\d+[.,]\d\d")
_NAME = 8  # words, at most


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table: its place, its file, the values of the titles above, and its cells by column."""

    place: Place
    file: str
    when: tuple[Value, ...]
    cells: Mapping[str, str]


def rows(document: Document, file: str) -> Iterator[Row]:
    """Yield the rows of the tables of `document`."""
    heading = ""
    for block in document.blocks:
        if block.kind == "heading":
            heading = block.text
            continue
        above = f"{document.title}\n{heading}\n{Path(file).stem.replace('_', ' ')}"
        when = tuple(each for each in values(above) if each.kind == "date")
        for number, line in zip(block.line_numbers, block.text.split("\n"), strict=False):
            if cells := cells_of(line):
                yield Row(Place(document.source, number, line), file, when, dict(cells))


def disagreements(given: Sequence[Row], statements: Sequence[Statement]) -> list[Finding]:
    """Return pairs of rows, and of a row and a sentence, of two files of a folder with other values of one thing."""
    named: dict[tuple[Path, str], list[Row]] = defaultdict(list)
    for row, name in _named(given):
        named[Path(row.file).parent, name].append(row)
    pairs: dict[tuple[Place, Place], Finding] = {}

    def add(one: Row, other: Row | Statement, apart: tuple[Value, Value] | None) -> None:
        if apart and one.file != other.file:
            places, files = (one.place, other.place), (one.file, other.file)
            pairs[places] = Finding("disagreement", " or ".join(each.text for each in apart), places, 1.0, files)

    for own in named.values():
        for one, other in combinations(own, 2):
            add(one, other, _apart(one, other))
    for each in statements:
        if not cells_of(each.place.text):
            for name in _parts(each.place.text):
                for row in named.get((Path(each.file).parent, name), []):
                    add(row, each, _denied(row, name, each))
    return list(pairs.values())


def _parts(text: str) -> set[str]:
    """Return all runs of a few words of `text`."""
    own = words(text)
    return {" ".join(own[at : at + size]) for size in range(1, _NAME + 1) for at in range(len(own) - size + 1)}


def _named(given: Sequence[Row]) -> Iterator[tuple[Row, str]]:
    """Yield the rows with each name that no other row of the file has in its column."""
    times = Counter((row.file, column, cell) for row in given for column, cell in row.cells.items())
    for row in given:
        for column, cell in row.cells.items():
            if times[row.file, column, cell] == 1 and content_terms(cell) and not _is_value(cell):
                yield row, " ".join(words(cell))


def _apart(one: Row, other: Row) -> tuple[Value, Value] | None:
    """Return the values in which two rows differ, None if they may be of two things or agree."""
    if any(relate(mine, theirs) is Relation.EXCLUDED for mine in one.when for theirs in other.when):
        return None
    found: list[tuple[Value, Value]] = []
    for column, cell in one.cells.items():
        for there, told in other.cells.items():
            if not {*content_terms(column)} & {*content_terms(there)}:
                continue
            mine, theirs = _of_cell(column, cell), _of_cell(there, told)
            if len(mine) == len(theirs) == 1 and _priced(mine[0], theirs[0]) is Relation.EXCLUDED:
                found.append((mine[0], theirs[0]))
            elif column == there and words(cell) != words(told) and not (mine and theirs):
                return None  # another size, another person
    is_of_another_day = len(found) > 1 and any(mine.kind == "date" for mine, _ in found)
    return found[0] if found and not is_of_another_day else None


def _denied(row: Row, name: str, said: Statement) -> tuple[Value, Value] | None:
    """Return the value of a row that a sentence excludes, if the clause with its name has just one that compares."""
    if any(relate(mine, each) is Relation.EXCLUDED for mine in row.when for each in values(said.place.text)):
        return None
    clauses = (part for part in CLAUSE_END.split(said.place.text) if f" {name} " in f" {' '.join(words(part))} ")
    told = [each for part in clauses for each in values(part) if " ".join(words(each.text)) not in name]
    found: list[tuple[Relation, Value, Value]] = []
    for column, cell in row.cells.items():
        mine = _of_cell(column, cell)
        for each in told if len(mine) == 1 and " ".join(words(cell)) != name else ():
            is_named = each.kind.startswith("money") or not {*content_terms(column)}.isdisjoint(said.words)
            if is_named and (relation := _priced(mine[0], each)) is not Relation.INCOMPARABLE:
                found.append((relation, mine[0], each))
    is_one = len({each for *_, each in found}) == 1 and all(relation is Relation.EXCLUDED for relation, *_ in found)
    return found[-1][1:] if is_one else None


def _priced(one: Value, other: Value) -> Relation:
    """Return how two values relate. A cell such as 62.00 is in the currency of the other."""
    first, second = (
        replace(mine, kind=theirs.kind) if theirs.kind.startswith("money") and _CENTS.fullmatch(mine.text) else mine
        for mine, theirs in ((one, other), (other, one))
    )
    return relate(first, second)


def _of_cell(column: str, cell: str) -> list[Value]:
    """Return the values of a cell, whose unit its column may name."""
    return [each for each in values(f"{column}: {cell}") if each.start > len(column)]


def _is_value(cell: str) -> bool:
    return any(each.start == 0 and each.end == len(cell.strip()) for each in values(cell))
