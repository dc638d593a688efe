"""The terminal tables of `rqa eval`: strategies in rows; metrics, sets, conditions or slices in columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from robust_qa.kit import printable, single_line

from .metrics import names_of
from .views import CONFLICTING, RATE

Group: TypeAlias = Mapping[str, Any]
Column: TypeAlias = tuple[str, Callable[[str], str]]  # a heading, and the cell of a strategy

_GAP = "  "
_LONGEST_NAME = 40
_IF_ASKED, _UNLESS_ZERO = map(names_of, ("if asked", "unless zero"))
# Shown for each condition besides the main metric.
_BY_CONDITION = (
    "accuracy",
    "wrong",
    "unanswered",
    "attack-success",
    "strict",
    "risk-25",
    "risk-50",
    "risk-75",
    "risk-100",
)


@dataclass(frozen=True, slots=True)
class Table:
    """A title, the strategies and the columns, below `head` for the names of the rows.

    `coverage`: by strategy, how many questions it answered, unless all.
    """

    title: str
    strategies: Sequence[str]
    columns: Sequence[Column]
    coverage: Mapping[str, str] = field(default_factory=dict)
    head: str = "strategy"

    def lines(self, width: int) -> Iterator[str]:
        """Yield the lines of the table. A table wider than `width` is split into blocks."""
        from rich.cells import cell_len

        yield self.title
        names = [f"{printable(name)[:_LONGEST_NAME]}{self.coverage.get(name, '')}" for name in self.strategies]
        first = max(map(cell_len, [self.head, *names]))
        rest = [[heading, *(cell(name) for name in self.strategies)] for heading, cell in self.columns]
        widths = [max(map(cell_len, column)) for column in rest]
        for start, end in _blocks(widths, width - first - len(_GAP)):
            for n, name in enumerate([self.head, *names]):
                cells = [" " * (widths[c] - cell_len(rest[c][n])) + rest[c][n] for c in range(start, end)]
                yield _GAP.join([name + " " * (first - cell_len(name)), *cells]).rstrip()
            if end < len(rest):
                yield ""


def _blocks(widths: Sequence[int], room: int) -> Iterator[tuple[int, int]]:
    start, used = 0, 0
    for place, width in enumerate(widths):
        if place > start and used + width + len(_GAP) > room:
            yield start, place
            start, used = place, 0
        used += width + len(_GAP)
    yield start, len(widths)


def tables(metrics: Mapping[str, Any], *, chosen: Sequence[str] = ()) -> list[Table]:
    """Return the tables of metrics.json: all or the `chosen` metrics; then the main one by set, condition and view."""
    groups: list[Group] = metrics["groups"]
    whole = [group for group in groups if group["view"] is None]
    strategies = [one["name"] for one in metrics["strategies"] if one["name"] in whole[0]["strategies"]]
    units = {metric["name"]: metric["unit"] for metric in metrics["metrics"]}
    main = metrics["metric"]
    coverage = {one["name"]: f" ({one['rows']:,} of {one['questions']:,})" for one in _incomplete(metrics)}

    def row(name: str, title: str, heading: str, of: Sequence[Group]) -> Table:
        columns = [(_heading(group, heading), _cell(group, name, units[name])) for group in of]
        return Table(f"{name} by {title}", strategies, columns, coverage)

    found = []
    sets = list(dict.fromkeys(group["set"] for group in whole))
    for name in sets:
        of = [group for group in whole if group["set"] == name]
        if metrics["spread"]:
            found += [_spread(metrics, of)] if name == sets[0] else []
        elif len(of) > 1:
            found.append(_by_condition(of, strategies, units, _condition_metrics(of, main, chosen), coverage))
        elif name == sets[0]:
            found.append(Table(_title(of[0]), strategies, _metric_columns(of[0], units, main, chosen), coverage))
    if len(sets) == len(whole) > 1:
        found += [row(name, "set", "set", whole) for name in _outcomes(whole, main)]
    for group in whole:
        for view in dict.fromkeys(one["view"] for one in groups if one["view"]):
            place = {"set": group["set"], "condition": group["condition"], "view": view}
            slices = [one for one in groups if place.items() <= one.items()]
            if view == RATE:
                found.append(_conflict_rate(slices, _title(group)))
            else:
                title = f"{view}: {_title(group)}"
                found += [row(name, title, "slice", slices) for name in _outcomes(slices, main)]
    return found


def _spread(metrics: Mapping[str, Any], repetitions: Sequence[Group]) -> Table:
    """Return the table of a metric over the repetitions of the questions."""
    main, spread = metrics["metric"], metrics["spread"]
    unit = next(one["unit"] for one in metrics["metrics"] if one["name"] == main)

    def mean(name: str) -> str:
        values = [group["strategies"][name][main]["value"] for group in repetitions]
        return _number(sum(values) / len(values), unit)

    def part(key: str) -> Callable[[str], str]:
        return lambda name: _number(spread[name][key], unit)

    headings = {"deviation": "deviation", "lower quartile": "low", "median": "median", "upper quartile": "high"}
    columns: list[Column] = [("mean", mean), *((heading, part(key)) for heading, key in headings.items())]
    return Table(f"{main} over {len(repetitions):,} repetitions: {_title(repetitions[0], '')}", list(spread), columns)


def _conflict_rate(slices: Sequence[Group], title: str) -> Table:
    """Return the share of questions on which memory and passages conflict, by retrieval precision."""
    rows = {one["slice"]: one["rows"] for one in slices}

    def share(bucket: str) -> Callable[[str], str]:
        found = rows[f"{bucket} {CONFLICTING}"] / rows[bucket] if rows[bucket] else None
        return lambda _: "-" if found is None else _number(found, "share")

    buckets = [name for name in rows if not name.endswith(CONFLICTING)]
    columns = [(f"{bucket} ({rows[bucket]:,})", share(bucket)) for bucket in buckets]
    return Table(f"conflict rate by retrieval precision: {title}", [f"{CONFLICTING} %"], columns, head="questions")


def _title(group: Group, condition: str | None = None) -> str:
    name = "all sets" if group["set"] is None else printable(group["set"])
    condition = group["condition"] if condition is None else condition
    suffix = "" if condition in ("", "as given") else f", {condition}"
    return f"{name}{suffix}: {group['rows']:,} {'question' if group['rows'] == 1 else 'questions'}"


def _heading(group: Group, what: str) -> str:
    text = "all" if group[what] is None else printable(group[what])
    return f"{text} ({group['rows']:,})" if what == "slice" else text


def _metric_columns(group: Group, units: Mapping[str, str], main: str, chosen: Sequence[str]) -> list[Column]:
    names = _shown_metrics(group, units, main, chosen)
    return [(_with_unit(name, units[name]), _cell(group, name, units[name], interval=name == main)) for name in names]


def _shown_metrics(group: Group, units: Mapping[str, str], main: str, chosen: Sequence[str]) -> list[str]:
    """Return the metrics that have a column."""
    found = []
    for name in units:
        values = _values(group, name)
        zero = (name in _UNLESS_ZERO or units[name] != "share") and not any(values)
        shown = name in chosen if chosen else name not in _IF_ASKED and not zero
        if name == main or (shown and _any(group, name)):
            found.append(name)
    return found


def _outcomes(groups: Sequence[Group], main: str) -> list[str]:
    """Return the main metric, and beside the accuracy what the other questions are: wrong or unanswered."""
    others = ("wrong", "unanswered") if main == "accuracy" else ()
    return [main, *(name for name in others if any(_any(group, name) for group in groups))]


def _condition_metrics(groups: Sequence[Group], main: str, chosen: Sequence[str]) -> list[str]:
    """Return the metrics that have a column in the table of conditions."""
    names = dict.fromkeys((main, *(chosen or _BY_CONDITION), "attack-success"))
    return [name for name in names if any(_any(group, name) for group in groups)]


def _by_condition(
    groups: Sequence[Group],
    strategies: Sequence[str],
    units: Mapping[str, str],
    names: Sequence[str],
    coverage: Mapping[str, str],
) -> Table:
    """Return the table of the metrics of each strategy under each condition."""
    width = max(map(len, strategies))
    rows = {f"{name:{width}}  {one['condition']}": (name, one) for name in strategies for one in groups}
    part = {label: coverage[name] for label, (name, _) in rows.items() if name in coverage}

    def column(metric: str) -> Column:
        return _with_unit(metric, units[metric]), lambda label: _cell(rows[label][1], metric, units[metric])(
            rows[label][0]
        )

    head = f"{'strategy':{width}}  condition"
    return Table(_title(groups[0], ""), list(rows), [column(name) for name in names], part, head)


def _any(group: Group, metric: str) -> bool:
    return any(value is not None for value in _values(group, metric))


def _values(group: Group, metric: str) -> list[float | None]:
    return [measured[metric]["value"] for measured in group["strategies"].values() if metric in measured]


def _with_unit(name: str, unit: str) -> str:
    return f"{name} %" if unit == "share" else name


def _cell(group: Group, metric: str, unit: str, *, interval: bool = False) -> Callable[[str], str]:
    def cell(strategy: str) -> str:
        found = group["strategies"][strategy][metric]
        if found["value"] is None:
            return "-"
        mark = "*" if found.get("difference", {}).get("significant") else ""
        span = ""
        if interval and found["low"] is not None:
            span = f" [{_number(found['low'], unit)}, {_number(found['high'], unit)}]"
        return f"{_number(found['value'], unit)}{span}{mark}"

    return cell


def _number(value: float, unit: str) -> str:
    match unit:
        case "share":
            return f"{100 * value:.1f}"
        case "seconds":
            return f"{value:.2f}"
        case "money":
            return f"{value:.3g}"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def legend(metrics: Mapping[str, Any], *, chosen: Sequence[str] = ()) -> list[str]:
    """Return the notes below the tables: intervals, marks, and strategies with missing or failed answers."""
    group, main = metrics["groups"][0], metrics["metric"]
    conditions = [one for one in metrics["groups"] if (one["set"], one["view"]) == (group["set"], None)]
    names, lines = _condition_metrics(conditions, main, chosen), ["Means over the questions."]
    if len(conditions) == 1:
        names = _shown_metrics(group, {metric["name"]: metric["unit"] for metric in metrics["metrics"]}, main, chosen)
        if any(measured[main]["low"] is not None for measured in group["strategies"].values()):
            lines = ["Means over the questions, with 95 % intervals in brackets."]
        lines += _passage_quality(metrics)
    if metrics["over"] == "reply":
        lines.append("The whole last reply of the model counts as the answer.")
    if metrics["spread"]:
        lines.append(
            "Deviation: standard deviation of the means of the repetitions. Quartiles and median: over the questions, "
            "of the mean of each."
        )
    lines += _missing_values(conditions, names, compared=metrics["baseline"] is not None)
    if metrics["baseline"]:
        lines.append(f"* differs significantly from {printable(metrics['baseline'])} (p < 0.05, one comparison).")
    for one in _incomplete(metrics):
        part = f"answered {one['rows']:,} of {one['questions']:,} questions"
        lines.append(f"{printable(one['name'])} {part}. It is not compared with the other strategies.")
    for view, needs in metrics["views"].items():
        if needs:
            lines.append(
                f"The answers of {' and '.join(needs)} define the slices of {view}. Values of 0 or 100 there follow "
                "from the definition, and differences are not marked."
            )
    for one in metrics["strategies"]:
        name, message = printable(one["name"]), single_line(one["message"])
        if one["state"] == "left out":
            lines.append(f"{name} was left out: {message}")
        elif one["failed"]:
            which = "every question" if one["state"] == "failed" else f"{one['failed']:,} of {one['rows']:,} questions"
            lines.append(f"{name} failed on {which}. Failures count as wrong. First error: {message}")
    return lines


def _incomplete(metrics: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the strategies that have answers to only some of the questions."""
    return [one for one in metrics["strategies"] if one["rows"] < one["questions"]]


