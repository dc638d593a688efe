"""A plot of accuracy against cost as SVG, with the Pareto front."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .html import escape

_TOP, _RIGHT, _BOTTOM, _LEFT = 16, 18, 44, 46  # margins
_GLYPH, _LINE = 8.4, 13  # width and height of a letter of a label
_MAX_NAME = 24  # letters of a label
_LOG_RATIO = 8  # the axis is logarithmic if the costs differ by a larger factor


@dataclass(frozen=True, slots=True)
class Point:
    """A strategy: its cost per question (None: unknown), its accuracy with the interval, and its wrong answers."""

    name: str
    cost: float | None
    share: float
    low: float | None = None
    high: float | None = None
    wrong: float | None = None


def front(points: Sequence[Point]) -> list[Point]:
    """Return the Pareto front by cost: the points with a known cost that no other such point dominates."""
    known = [(point.cost, point) for point in points if point.cost is not None]

    def dominated(cost: float, point: Point) -> bool:
        return any(
            other_cost <= cost and other.share >= point.share and (other_cost, other.share) != (cost, point.share)
            for other_cost, other in known
        )

    kept = [(cost, point.name, point) for cost, point in known if not dominated(cost, point)]
    return [point for *_, point in sorted(kept, key=lambda one: one[:2])]


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot: the names of the axes, the size in pixels, and the CSS class."""

    share: str
    cost: str
    width: int
    height: int
    kind: str = ""

    def draw(self, points: Sequence[Point], among: Sequence[Point] = ()) -> str:
        """Return an SVG element with the points, their intervals and their front. The axes have room for `among`, too.

        A point without a known cost is a dashed line. At least one cost must be known.
        """
        best = front(points)
        room = [*points, *among]
        x = _cost_axis([point.cost for point in room if point.cost is not None], _LEFT, self.width - _RIGHT)
        bounds = [value for p in room for value in (p.low, p.high, p.share, p.wrong) if value is not None]
        y = _share_axis(min(bounds), max(bounds), self.height - _BOTTOM, _TOP)
        description = "; ".join(map(_described, points))
        return "".join(
            [
                f'<svg class="{self.kind}" viewBox="0 0 {self.width} {self.height}" width="{self.width}" '
                f'height="{self.height}" role="img"><title>{escape(self.share)} against {escape(self.cost)}</title>'
                f"<desc>{escape(description)}</desc>",
                *self._frame(x, y),
                f'<path class="front" d="{_stairs(best, x, y)}"/>',
                *(_mark(point, x, y, "best" if point in best else "beaten") for point in points),
                *self._labels(points, x, y),
                "</svg>",
            ]
        )

    def _frame(self, x: _Axis, y: _Axis) -> Iterator[str]:
        right, bottom = self.width - _RIGHT, self.height - _BOTTOM
        for tick in y.ticks:
            at = f"{y(tick):.1f}"
            yield f'<path class="grid" d="M{_LEFT} {at}H{right}"/>'
            yield f'<text class="tick" x="{_LEFT - 6}" y="{at}" dy=".35em" text-anchor="end">{100 * tick:.0f} %</text>'
        for tick in x.ticks:
            at = f"{x(tick):.1f}"
            yield f'<path class="grid" d="M{at} {_TOP}V{bottom}"/>'
            yield f'<text class="tick" x="{at}" y="{bottom + 16}" text-anchor="middle">{_short(tick)}</text>'
        across = f"{self.cost}{' (logarithmic)' if x.logarithmic else ''}"
        middle = (_LEFT + right) / 2
        yield f'<text class="axis" x="{middle:.0f}" y="{self.height - 6}" text-anchor="middle">{escape(across)}</text>'
        yield f'<text class="axis" x="{_LEFT}" y="10">{escape(self.share)}</text>'

    def _labels(self, points: Sequence[Point], x: _Axis, y: _Axis) -> Iterator[str]:
        """Yield the names beside their points, above or below the line of the front, and none over another."""
        taken: list[tuple[float, float, float]] = []
        rows = [step * _LINE for n in range(1, len(points) + 1) for step in (-n, n)]
        for point in sorted(points, key=lambda point: x(point.cost)):
            name = point.name if len(point.name) <= _MAX_NAME else f"{point.name[: _MAX_NAME - 1]}…"
            at, long = x(point.cost), len(name) * _GLYPH
            left = at + 9 if at + 9 + long <= self.width else max(0.0, at - 9 - long)
            free = (
                up
                for up in (y(point.share) + row for row in rows)
                if up > _TOP
                and not any(abs(up - line) < _LINE and left < end and start < left + long for start, end, line in taken)
            )
            up = next(free, y(point.share) - _LINE)
            taken.append((left, left + long, up))
            yield f'<text class="name" x="{left:.1f}" y="{up:.1f}" dy=".35em">{escape(name)}</text>'


