"""The terminal tables of `rqa eval`: strategies in rows; metrics, sets, conditions or slices in columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from robust_qa.kit import printable, single_line

from .figures import Figures, Group, on_fewer_questions
from .report.tables import counted, figure, percent

Column: TypeAlias = tuple[str, Callable[[str], str]]  # a heading, and the cell of a strategy

_GAP = "  "
_LONGEST_NAME = 30
# By default only in scores.jsonl and metrics.json.
_HIDDEN = frozenset({"word-accuracy", "recall", "rouge-l", "prompt-tokens", "completion-tokens"})
_LIKE_ACCURACY = frozenset({"str-em", "hit"})  # equal to accuracy if every question has one fact
_BY_CONDITION = ("attack-success", "refusal")  # shown for conditions besides the main metric
_OF_PASSAGES = frozenset({"retrieval-precision", "has-answer"})  # the same for every strategy
_HIDDEN_AT_ZERO = frozenset({"refusal", "failure"})  # and all costs


@dataclass(frozen=True, slots=True)
class Table:
    """A title, the strategies and the columns. `coverage`: by strategy, how many questions it answered, unless all."""

    title: str
    strategies: Sequence[str]
    columns: Sequence[Column]
    coverage: Mapping[str, str] = field(default_factory=dict)

    def lines(self, width: int) -> Iterator[str]:
        """Yield the lines of the table. A table wider than `width` is split into blocks."""
        from rich.cells import cell_len

        yield self.title
        names = [f"{printable(name)[:_LONGEST_NAME]}{self.coverage.get(name, '')}" for name in self.strategies]
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


def tables(figures: Figures, *, chosen: Sequence[str] = ()) -> list[Table]:
    """Return the tables of a run: all or the `chosen` metrics; then the main one by set, condition and view."""
    whole = [group for group in figures.groups if group.view is None]
    strategies = [result.name for result in figures.strategies if result.name in whole[0].strategies]
    units, main = figures.units, figures.metric
    coverage = {result.name: result.coverage for result in figures.incomplete}

    def row(name: str, title: str, heading: str, of: Sequence[Group]) -> Table:
        columns = [(_heading(group, heading), _cell(group, name, units[name])) for group in of]
        return Table(f"{name} by {title}", strategies, columns, coverage)

    found = []
    sets = list(dict.fromkeys(group.set for group in whole))
    for name in sets:
        of = [group for group in whole if group.set == name]
        if len(of) > 1:
            title = f"condition: {_title(of[0], '')}"
            found += [row(metric, title, "condition", of) for metric in _condition_metrics(of, main)]
        elif name == sets[0]:
            found.append(Table(_title(of[0]), strategies, _metric_columns(of[0], units, main, chosen), coverage))
    if len(sets) == len(whole) > 1:
        found.append(row(main, "set", "set", whole))
    for group in whole:
        for view in dict.fromkeys(one.view for one in figures.groups if one.view):
            place = (group.set, group.condition, view)
            slices = [one for one in figures.groups if (one.set, one.condition, one.view) == place]
            found.append(row(main, f"{view}: {_title(group)}", "slice", slices))
    return found


def _title(group: Group, condition: str | None = None) -> str:
    name = "all sets" if group.set is None else printable(group.set)
    condition = group.condition if condition is None else condition
    suffix = "" if condition in (None, "", "as given") else f", {condition}"
    return f"{name}{suffix}: {counted(group.rows, 'question')}"


def _heading(group: Group, what: str) -> str:
    text = printable(getattr(group, what) or "all")
    return f"{text} ({group.rows:,})" if what == "slice" else text


def _metric_columns(group: Group, units: Mapping[str, str], main: str, chosen: Sequence[str]) -> list[Column]:
    names = _shown_metrics(group, units, main, chosen)
    return [(_with_unit(name, units[name]), _cell(group, name, units[name], interval=name == main)) for name in names]


def _shown_metrics(group: Group, units: Mapping[str, str], main: str, chosen: Sequence[str]) -> list[str]:
    """Return the metrics that have a column."""
    found = []
    for name in units:
        values = _values(group, name)
        duplicate = not chosen and name in _LIKE_ACCURACY and values == _values(group, "accuracy")
        zero = (name in _HIDDEN_AT_ZERO or units[name] != "share") and not any(values)
        shown = name in chosen if chosen else name not in _HIDDEN | _OF_PASSAGES and not zero and not duplicate
        if name == main or (shown and _any(group, name)):
            found.append(name)
    return found


def _condition_metrics(groups: Sequence[Group], main: str) -> list[str]:
    """Return the metrics that have a table by condition."""
    names = dict.fromkeys((main, *_BY_CONDITION))
    return [name for name in names if any(_any(group, name) for group in groups)]


def _any(group: Group, metric: str) -> bool:
    return any(value is not None for value in _values(group, metric))


def _values(group: Group, metric: str) -> list[float | None]:
    return [measured[metric].value for measured in group.strategies.values() if metric in measured]


def _with_unit(name: str, unit: str) -> str:
    return f"{name} %" if unit == "share" else name


def _cell(group: Group, metric: str, unit: str, *, interval: bool = False) -> Callable[[str], str]:
    def cell(strategy: str) -> str:
        found = group.strategies[strategy][metric]
        if found.value is None:
            return "-"
        mark = "*" if found.difference is not None and found.difference.significant else ""
        span = ""
        if interval and found.low is not None and found.high is not None:
            span = f" [{figure(found.low, unit)}, {figure(found.high, unit)}]"
        return f"{figure(found.value, unit)}{span}{mark}"

    return cell


def legend(figures: Figures, *, chosen: Sequence[str] = ()) -> list[str]:
    """Return the notes below the tables: intervals, marks, and strategies with missing or failed answers."""
    group, main = figures.groups[0], figures.metric
    conditions = [one for one in figures.groups if (one.set, one.view) == (group.set, None)]
    names, lines = _condition_metrics(conditions, main), ["Means over the questions."]
    if len(conditions) == 1:
        names = _shown_metrics(group, figures.units, main, chosen)
        if any(measured[main].low is not None for measured in group.strategies.values()):
            lines = ["Means over the questions, with 95 % intervals in brackets."]
        lines += _passage_quality(figures)
    lines += _missing_values(conditions, names, compared=figures.baseline is not None)
    if figures.baseline:
        lines.append(f"* differs significantly from {printable(figures.baseline)} (p < 0.05, one comparison).")
    for result in figures.incomplete:
        part = f"answered {result.rows:,} of {result.questions:,} questions"
        lines.append(f"{printable(result.name)} {part}. It is not compared with the other strategies.")
    for view, needs in figures.views.items():
        if needs:
            lines.append(
                f"The answers of {' and '.join(needs)} define the slices of {view}. Values of 0 or 100 there follow "
                "from the definition, and differences are not marked."
            )
    for result in figures.strategies:
        name, message = printable(result.name), single_line(result.message)
        if result.state == "left out":
            lines.append(f"{name} was left out: {message}")
        elif result.failed:
            which = "every question" if result.state == "failed" else f"{result.failed:,} of {result.rows:,} questions"
            lines.append(f"{name} failed on {which}. Failures count as wrong. First error: {message}")
    return lines


def _missing_values(conditions: Sequence[Group], names: Sequence[str], *, compared: bool) -> list[str]:
    """Return notes about metrics that some questions have no value of."""
    lines, group = [], conditions[0]
    measured = {
        printable(name): [one[name].rows for condition in conditions for one in condition.strategies.values()]
        for name in names
    }
    if fewer := on_fewer_questions(group.rows, measured):
        pairs = " Differences use the questions that both strategies have." if compared else ""
        lines.append(f"Measured on fewer questions: {fewer}.{pairs}")
    known = max(one["accuracy"].rows for one in group.strategies.values())
    if (without := group.rows - known) > 0:
        verb = "question has" if without == 1 else "questions have"
        lines.append(f"{without:,} {verb} no gold answer and cannot be scored.")
    return lines


def _passage_quality(figures: Figures) -> list[str]:
    """Return a note about the passages, which are the same for every strategy."""
    quality = figures.passages
    if quality is None:
        return []
    total = max(result.questions for result in figures.strategies)
    which = "questions" if quality.questions == total else "questions with gold answers"
    return [
        f"{percent(quality.has_answer)} % of the {which} have a passage with a gold answer. "
        f"On average {percent(quality.retrieval_precision)} % of the passages contain one."
    ]
