"""The table of a run for the terminal: strategies in rows; metrics, sets, conditions or slices in columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from robust_qa.kit import flat, printable

Group: TypeAlias = Mapping[str, Any]
Column: TypeAlias = tuple[str, Callable[[str], str]]  # a heading, and the cell of a strategy

_GAP = "  "
_LONGEST_NAME = 30
# Told beside others they would only repeat, or are of interest in scores.jsonl alone.
_ASIDE = frozenset({"word-accuracy", "recall", "rouge-l", "prompt-tokens", "completion-tokens"})
_LIKE_ACCURACY = frozenset({"str-em", "hit"})  # the same where every question has one fact
_OF_CONDITIONS = ("attack-success", "refusal")  # what an attack, or a lack of passages, is there to bring about
_OF_PASSAGES = frozenset({"retrieval-precision", "has-answer"})  # the same for every strategy
_UNTOLD_AT_ZERO = frozenset({"refusal", "failure"})  # and costs: what did not happen; other shares of 0 are figures


@dataclass(frozen=True, slots=True)
class Table:
    """A title, the strategies, and the columns; `asked` says of a strategy how many questions it was asked, if few."""

    title: str
    strategies: Sequence[str]
    columns: Sequence[Column]
    asked: Mapping[str, str] = field(default_factory=dict)

    def lines(self, width: int) -> Iterator[str]:
        """The table in lines of at most `width`, in several blocks where it is wider."""
        from rich.cells import cell_len

        yield self.title
        names = [f"{printable(name)[:_LONGEST_NAME]}{self.asked.get(name, '')}" for name in self.strategies]
        first = max(map(cell_len, ["strategy", *names]))
        rest = [[heading, *(cell(name) for name in self.strategies)] for heading, cell in self.columns]
        widths = [max(map(cell_len, column)) for column in rest]
        for start, end in _blocks(widths, width - first - len(_GAP)):
            for n, name in enumerate(["strategy", *names]):
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
    """The tables of metrics.json: all metrics, or those `chosen`; then the first by set, by condition and by view."""
    groups: list[Group] = metrics["groups"]
    whole = [group for group in groups if group["view"] is None]
    strategies = [one["name"] for one in metrics["strategies"] if one["name"] in whole[0]["strategies"]]
    units = {metric["name"]: metric["unit"] for metric in metrics["metrics"]}
    main = metrics["metric"]
    asked = {one["name"]: f" ({one['rows']:,} of {one['questions']:,})" for one in _half_asked(metrics)}

    def row(name: str, title: str, heading: str, of: Sequence[Group]) -> Table:
        columns = [(_heading(group, heading), _cell(group, name, units[name])) for group in of]
        return Table(f"{name} by {title}", strategies, columns, asked)

    found = []
    sets = list(dict.fromkeys(group["set"] for group in whole))
    for name in sets:
        of = [group for group in whole if group["set"] == name]
        if len(of) > 1:
            title = f"condition: {_title(of[0], '')}"
            found += [row(metric, title, "condition", of) for metric in _by_condition(of, main)]
        elif name == sets[0]:
            found.append(Table(_title(of[0]), strategies, _metric_columns(of[0], units, main, chosen), asked))
    if len(sets) == len(whole) > 1:
        found.append(row(main, "set", "set", whole))
    for group in whole:
        for view in dict.fromkeys(one["view"] for one in groups if one["view"]):
            place = {"set": group["set"], "condition": group["condition"], "view": view}
            slices = [one for one in groups if place.items() <= one.items()]
            found.append(row(main, f"{view}: {_title(group)}", "slice", slices))
    return found


def _title(group: Group, condition: str | None = None) -> str:
    name = "all sets" if group["set"] is None else printable(group["set"])
    asked = group["condition"] if condition is None else condition
    beside = "" if asked in ("", "as given") else f", {asked}"
    return f"{name}{beside}: {group['rows']:,} {'question' if group['rows'] == 1 else 'questions'}"


def _heading(group: Group, what: str) -> str:
    text = "all" if group[what] is None else printable(group[what])
    return f"{text} ({group['rows']:,})" if what == "slice" else text


def _metric_columns(group: Group, units: Mapping[str, str], main: str, chosen: Sequence[str]) -> list[Column]:
    names = _told(group, units, main, chosen)
    return [(_with_unit(name, units[name]), _cell(group, name, units[name], interval=name == main)) for name in names]


def _told(group: Group, units: Mapping[str, str], main: str, chosen: Sequence[str]) -> list[str]:
    """The metrics that have a column."""
    found = []
    for name in units:
        values = _values(group, name)
        like = not chosen and name in _LIKE_ACCURACY and values == _values(group, "accuracy")
        zero = (name in _UNTOLD_AT_ZERO or units[name] != "share") and not any(values)
        told = name in chosen if chosen else name not in _ASIDE | _OF_PASSAGES and not zero and not like
        if name == main or (told and _any(group, name)):
            found.append(name)
    return found


def _by_condition(groups: Sequence[Group], main: str) -> list[str]:
    """The metrics that have a table of these conditions."""
    names = dict.fromkeys((main, *_OF_CONDITIONS))
    return [name for name in names if any(_any(group, name) for group in groups)]


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
        between = ""
        if interval and found["low"] is not None:
            between = f" [{_shown(found['low'], unit)}, {_shown(found['high'], unit)}]"
        return f"{_shown(found['value'], unit)}{between}{mark}"

    return cell


def _shown(value: float, unit: str) -> str:
    match unit:
        case "share":
            return f"{100 * value:.1f}"
        case "seconds":
            return f"{value:.2f}"
        case "money":
            return f"{value:.3g}"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def legend(metrics: Mapping[str, Any], *, chosen: Sequence[str] = ()) -> list[str]:
    """What has to be said of the figures: the intervals, the marks, the strategies that have no full part in them."""
    group, main = metrics["groups"][0], metrics["metric"]
    of = [one for one in metrics["groups"] if (one["set"], one["view"]) == (group["set"], None)]
    told, lines = _by_condition(of, main), ["Means over the questions."]
    if len(of) == 1:
        told = _told(group, {metric["name"]: metric["unit"] for metric in metrics["metrics"]}, main, chosen)
        if any(measured[main]["low"] is not None for measured in group["strategies"].values()):
            lines = ["Means over the questions; in brackets the 95 % interval."]
        lines += _passages(metrics)
    lines += _partly(of, told, compared=metrics["baseline"] is not None)
    if metrics["baseline"]:
        lines.append(f"* differs from {printable(metrics['baseline'])} (p < 0.05, for one comparison).")
    for one in _half_asked(metrics):
        part = f"was asked {one['rows']:,} of {one['questions']:,} questions: its figures are of those alone"
        lines.append(f"{printable(one['name'])} {part}, and are compared with no others.")
    for view, needs in metrics["views"].items():
        if needs:
            lines.append(
                f"By {view}, what is in a slice depends on what {' and '.join(needs)} answered: 0 or 100 there "
                "is so by definition, and no difference is marked."
            )
    for one in metrics["strategies"]:
        name, message = printable(one["name"]), flat(one["message"])
        if one["state"] == "left out":
            lines.append(f"{name} was left out: {message}")
        elif one["failed"]:
            whole = "every question" if one["state"] == "failed" else f"{one['failed']:,} of {one['rows']:,} questions"
            lines.append(f"{name} failed on {whole}, which counts as wrong; the first: {message}")
    return lines


def _half_asked(metrics: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The strategies that have answers to some of the questions alone."""
    return [one for one in metrics["strategies"] if one["rows"] < one["questions"]]


