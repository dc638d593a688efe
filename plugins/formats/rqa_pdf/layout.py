"""Put the words of a page into lines, columns and tables, in the order of reading."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from statistics import median, median_low

from .words import Box, Word

_GAP = 0.8  # of the height of a line: a wider gap parts two columns
_GUTTER = 0.35  # of the height of a line: the least gap between columns that many rows share
_ROWS = 3  # that show columns
_FILLED = 0.6  # of the rows of a table have two cells or more
_WRAPPED = 0.45  # of those of a table with many columns, in which texts are wrapped
_CLOSE = 4.0  # points between lines that meet
_LAID_OUT = 25  # words of a cell; a table of longer ones only lays out the page
_MARK = re.compile(
    r"\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,4})[.)]|[-–—•‣◦▪●○■□✓*·\uf000-\uf0ff]|\d{1,2}(?:\.\d{1,2})*"
)  # of a list
_LEADERS = re.compile(r"\.{4}|(?:\. ){4}|…{2}")  # of a table of contents


@dataclass(eq=False)
class Line:
    """A line of text, with the words that are together in it. They stay, once one of its measures was taken."""

    words: list[Word]

    @cached_property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)

    @cached_property
    def left(self) -> float:
        return min(word.left for word in self.words)

    @cached_property
    def right(self) -> float:
        return max(word.right for word in self.words)

    @cached_property
    def top(self) -> float:
        return min(word.top for word in self.words)

    @cached_property
    def bottom(self) -> float:
        return max(word.bottom for word in self.words)

    @cached_property
    def middle(self) -> float:
        return self.words[0].middle

    @cached_property
    def height(self) -> float:
        return max(word.height for word in self.words)


@dataclass(slots=True)
class Table:
    """The rows of a table, and where its columns begin."""

    rows: list[list[str]]
    columns: list[float] = field(default_factory=list)
    top: float = 0.0
    bottom: float = 0.0


Part = Line | Table


def lines_of(words: Iterable[Word]) -> list[Line]:
    """Return the lines of words in the order of the file. A wide gap ends one, as between columns."""
    found: list[Line] = []
    for word in words:
        last = found[-1].words[-1] if found else None
        height = max(word.height, last.height) if last else 0.0
        if last and abs(word.middle - last.middle) < height / 2 and -height < word.left - last.right < _GAP * height:
            found[-1].words.append(word)
        else:
            found.append(Line([word]))
    return found


def rows_of(lines: Iterable[Line]) -> list[list[Line]]:
    """Return the lines that stand at the same height, from the top, each row from the left."""
    rows: list[list[Line]] = []
    for line in sorted(lines, key=lambda each: each.middle):
        if rows and line.middle - rows[-1][0].middle < min(line.height, rows[-1][0].height) / 2:
            rows[-1].append(line)
        else:
            rows.append([line])
    return [sorted(row, key=lambda each: each.left) for row in rows]


def parts_of(lines: Sequence[Line], across: Sequence[Box], down: Sequence[Box]) -> list[Part]:
    """Return the lines and tables of a page in the order of reading."""
    left = list(lines)
    tables: list[Table] = []
    for box, xs, ys in _grids(across, down):
        inside = [line for line in left if _is_inside(line, box)]
        words = [word for line in inside for word in line.words]
        if table := _ruled(words, xs, ys, across, down):
            tables.append(table)
            left = [line for line in left if line not in inside]
    for table in tables:  # stands as a line of its own height, over its whole width
        mark = Word("", table.columns[0], table.top, table.columns[-1], table.bottom, -1 - tables.index(table))
        left.append(Line([mark]))
    return [
        tables[-1 - part.words[0].order] if isinstance(part, Line) and _stands_in(part) else part
        for part in _read(left)
    ]


def _stands_in(line: Line) -> bool:
    """Return whether a line stands for a table."""
    return line.words[0].order < 0


def _is_inside(line: Line, box: Box) -> bool:
    return box[0] - 2 <= (line.left + line.right) / 2 <= box[2] + 2 and box[1] - 2 <= line.middle <= box[3] + 2


# -- tables with ruled lines


def _grids(across: Sequence[Box], down: Sequence[Box]) -> Iterator[tuple[Box, list[float], list[float]]]:
    """Yield each group of lines that meet, as its box and the places of its columns and rows."""
    groups: list[tuple[list[Box], list[Box]]] = []
    for is_down, rules in ((False, across), (True, down)):
        for rule in rules:
            met = [
                group for group in groups if any(_meet(rule, other) for other in (group[0] if is_down else group[1]))
            ]
            joined: tuple[list[Box], list[Box]] = ([], [])
            for group in met:
                joined[0].extend(group[0])
                joined[1].extend(group[1])
                groups.remove(group)
            joined[is_down].append(rule)
            groups.append(joined)
    for flat, upright in groups:
        xs, ys = _merged(rule[0] for rule in upright), _merged(rule[1] for rule in flat)
        if len(xs) > 2 and len(ys) > 1:
            yield (xs[0], ys[0], xs[-1], ys[-1]), xs, ys


def _meet(one: Box, other: Box) -> bool:
    return (
        one[0] - _CLOSE <= other[2]
        and other[0] - _CLOSE <= one[2]
        and one[1] - _CLOSE <= other[3]
        and other[1] - _CLOSE <= one[3]
    )


def _merged(places: Iterable[float]) -> list[float]:
    found: list[float] = []
    for place in sorted(places):
        if not found or place - found[-1] > _CLOSE:
            found.append(place)
    return found


def _ruled(
    words: Sequence[Word], xs: list[float], ys: list[float], across: Sequence[Box], down: Sequence[Box]
) -> Table | None:
    """Return the table in a grid. A cell that is merged has its text in each of its rows."""
    columns = len(xs) - 1
    cells: list[list[list[Word]]] = [[[] for _ in range(columns)] for _ in ys[1:]]
    for word in words:
        row = sum(y < word.middle for y in ys[1:-1])
        column = sum(x < (word.left + word.right) / 2 for x in xs[1:-1])
        cells[row][column].append(word)
    rows: list[list[str]] = []
    for number, (top, bottom) in enumerate(pairwise(ys)):
        middle = (top + bottom) / 2
        for column in range(columns - 1, 0, -1):  # a cell without a line before it belongs to the one before
            if not any(abs(rule[0] - xs[column]) <= _CLOSE and rule[1] <= middle <= rule[3] for rule in down):
                cells[number][column - 1] += cells[number][column]
                cells[number][column] = []
        rows += _stacked(cells[number]) or [[_text_of(cell) for cell in cells[number]]]
    for number in range(1, len(rows)) if len(rows) == len(ys) - 1 else ():
        for column in range(columns):
            middle, y = (xs[column] + xs[column + 1]) / 2, ys[number]
            is_open = not any(abs(rule[1] - y) <= _CLOSE and rule[0] <= middle <= rule[2] for rule in across)
            if is_open and not rows[number][column]:
                rows[number][column] = rows[number - 1][column]
    rows = [row for row in rows if any(row)]
    used = [n for n in range(columns) if any(row[n] for row in rows)]
    filled = sum(bool(cell) for row in rows for cell in row)
    if len(used) < 2 or len(rows) < 2 or len(words) > _LAID_OUT * filled:
        return None
    return Table([[row[n] for n in used] for row in rows], [*(xs[n] for n in used), xs[-1]], ys[0], ys[-1])


def _text_of(words: Sequence[Word]) -> str:
    return " ".join(line.text for row in rows_of(lines_of(words)) for line in row)


def _stacked(cells: Sequence[Sequence[Word]]) -> list[list[str]]:
    """Return the rows of cells that no line parts, none if the cells only have text of several lines."""
    column_of = {word.order: n for n, cell in enumerate(cells) for word in cell}
    visual = rows_of(lines_of(sorted((word for cell in cells for word in cell), key=lambda word: word.order)))
    rows: list[list[list[Word]]] = []
    for row in visual:
        rows.append([[] for _ in cells])
        for word in (word for line in row for word in line.words):
            rows[-1][column_of[word.order]].append(word)
    used = sum(map(bool, cells))
    is_full = used >= _ROWS and len(rows) > 1 and all(sum(map(bool, row)) == used for row in rows)
    is_stacked = is_full or (len(rows) > _ROWS and _is_tabular(rows))
    return [[_text_of(cell) for cell in row] for row in rows] if is_stacked else []


def _is_tabular(rows: Sequence[Sequence[Sequence[Word]]]) -> bool:
    """Return whether most rows have two short cells or more, and very short ones if the file has them by columns."""
    filled = [[cell for cell in row if cell] for row in rows]
    is_wide = len(rows[0]) > _ROWS
    if sum(len(row) > 1 for row in filled) < (_WRAPPED if is_wide else _FILLED) * len(rows):
        return False
    pairs = [other[0].order - one[-1].order in (1, 2) for row in filled for one, other in pairwise(row)]
    usual = median_low(len(cell) for row in filled for cell in row)
    if sum(pairs) > len(pairs) / 2:
        return usual <= (4 if len(rows[0]) == 2 else 6)
    return len(rows[0]) > 2 and usual <= (6 if is_wide else 3)


# -- columns and tables without lines


def _read(lines: Sequence[Line]) -> list[Part]:
    """Return lines in the order of reading, and the tables among them."""
    rows = rows_of(lines)
    found: list[Part] = []
    at = 0
    while at < len(rows):
        end, gutters = _run(rows, at)
        run = rows[at:end]
        if not gutters:
            found += [line for row in run for line in _joined(row)]
        elif _is_list(run, gutters):
            found += [_line(row) for row in run]
        elif _is_tabular([_cells(row, gutters) for row in run]):
            found.append(_table(run, gutters))
        else:
            for column in _columns(run, gutters):
                found += _read(column)
        at = end
    return found


def _run(rows: Sequence[Sequence[Line]], at: int) -> tuple[int, list[tuple[float, float]]]:
    """Return the end of the rows from `at` on that share gutters, and these. Without gutters, it is one row."""
    gutters: list[tuple[float, float]] | None = None
    height = median(line.height for row in rows for line in row)
    bounds = min(line.left for row in rows for line in row), max(line.right for row in rows for line in row)
    end = at
    for end in range(at, len(rows)):
        row = rows[end]
        free = _free(row, bounds, height * _GUTTER)
        shared = free if gutters is None else _common(gutters, free, height * _GUTTER)
        inner = _wide(shared, rows[at : end + 1], height * _GAP)
        before = _wide(gutters or (), rows[at:end], height * _GAP)
        if len(inner) < len(before) or not shared or (end - at >= _ROWS and not inner):
            break
        if end - at in (1, 2) and len(row) - 1 > len(inner):  # the rows before are no rows of this table
            break
        gutters = shared
    else:
        end = len(rows)
    end = max(end, at + 1)
    wide = _wide(gutters or (), rows[at:end], 0 if end - at > 2 * _ROWS else height * _GAP)
    if end - at < _ROWS or not wide:
        return at + 1, []
    return end, wide


def _free(row: Sequence[Line], bounds: tuple[float, float], least: float) -> list[tuple[float, float]]:
    """Return the spaces of a row, also between words."""
    edges = sorted((word.left, word.right) for line in row for word in line.words)
    found, at = [], bounds[0] - 1
    for left, right in edges:
        if left - at >= least:
            found.append((at, left))
        at = max(at, right)
    return [*found, (at, bounds[1] + 1)]


def _common(
    one: Sequence[tuple[float, float]], other: Sequence[tuple[float, float]], least: float
) -> list[tuple[float, float]]:
    both = ((max(a[0], b[0]), min(a[1], b[1])) for a in one for b in other)
    return [(left, right) for left, right in both if right - left >= least]


def _wide(
    gutters: Sequence[tuple[float, float]], rows: Sequence[Sequence[Line]], least: float
) -> list[tuple[float, float]]:
    return [gutter for gutter in gutters if gutter[1] - gutter[0] >= least and _parts(rows, gutter)]


def _parts(rows: Sequence[Sequence[Line]], gutter: tuple[float, float]) -> bool:
    """Return whether several rows have text on each side of a gutter."""
    lefts = sum(any(line.words[0].left < gutter[0] for line in row) for row in rows)
    rights = sum(any(line.words[-1].right > gutter[1] for line in row) for row in rows)
    return min(lefts, rights) >= min((len(rows) + 1) // 2, _ROWS)


def _cells(row: Sequence[Line], gutters: Sequence[tuple[float, float]]) -> list[list[Word]]:
    cells: list[list[Word]] = [[] for _ in range(len(gutters) + 1)]
    for line in row:
        for word in line.words:
            cells[sum(gutter[1] <= word.left + 1 for gutter in gutters)].append(word)
    return cells


def _columns(rows: Sequence[Sequence[Line]], gutters: Sequence[tuple[float, float]]) -> list[list[Line]]:
    columns: list[list[Line]] = [[] for _ in range(len(gutters) + 1)]
    for row in rows:
        for column, words in zip(columns, _cells(row, gutters), strict=True):
            if words:
                column.extend(lines_of(sorted(words, key=lambda word: word.order)))
    return columns


def _is_list(rows: Sequence[Sequence[Line]], gutters: Sequence[tuple[float, float]]) -> bool:
    """Return whether rows are of a table of contents, or the first column has only marks of items."""
    if sum(_LEADERS.search(" ".join(line.text for line in row)) is not None for row in rows) > len(rows) / 2:
        return True
    firsts = [" ".join(word.text for word in cells[0]) for row in rows if (cells := _cells(row, gutters))[0]]
    return len(gutters) == 1 and all(_MARK.fullmatch(first) for first in firsts)


def _table(rows: Sequence[Sequence[Line]], gutters: Sequence[tuple[float, float]]) -> Table:
    """Return the table of rows. A row without a first cell goes on with the one above."""
    found: list[list[str]] = []
    last = rows[0][0].middle
    for row in rows:
        cells = [" ".join(word.text for word in cell) for cell in _cells(row, gutters)]
        is_close = row[0].middle - last < 1.3 * row[0].height
        last = row[0].middle
        if found and not cells[0] and is_close:
            found[-1] = [f"{above} {cell}".strip() for above, cell in zip(found[-1], cells, strict=True)]
        else:
            found.append(cells)
    starts = [min(line.left for row in rows for line in row), *(right for _, right in gutters)]
    return Table(found, starts, rows[0][0].top, rows[-1][0].bottom)


def _line(row: Sequence[Line]) -> Line:
    return Line([word for line in row for word in line.words])


def _joined(row: Sequence[Line]) -> list[Line]:
    """Return the lines of one row: as one, unless it has a table."""
    if len(row) == 1 or any(map(_stands_in, row)):
        return list(row)
    return [_line(row)]
