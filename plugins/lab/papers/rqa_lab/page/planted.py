"""Pictures of right and wrong answers over the share of planted passages, as SVG with a line for each strategy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from rqa_eval.attacks import POISON
from rqa_eval.conditions import AS_GIVEN
from rqa_eval.extras import ATTACKS
from rqa_eval.report.overview import overalls
from rqa_eval.report.runs import Run

from .html import escape

Lines: TypeAlias = Mapping[str, Sequence[tuple[float, float]]]  # by strategy: the share planted, the share of questions

_WIDTH, _HEIGHT = 420, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 40, 110, 22, 40  # margins
_COLOURS = 6  # of lines, in page.css
_LINE = 14  # height of a label
_MAX_NAME = 15  # letters of a label
_PICTURES = (("accuracy", "right"), ("wrong", "wrong"))


def pictures(run: Run) -> Iterator[str]:
    """Yield for each attack a figure with a picture of the right and one of the wrong answers."""
    for attack in (POISON, *ATTACKS):
        drawn = [draw(title, lines) for metric, title in _PICTURES if (lines := _lines(run, attack, metric))]
        if drawn:
            caption = f'<figcaption class="faint">{attack}</figcaption>'
            yield f'<figure class="planted-lines">{caption}{"".join(drawn)}</figure>'


def _lines(run: Run, attack: str, metric: str) -> dict[str, list[tuple[float, float]]]:
    """Return the lines of a metric. Empty unless there are two shares of planted passages."""
    found: dict[str, list[tuple[float, float]]] = {}
    for group in overalls(run):
        name, _, share = (group.condition or "").rpartition(" ")
        if group.condition != AS_GIVEN and name != attack:
            continue
        planted = 0.0 if group.condition == AS_GIVEN else float(share)
        for strategy, figures in group.strategies.items():
            measured = figures.get(metric)
            if strategy not in run.incomplete and measured is not None and measured.value is not None:
                found.setdefault(strategy, []).append((planted, measured.value))
    return {name: sorted(points) for name, points in found.items() if len({share for share, _ in points}) > 1}


def draw(title: str, lines: Lines) -> str:
    """Return an SVG element with a line for each strategy, named at its end."""
    last = max(share for points in lines.values() for share, _ in points)
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM

    def x(share: float) -> float:
        return _LEFT + share / last * (right - _LEFT)

    def y(share: float) -> float:
        return bottom - share * (bottom - _TOP)

    parts = [f'<text class="axis" x="{_LEFT}" y="12">{title}</text>']
    for tick in (0, 0.25, 0.5, 0.75, 1):
        parts.append(f'<path class="grid" d="M{_LEFT} {y(tick):.1f}H{right}"/>')
        parts.append(
            f'<text class="tick" x="{_LEFT - 6}" y="{y(tick):.1f}" dy=".35em" text-anchor="end">{tick:.0%}</text>'
        )
    parts += [
        f'<text class="tick" x="{x(share):.1f}" y="{bottom + 16}" text-anchor="middle">{share:.0%}</text>'
        for share in sorted({share for points in lines.values() for share, _ in points})
    ]
    middle = (_LEFT + right) / 2
    parts.append(f'<text class="axis" x="{middle}" y="{_HEIGHT - 6}" text-anchor="middle">passages planted</text>')
    colours = {name: n % _COLOURS for n, name in enumerate(lines)}
    for name, points in lines.items():
        path = "L".join(f"{x(share):.1f} {y(value):.1f}" for share, value in points)
        dots = "".join(f'<circle cx="{x(share):.1f}" cy="{y(value):.1f}" r="3"/>' for share, value in points)
        parts.append(f'<g class="line{colours[name]}"><path d="M{path}"/>{dots}</g>')
    for name, at in _label_heights({name: y(points[-1][1]) for name, points in lines.items()}, bottom):
        text = name if len(name) <= _MAX_NAME else f"{name[: _MAX_NAME - 1]}…"
        parts.append(
            f'<text class="name line{colours[name]}" x="{right + 8}" y="{at:.1f}" dy=".35em">{escape(text)}</text>'
        )
    described = "; ".join(
        f"{name}: " + ", ".join(f"{value:.1%} at {share:.0%}" for share, value in points)
        for name, points in lines.items()
    )
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}" role="img">'
        f"<title>{title} over the share of planted passages</title><desc>{escape(described)}</desc>"
        f"{''.join(parts)}</svg>"
    )


def _label_heights(ends: Mapping[str, float], bottom: float) -> Iterator[tuple[str, float]]:
    """Yield the labels from the lowest up, each at the end of its line or just above the one below it."""
    least = bottom
    for name, end in sorted(ends.items(), key=lambda one: -one[1]):
        at = min(end, least)
        least = at - _LINE
        yield name, at