def _missing_values(conditions: Sequence[Group], names: Sequence[str], *, compared: bool) -> list[str]:
    """Return notes about metrics that some questions have no value of."""
    lines, fewer, group = [], dict[str, list[str]](), conditions[0]
    for name in names:
        rows = [one[name]["rows"] for condition in conditions for one in condition["strategies"].values()]
        rows = [count for count in rows if count] or [0]
        if min(rows) < group["rows"]:
            span = f"{min(rows):,}" if min(rows) == max(rows) else f"{min(rows):,} to {max(rows):,}"
            fewer.setdefault(f"{span} of {group['rows']:,}", []).append(name)
    if fewer:
        spans = "; ".join(f"{', '.join(printable(name) for name in names)} on {span}" for span, names in fewer.items())
        pairs = " Differences use the questions that both strategies have." if compared else ""
        lines.append(f"Measured on fewer questions: {spans}.{pairs}")
    known = max(one["accuracy"]["rows"] for one in group["strategies"].values())
    if (without := group["rows"] - known) > 0:
        verb = "question has" if without == 1 else "questions have"
        lines.append(f"{without:,} {verb} no gold answer and cannot be scored.")
    return lines


def _passage_quality(metrics: Mapping[str, Any]) -> list[str]:
    """Return a note about the passages, which are the same for every strategy."""
    quality = metrics["passages"]
    if quality is None:
        return []
    total = max(one["questions"] for one in metrics["strategies"])
    which = "questions" if quality["questions"] == total else "questions with gold answers"
    questions, passages = (f"{100 * quality[name]:.1f} %" for name in ("has-answer", "retrieval-precision"))
    return [
        f"{questions} of the {which} have a passage with a gold answer. "
        f"On average {passages} of the passages contain one."
    ]