def _partly(conditions: Sequence[Group], names: Sequence[str], *, compared: bool) -> list[str]:
    """Which figures are of fewer questions than the title says."""
    lines, fewer, group = [], dict[str, list[str]](), conditions[0]
    for name in names:
        rows = [one[name]["rows"] for condition in conditions for one in condition["strategies"].values()]
        rows = [count for count in rows if count] or [0]  # without any, the cell says so
        if min(rows) < group["rows"]:
            span = f"{min(rows):,}" if min(rows) == max(rows) else f"{min(rows):,} to {max(rows):,}"
            fewer.setdefault(f"{span} of {group['rows']:,}", []).append(name)
    if fewer:
        spans = "; ".join(f"{', '.join(printable(name) for name in told)} on {span}" for span, told in fewer.items())
        gaps = " Differences are over those that both strategies have." if compared else ""
        lines.append(f"Measured on fewer questions: {spans}.{gaps}")
    known = max(one["accuracy"]["rows"] for one in group["strategies"].values())
    if (without := group["rows"] - known) > 0:
        whose = "question has" if without == 1 else "questions have"
        lines.append(
            f"{without:,} {whose} no gold answer, as those without a right one: nothing says what is right there."
        )
    return lines


def _passages(metrics: Mapping[str, Any]) -> list[str]:
    """What the passages hold, the same for every strategy."""
    held = metrics["passages"]
    if held is None:
        return []
    every = max(one["questions"] for one in metrics["strategies"])
    of = "the questions" if held["questions"] == every else "the questions whose answer is known"
    questions, passages = (f"{100 * held[name]:.1f} %" for name in ("has-answer", "retrieval-precision"))
    return [f"{questions} of {of} have a passage that holds a gold answer; on average {passages} of them do."]
