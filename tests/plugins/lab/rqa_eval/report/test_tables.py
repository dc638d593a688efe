"""The tables of a report in the terminal, Markdown, CSV and JSON."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from standins.eval_run import write_run

from rqa_eval.figures import Difference, Estimate
from rqa_eval.report.exports import as_json, comma_separated, markdown
from rqa_eval.report.overview import tables
from rqa_eval.report.run_page import run_page
from rqa_eval.report.runs import QuestionSet, Run, load_runs
from rqa_eval.report.tables import Cell, Column, Table, estimate_cell
from rqa_eval.report.terminal import terminal_text


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run.load(write_run(tmp_path / "run", rows=6))


def shown(tables: list[Table], width: int, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("COLUMNS", str(width))
    return "".join(terminal_text(tables))


# -- cells


@pytest.mark.parametrize(
    "value, unit, text",
    [
        (0.5159, "share", "51.6"),
        (1234.4, "count", "1,234"),
        (2.0, "count", "2"),
        (2.25, "count", "2.2"),
        (0.214, "seconds", "0.21"),
        (1234.0, "seconds", "1,234"),
        (0.000072, "money", "0.000072"),
        (0.0, "money", "0.00"),
        (12.5, "money", "12.50"),
    ],
)
def test_a_figure_is_in_the_unit_of_its_metric(value: float, unit: str, text: str) -> None:
    assert estimate_cell(Estimate(value), unit).text == text


def test_an_interval_is_shown_where_it_has_a_width() -> None:
    assert estimate_cell(Estimate(0.5, 9, 0.4, 0.6), "share").interval == "40.0–60.0"
    assert estimate_cell(Estimate(0.5, 9, 0.5, 0.5), "share").interval == ""


@pytest.mark.parametrize(
    "difference, mark",
    [
        (Difference(0.1, significant=True), "▲"),
        (Difference(-0.1, significant=True), "▼"),
        (Difference(-0.1), ""),
        (None, ""),
    ],
)
def test_only_a_significant_difference_is_marked(difference: Difference | None, mark: str) -> None:
    assert estimate_cell(Estimate(0.5, difference=difference), "share").mark == mark


def test_what_was_not_measured_is_a_dash() -> None:
    assert estimate_cell(None, "share").text == estimate_cell(Estimate(None), "share").text == "–"


# -- tables of runs


def test_the_first_table_has_a_row_for_each_strategy_and_the_metric_that_counts_first(run: Run) -> None:
    first = tables([run])[0]
    assert first.heads == ("strategy",)
    assert [keys for keys, _ in first.rows] == [("rag",), ("norag",), ("usc",)]
    assert [column.name for column in first.columns] == [
        "accuracy", "f1", "citation-precision", "refusal", "calls", "tokens", "seconds", "cost",
    ]  # fmt: skip
    rag, _, usc = (cells for _, cells in first.rows)
    assert (rag[0].text, rag[0].best, usc[0].mark, usc[4].text) == ("50.0", True, "▼", "–")


def test_notes_give_size_baseline_and_failures(run: Run) -> None:
    assert tables([run])[0].notes == (
        "12 questions, as given (no passage added, changed or removed).",
        "With reader local.",
        "▲ ▼: significantly above or below norag (p < 0.05).",
        "usc failed on every row: reader.local did not answer.",
    )


def test_a_note_explains_slices_by_correctness(run: Run) -> None:
    [conflict] = [table for table in tables([run]) if "by conflict" in table.title]
    assert conflict.notes == (
        "The answers of norag and rag define the slices. Values of 0 or 100 follow from the definition.",
    )


def test_a_note_names_metrics_with_missing_values(run: Run) -> None:
    overall = next(group for group in run.figures.groups if group.set is None and group.view is None)
    for name, rows in {"rag": 10, "norag": 9, "usc": 9}.items():
        overall.strategies[name]["accuracy"] = Estimate(0.5, rows)
        overall.strategies[name]["f1"] = Estimate(0.5, 9)
    overall.strategies["norag"]["tokens"] = Estimate(None)
    notes = tables([run])[0].notes
    fewer = "accuracy on 9 to 10 of 12; f1 on 9 of 12. Differences use the questions that both strategies have."
    assert notes[1] == f"Measured on fewer questions: {fewer}"
    run.figures.groups.append(structs.replace(overall, condition="poison 0.2"))
    run.plan.conditions.append("poison 0.2")
    assert f"Measured on fewer questions (as given, poison 0.2): {fewer}" in tables([run])[0].notes
    plain = replace(run, figures=structs.replace(run.figures, baseline=None))
    assert not any("Differences" in note for note in tables([plain])[0].notes)


def test_one_question_is_singular(tmp_path: Path) -> None:
    alone = Run.load(write_run(tmp_path / "alone", rows=1))
    groups = [structs.replace(group, rows=1) for group in alone.figures.groups]
    told = tables([replace(alone, figures=structs.replace(alone.figures, groups=groups))])[0].notes
    assert told[0] == "1 question, as given (no passage added, changed or removed)."


def test_incomplete_strategies_are_not_compared(run: Run) -> None:
    assert "Accuracy against cost" in "".join(run_page([run]))
    results = run.figures.strategies
    results[:] = [structs.replace(result, questions=12, rows=5 if result.name == "rag" else 12) for result in results]
    first, by_set, *_ = tables([run])
    assert [keys for keys, _ in first.rows] == [("rag (5 of 12)",), ("norag",), ("usc",)]
    rag, norag, _ = (cells for _, cells in first.rows)
    assert (rag[0].text, rag[0].best, norag[0].best) == ("50.0", False, True)
    assert "rag answered 5 of 12 questions. It is not compared with the other strategies." in first.notes
    assert [column.name for column in by_set.columns] == ["rag (5 of 12)", "norag", "usc"]
    assert not any(cells[0].best for _, cells in by_set.rows)
    assert "Accuracy against cost" not in "".join(run_page([run]))  # of norag alone there is no picture


def test_all_runs_are_in_one_table(run: Run, tmp_path: Path) -> None:
    other = Run.load(write_run(tmp_path / "other"))
    first = tables([run, other])[0]
    assert first.heads == ("run", "strategy")
    assert [keys for keys, _ in first.rows][2:4] == [("run", "usc"), ("other", "rag")]


def test_the_best_figure_is_the_best_under_its_condition(run: Run) -> None:
    overall = next(group for group in run.figures.groups if group.set is None and group.view is None)
    worse = {name: {"accuracy": Estimate(n / 10)} for n, name in enumerate(overall.strategies)}
    attacked = structs.replace(overall, condition="poison 0.2", strategies=worse)
    run.figures.groups.append(attacked)
    first = tables([run])[0]
    assert first.heads == ("condition", "strategy")
    best = [keys for keys, cells in first.rows if cells[0].best]
    assert best == [("as given", "rag"), ("as given", "norag"), ("poison 0.2", "usc")]
    assert first.notes[0] == "12 questions, as given (no passage added, changed or removed), poison 0.2."


@pytest.mark.parametrize(
    "other, bests",
    [
        ({}, [("run", "rag")]),
        ({"seed": 1}, [("run", "rag"), ("other", "rag")]),
        ({"sets": [QuestionSet("cities", "1" * 64)]}, [("run", "rag"), ("other", "rag")]),
    ],
)
def test_the_best_figure_is_the_best_on_the_same_questions(
    other: dict[str, Any], bests: list[tuple[str, str]], run: Run, tmp_path: Path
) -> None:
    worse = Run.load(write_run(tmp_path / "other", rows=6))
    for one, rag in ((run, 0.9), (worse, 0.8)):
        overall = next(group for group in one.figures.groups if group.set is None and group.view is None)
        overall.strategies["rag"]["accuracy"] = Estimate(rag)
    found = tables([run, replace(worse, plan=structs.replace(worse.plan, **other))])[0]
    assert [keys for keys, cells in found.rows if cells[0].best] == bests


def test_empty_columns_are_left_out(run: Run) -> None:
    for group in run.figures.groups:
        for estimates in group.strategies.values():
            estimates["cost"] = Estimate(None)
    assert "cost" not in [column.name for column in tables([run])[0].columns]


def test_sets_and_slices_have_tables_of_the_metric_that_counts(run: Run) -> None:
    _, by_set, by_conflict = tables([run])
    assert (by_set.title, by_set.heads) == ("accuracy (%) by set", ("set", "rows"))
    assert [keys for keys, _ in by_set.rows] == [("cities", "6"), ("rivers", "6")]
    assert by_conflict.heads == ("set", "conflict", "rows")
    assert by_conflict.rows[0][0] == ("all sets", "both right", "4")
    assert [cell.text for cell in by_conflict.rows[0][1]] == ["100.0", "100.0", "0.0"]


# -- on a terminal


@pytest.mark.parametrize("width", [40, 80, 140])
def test_every_figure_is_shown_within_the_width(width: int, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(tables([run]), width, monkeypatch)
    assert max(map(len, text.splitlines())) <= width
    for figure in ("50.0", "45.0–55.0", "712▲", "0.21", "0.00071", "0.000072"):
        assert figure in text
    assert text.count("strategy") == {40: 3, 80: 2, 140: 1}[width]


def test_no_line_ends_in_spaces(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = shown(tables([run]), 80, monkeypatch).splitlines()
    assert lines == [line.rstrip() for line in lines]


def test_a_terminal_is_given_weights_and_no_colours(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    codes = shown(tables([run]), 80, monkeypatch).split("\x1b[")[1:]
    assert {code.partition("m")[0] for code in codes} <= {"0", "1", "2"}  # plain, bold, dim
    assert codes


def test_what_is_written_to_a_file_is_plain(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b" not in "".join(terminal_text(tables([run]), Path("report.txt")))


HOSTILE = "a|b\x1b[31m</script>\u202e*x*`y`\n[z](w)"


def hostile(title: str = HOSTILE) -> Table:
    return Table(title, (title,), (Column(title),), (((title,), (Cell("1.0"),)),), notes=(title,))


def test_hostile_text_cannot_steer_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown([hostile()], 80, monkeypatch)
    assert "\x1b" not in text and "\u202e" not in text


# -- elsewhere


def test_markdown_is_a_table(run: Run) -> None:
    lines = markdown(tables([run])).splitlines()
    assert lines[0] == "## Strategies (shares in %)"
    assert lines[2].startswith("| strategy | accuracy | f1 | citation-precision |")
    assert lines[3] == "| --- |" + " ---: |" * 8
    assert lines[4].startswith("| rag | **50.0** (45.0–55.0) | ")
    assert lines[6].startswith("| usc | 0.0 ▼ |")


def test_hostile_text_is_no_markdown() -> None:
    line = markdown([hostile()]).splitlines()[4]
    assert line == r"| a\|b\[31m&lt;/script&gt;\*x\*\`y\` \[z\](w) | 1.0 |"


def test_csv_has_every_figure_of_every_group(run: Run) -> None:
    rows = list(csv.DictReader(io.StringIO(comma_separated([run]))))
    assert len(rows) == len(run.figures.groups) * 3 * 8
    rag = next(row for row in rows if (row["strategy"], row["metric"]) == ("rag", "tokens"))
    assert rag | {"low": "", "high": ""} == {
        "run": "run", "set": "", "condition": "as given", "view": "", "slice": "", "strategy": "rag",
        "metric": "tokens", "unit": "count", "value": "712.0", "low": "", "high": "", "rows": "12",
        "difference": "640.0", "difference_low": "639.9", "difference_high": "640.1", "p": "0.02",
        "significant": "True",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@sum", "\t=1"])
def test_csv_runs_nothing_in_a_spreadsheet(name: str, run: Run) -> None:
    object.__setattr__(run, "name", name)
    assert list(csv.reader(io.StringIO(comma_separated([run]))))[1][0] == f"'{name}"


def test_json_has_the_figures_as_they_stand(run: Run) -> None:
    (told,) = json.loads(as_json([run]))["runs"]
    written: dict[str, Any] = json.loads((run.folder / "metrics.json").read_text())
    assert told["run"] == "run"
    assert told["metrics"] == written["metrics"]
    there = written["groups"][0]["strategies"]["rag"]["accuracy"]
    assert {k: v for k, v in told["groups"][0]["strategies"]["rag"]["accuracy"].items() if k in there} == there


def test_json_of_several_runs_has_each(run: Run) -> None:
    told = json.loads(as_json(load_runs([run.folder, run.folder])))
    assert [one["run"] for one in told["runs"]] == ["run", "run (2)"]
