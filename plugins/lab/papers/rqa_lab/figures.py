"""The figure of a report: as data for pgfplots, and as a PDF of one page that needs no other program.

With several conditions it has a line for each strategy over them, and otherwise a bar for each strategy. Both show the
main metric with its confidence intervals.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from robust_qa.kit import single_line
from rqa_eval.estimates import Estimate
from rqa_eval.report.overview import metrics_of, overalls
from rqa_eval.report.runs import Run

_WIDTH, _HEIGHT = 360, 240  # points
_LEFT, _RIGHT, _BOTTOM, _TOP = 48, 110, 40, 20
_COLOURS = ("0 0.45 0.70", "0.84 0.37 0", "0 0.62 0.45", "0.80 0.47 0.65", "0.34 0.71 0.91", "0.90 0.62 0", "0 0 0")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?$")


@dataclass(frozen=True, slots=True)
class Series:
    """The estimates of a strategy by condition, None where it has none."""

    name: str
    values: tuple[Estimate | None, ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """What a figure shows: the metric, the names of the conditions, and the series of all runs."""

    metric: str
    unit: str
    conditions: tuple[str, ...]
    series: tuple[Series, ...]

    @property
    def xs(self) -> list[float]:
        """The number at the end of each condition, such as 0.2 of "poison 0.2", or else its place."""
        ends = [_NUMBER.search(condition) for condition in self.conditions]
        return [float(end[0]) for end in ends if end] if all(ends) else [float(n) for n in range(len(ends))]


def figure_of(runs: Sequence[Run]) -> Figure:
    """Return the figure of the main metric of the first run, over all runs that have it."""
    main = runs[0].figures.metric
    conditions = list(dict.fromkeys(group.condition or "" for run in runs for group in overalls(run)))
    series = []
    for run in runs:
        found = {group.condition or "": group.strategies for group in overalls(run)}
        for name in run.answered:
            values = [found.get(each, {}).get(name, {}).get(main) for each in conditions]
            label = run.label(name) if len(runs) == 1 else f"{run.name}: {run.label(name)}"
            series.append(Series(single_line(label), tuple(values)))
    return Figure(main, metrics_of(runs)[main].unit, tuple(conditions), tuple(series))


def pgfplots(runs: Sequence[Run], size: float, *, every: bool) -> Iterator[str]:
    r"""Yield a table for `\addplot table`: a row for each condition, or for each strategy if there is only one."""
    found = figure_of(runs)
    yield f"% {found.metric}, with the bounds of its 95 % interval\n"
    if len(found.conditions) > 1:
        names = [column for one in found.series for column in _columns(_word(one.name))]
        yield " ".join(["x", "condition", *names]) + "\n"
        for n, condition in enumerate(found.conditions):
            cells = [text for one in found.series for text in _numbers(one.values[n])]
            yield " ".join([f"{found.xs[n]:g}", _word(condition), *cells]) + "\n"
        return
    yield " ".join(["strategy", *_columns(_word(found.metric))]) + "\n"
    for one in found.series:
        yield " ".join([_word(one.name), *_numbers(one.values[0])]) + "\n"


def _columns(name: str) -> tuple[str, str, str]:
    return name, f"{name}-low", f"{name}-high"


def _word(text: str) -> str:
    return re.sub(r"[\s\\{}#%&$^_,;~]+", "-", text) or "-"


def _numbers(estimate: Estimate | None) -> list[str]:
    values = (estimate.value, estimate.low, estimate.high) if estimate else (None, None, None)
    return ["nan" if value is None else f"{value:.6g}" for value in values]


def pdf(runs: Sequence[Run], size: float, *, every: bool) -> Iterator[str]:
    """Yield a PDF. It is plain ASCII, and other letters in names become question marks."""
    found = figure_of(runs)
    drawn = "\n".join(_lines(found) if len(found.conditions) > 1 else _bars(found))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {_WIDTH} {_HEIGHT}] /Contents 4 0 R "
        "/Resources << /Font << /F 5 0 R >> >> >>",
        f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    text, places = "%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        places.append(len(text))
        text += f"{number} 0 obj\n{content}\nendobj\n"
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    count = len(objects) + 1
    yield f"{text}xref\n0 {count}\n0000000000 65535 f \n{table}"
    yield f"trailer\n<< /Size {count} /Root 1 0 R >>\nstartxref\n{len(text)}\n%%EOF\n"


def _top(found: Figure) -> float:
    """Return the end of the axis: 1 for shares, and otherwise the highest bound."""
    highest = max((each.high or each.value or 0 for one in found.series for each in one.values if each), default=1.0)
    return 1.0 if found.unit == "share" else (highest or 1.0)


def _y(value: float, top: float) -> float:
    return _BOTTOM + value / top * (_HEIGHT - _BOTTOM - _TOP)


def _axes(found: Figure) -> Iterator[str]:
    top, right = _top(found), _WIDTH - _RIGHT
    yield f"0.5 w 0 G 0 g {_LEFT} {_BOTTOM} m {right} {_BOTTOM} l S {_LEFT} {_BOTTOM} m {_LEFT} {_HEIGHT - _TOP} l S"
    for n in range(6):
        value = top * n / 5
        shown = f"{100 * value:.0f}" if found.unit == "share" else f"{value:.3g}"
        yield f"{_LEFT - 3} {_y(value, top):.1f} m {_LEFT} {_y(value, top):.1f} l S"
        yield _label(_LEFT - 6 - 4.5 * len(shown), _y(value, top) - 3, shown)
    yield _label(_LEFT, _HEIGHT - _TOP + 6, found.metric + (" (%)" if found.unit == "share" else ""))


def _label(x: float, y: float, text: str, colour: str = "0 0 0") -> str:
    plain = re.sub(r"([()\\])", r"\\\1", text.encode("ascii", "replace").decode())
    return f"{colour} rg BT /F 8 Tf {x:.1f} {y:.1f} Td ({plain}) Tj ET"


def _interval(x: float, estimate: Estimate, top: float) -> Iterator[str]:
    if estimate.low is not None and estimate.high is not None:
        low, high = _y(estimate.low, top), _y(min(estimate.high, top), top)
        yield f"{x:.1f} {low:.1f} m {x:.1f} {high:.1f} l S"


def _lines(found: Figure) -> Iterator[str]:
    yield from _axes(found)
    xs, top = found.xs, _top(found)
    first, width = min(xs), (max(xs) - min(xs)) or 1.0
    at = [_LEFT + 10 + (x - first) / width * (_WIDTH - _RIGHT - _LEFT - 20) for x in xs]
    for place, condition in zip(at, found.conditions, strict=True):
        end = _NUMBER.search(condition)
        yield _label(place - 6, _BOTTOM - 12, end[0] if end else condition[:10])
    for number, one in enumerate(found.series):
        colour = _COLOURS[number % len(_COLOURS)]
        points = [(x, each) for x, each in zip(at, one.values, strict=True) if each and each.value is not None]
        path = [f"{x:.1f} {_y(each.value or 0.0, top):.1f} {'l' if n else 'm'}" for n, (x, each) in enumerate(points)]
        yield f"{colour} RG 1.2 w {' '.join(path)} S 0.5 w" if path else ""
        for x, each in points:
            yield from _interval(x, each, top)
        yield _label(_WIDTH - _RIGHT + 8, _HEIGHT - _TOP - 12 * number - 8, one.name[:24], colour)


def _bars(found: Figure) -> Iterator[str]:
    yield from _axes(found)
    top, step = _top(found), (_WIDTH - _RIGHT - _LEFT) / max(len(found.series), 1)
    for number, one in enumerate(found.series):
        colour, x = _COLOURS[number % len(_COLOURS)], _LEFT + step * number
        yield _label(_WIDTH - _RIGHT + 8, _HEIGHT - _TOP - 12 * number - 8, one.name[:24], colour)
        estimate = one.values[0]
        if estimate is None or estimate.value is None:
            continue
        height = _y(estimate.value, top) - _BOTTOM
        yield f"{colour} rg {x + step * 0.15:.1f} {_BOTTOM} {step * 0.7:.1f} {height:.1f} re f 0 G"
        yield from _interval(x + step / 2, estimate, top)
