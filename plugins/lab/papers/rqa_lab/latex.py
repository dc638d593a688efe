"""The tables of a report for LaTeX."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from robust_qa.kit import single_line
from rqa_eval.report.overview import tables
from rqa_eval.report.runs import Run
from rqa_eval.report.tables import ABOVE, BELOW, Cell, Table

from .cards import card_tables
from .certified import certified_tables


def report(runs: Sequence[Run], size: float, *, every: bool) -> Iterator[str]:
    """Yield the report, with `every` metric or those that most people read."""
    yield latex([*tables(runs, every=every, more="-v shows them"), *card_tables(runs), *certified_tables(runs)])


def latex(tables: Iterable[Table]) -> str:
    """Return the tables for LaTeX with the packages booktabs and fontenc (T1), with all names escaped."""
    parts = ["% In the preamble: \\usepackage[T1]{fontenc} \\usepackage{booktabs}\n"]
    for table in tables:
        heads = [*table.heads, *(column.name for column in table.columns)]
        rows = [[*map(_tex, keys), *map(_tex_figure, cells)] for keys, cells in table.rows]
        lines = [" & ".join(row) + r" \\" for row in (list(map(_tex, heads)), *rows)]
        spec = "l" * len(table.heads) + "r" * len(table.columns)
        notes = [rf"{_tex(note)}\\" for note in table.notes]
        parts.append(
            "\n".join(
                (
                    r"\begin{table}",
                    r"\centering\small",
                    rf"\caption{{{_tex(table.title)}}}",
                    rf"\begin{{tabular}}{{{spec}}}",
                    r"\toprule",
                    lines[0],
                    r"\midrule",
                    *lines[1:],
                    r"\bottomrule",
                    r"\end{tabular}",
                    *((r"\par\smallskip\footnotesize", *notes) if notes else ()),
                    r"\end{table}",
                )
            )
        )
    return "\n\n".join(parts) + "\n"


_TEX = str.maketrans(
    {character: "\\" + character for character in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "–": "--", "—": "---"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", ABOVE: r"$\uparrow$", BELOW: r"$\downarrow$"}
)


def _tex(text: str) -> str:
    return single_line(text).translate(_TEX)


def _tex_figure(cell: Cell) -> str:
    value = rf"\textbf{{{_tex(cell.text)}}}" if cell.best else _tex(cell.text)
    interval = rf" {{\scriptsize ({_tex(cell.interval)})}}" if cell.interval else ""
    return value + _tex(cell.mark) + interval