@dataclass(frozen=True, slots=True)
class _Axis:
    start: float
    end: float
    low: float
    high: float
    ticks: tuple[float, ...]
    logarithmic: bool = False

    def __call__(self, value: float | None) -> float:
        """Return the position of a value: the end if it is None. A logarithmic axis shows 0 at its start."""
        low, high = self.low, self.high
        if value is None:
            return self.end
        if self.logarithmic:
            value, low, high = math.log10(max(value, low)), math.log10(low), math.log10(high)
        return self.start + (value - low) / (high - low) * (self.end - self.start)


def _cost_axis(costs: Sequence[float], start: float, end: float) -> _Axis:
    above = [cost for cost in costs if cost > 1e-9]
    if not above or max(above) <= _LOG_RATIO * min(above):
        high = max(above, default=1.0) * 1.08
        return _Axis(start, end, 0, high, tuple(_steps(0, high)))
    zero = len(above) < len(costs)
    low, high = min(above) / (4 if zero else 1.5), max(above) * 1.5
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)))
    round_numbers = [times * 10.0**n for n in decades for times in ((1, 2, 5) if len(decades) < 4 else (1,))]
    least = min(above) / 2 if zero else low
    ticks = [0.0] * zero + [tick for tick in round_numbers if least <= tick <= high]
    return _Axis(start, end, low, high, tuple(ticks), logarithmic=True)


def _share_axis(low: float, high: float, start: float, end: float) -> _Axis:
    low, high = max(0.0, math.floor(low * 10) / 10), min(1.0, math.ceil(high * 10) / 10)
    if high - low < 0.1:
        low, high = max(0.0, low - 0.1), min(1.0, high + 0.1)
    return _Axis(start, end, low, high, tuple(_steps(low, high)))


def _steps(low: float, high: float) -> Iterator[float]:
    """Yield about five round numbers."""
    rough = (high - low) / 5
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * times for times in (1, 2, 5, 10) if unit * times >= rough * 0.999)
    for n in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1):
        yield n * step


def _described(point: Point) -> str:
    wrong = "" if point.wrong is None else f", {100 * point.wrong:.1f} % wrong"
    return f"{point.name}: {100 * point.share:.1f} %{wrong} at {_exact(point.cost)}"


def _exact(value: float | None) -> str:
    if value is None:
        return "unknown cost"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _short(value: float) -> str:
    for size, sign in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{sign}"
    return f"{value:g}"


def _stairs(best: Sequence[Point], x: _Axis, y: _Axis) -> str:
    path = f"M{x(best[0].cost):.1f} {y(best[0].share):.1f}"
    for point in best[1:]:
        path += f"H{x(point.cost):.1f}V{y(point.share):.1f}"
    return f"{path}H{x.end:.1f}"


def _mark(point: Point, x: _Axis, y: _Axis, kind: str) -> str:
    if point.cost is None:
        return f'<path class="unknown" d="M{x.start:.1f} {y(point.share):.1f}H{x.end:.1f}"/>'
    at = f"{x(point.cost):.1f}"
    interval = ""
    if point.low is not None and point.high is not None:
        interval = f'<path class="interval" d="M{at} {y(point.low):.1f}V{y(point.high):.1f}"/>'
    cross = ""
    if point.wrong is not None:
        left, up = x(point.cost) - 4, y(point.wrong) - 4
        cross = f'<path class="false" d="M{left:.1f} {up:.1f}l8 8m0 -8l-8 8"/>'
    return f'{interval}{cross}<circle class="{kind}" cx="{at}" cy="{y(point.share):.1f}" r="5"/>'
