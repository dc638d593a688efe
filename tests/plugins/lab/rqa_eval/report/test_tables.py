"""The tables of `rqa report` on the terminal and in Markdown, CSV and JSON."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from standins.eval_run import write_run

Rqa = Callable[..., Any]
HOSTILE = "a|b\x1b[31m</script>\u202e*x*`y`"


def edit(run: Path, change: Callable[[Any], None], file: str = "metrics.json") -> None:
    content = json.loads((run / file).read_text())
    change(content)
    (run / file).write_text(json.dumps(content))


def figure(run: Path, strategy: str, metric: str, **value: Any) -> None:
    """Replace a figure over all questions."""

    def change(metrics: Any) -> None:
        metrics["groups"][0]["strategies"][strategy][metric] = {"value": None, "rows": 12} | value

    edit(run, change)


def rows(markdown: str, title: str = "Strategies") -> list[list[str]]:
    """The cells of a table in Markdown, the heads first."""
    text = markdown.split(f"## {title}", 1)[1].split("## ", 1)[0]
    lines = [line for line in text.splitlines() if line.startswith("| ") and "---" not in line]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


@pytest.fixture
def markdown(rqa: Rqa) -> Callable[..., str]:
    def report(*arguments: object) -> str:
        ended = rqa("report", *arguments, "--to", "markdown")
        assert ended.code == 0, ended.err
        return str(ended.out)

    return report


@pytest.mark.parametrize(
    ("metric", "value", "text"),
    [
        ("accuracy", 0.5159, "51.6"),
        ("tokens", 1234.4, "1,234"),
        ("seconds", 0.214, "0.21"),
        ("cost", 0.000072, "0.000072"),
        ("accuracy", None, "–"),
    ],
)
def test_a_figure_is_in_the_unit_of_its_metric(
    metric: str, value: float | None, text: str, run: Path, markdown: Any
) -> None:
    figure(run, "usc", metric, value=value)
    heads, *_, usc = rows(markdown(run, "-v"))
    assert usc[heads.index(metric)].strip("*") == text


@pytest.mark.parametrize(
    ("gap", "significant", "mark"), [(0.1, True, " ▲"), (-0.1, True, " ▼"), (-0.1, False, ""), (None, False, "")]
)
def test_only_a_significant_difference_is_marked(
    gap: float | None, significant: bool, mark: str, run: Path, markdown: Any
) -> None:
    difference = {"value": gap, "low": gap, "high": gap, "p": 0.5, "significant": significant} if gap else None
    figure(run, "rag", "accuracy", value=0.4, difference=difference)
    assert rows(markdown(run))[1][1] == f"40.0{mark}"


def test_the_first_table_has_five_metrics_or_all_and_the_one_that_counts_first(run: Path, markdown: Any) -> None:
    heads, rag, norag, usc = rows(markdown(run))
    assert heads == "strategy accuracy f1 citation-precision tokens seconds".split()
    assert "Also measured: 3 metrics (-v shows them)." in markdown(run)
    every = rows(markdown(run, "-v"))[0]
    assert every == "strategy accuracy f1 citation-precision refusal calls tokens seconds cost".split()
    assert (rag[:2], norag[0], usc[:2]) == (["rag", "**50.0** (45.0–55.0)"], "norag", ["usc", "0.0 ▼"])


def test_notes_give_size_baseline_failures_and_slices(rqa: Rqa, run: Path) -> None:
    text = " ".join(rqa("report", run).out.split())
    for note in (
        "12 questions, as given (no passage added, changed or removed).",
        "With reader local.",
        "▲ ▼: significantly above or below norag (p < 0.05, one comparison).",
        "usc failed on every question. Failures count as wrong. First error: reader.local did not answer.",
        "The answers of norag and rag define the slices. Values of 0 or 100 follow from the definition.",
    ):
        assert note in text


def test_incomplete_strategies_are_not_compared(rqa: Rqa, run: Path, markdown: Any) -> None:
    def change(metrics: Any) -> None:
        for result in metrics["strategies"]:
            result |= {"questions": 12, "rows": 5 if result["name"] == "rag" else 12}

    assert "Accuracy against cost" in rqa("report", run, "--to", "html").out
    edit(run, change)
    text = markdown(run)
    _, rag, norag, _ = rows(text)
    assert (rag[0], rag[1].startswith("50.0"), norag[1].startswith("**50.0**")) == ("rag (5 of 12)", True, True)
    assert "rag answered 5 of 12 questions. It is not compared with the other strategies." in text
    assert rows(text, "accuracy (%) by set")[0][2:] == ["rag (5 of 12)", "norag", "usc"]
    assert "Accuracy against cost" not in rqa("report", run, "--to", "html").out  # of norag alone there is no picture


def test_the_best_figure_is_the_best_under_its_condition(run: Path, markdown: Any) -> None:
    def change(metrics: Any) -> None:
        group = json.loads(json.dumps(metrics["groups"][0])) | {"condition": "poison 0.2"}
        for n, measured in enumerate(group["strategies"].values()):
            measured["accuracy"] = {"value": n / 10, "rows": 12}
        metrics["groups"].append(group)

    edit(run, change)
    heads, *others = rows(markdown(run))
    assert heads[:2] == ["condition", "strategy"]
    best = [row[:2] for row in others if row[2].startswith("**")]
    assert best == [["as given", "rag"], ["as given", "norag"], ["poison 0.2", "usc"]]


@pytest.mark.parametrize(
    ("changes", "bests"), [({}, [["run", "rag"]]), ({"seed": 1}, [["run", "rag"], ["other", "rag"]])]
)
def test_the_best_figure_is_the_best_on_the_same_questions(
    changes: Any, bests: list[list[str]], run: Path, tmp_path: Path, markdown: Any
) -> None:
    other = write_run(tmp_path / "other")
    edit(other, lambda plan: plan.update(changes), "run.json")
    figure(run, "rag", "accuracy", value=0.9)
    figure(other, "rag", "accuracy", value=0.8)
    assert [row[:2] for row in rows(markdown(run, other)) if row[2].startswith("**")] == bests


# -- the result in a sentence, and two runs joined by question


def rescore(run: Path, right: dict[str, int], condition: str = "as given") -> None:
    """Let each strategy be right on that many of the questions, from the first, under that condition."""
    for name in ("scores.jsonl", "questions.jsonl"):
        lines = [json.loads(line) | {"condition": condition} for line in (run / name).read_text().splitlines()]
        for n, line in enumerate(lines if name == "scores.jsonl" else ()):
            for strategy, measured in line["scores"].items():
                measured["accuracy"] = float(n < right.get(strategy, 0))
        (run / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    edit(run, lambda plan: plan.update(conditions=[condition]), "run.json")


@pytest.mark.parametrize(
    ("right", "said"),
    [
        ({"rag": 9, "norag": 8}, "rag is right most often (75.0 %), not significantly more than norag (66.7 %)."),
        ({"rag": 2, "norag": 11}, "norag is right most often (91.7 %), significantly more than rag (16.7 %)."),
        ({"rag": 6, "usc": 6}, "rag and usc are right equally often (50.0 %)."),
    ],
)
def test_a_report_begins_with_its_result(right: dict[str, int], said: str, rqa: Rqa, run: Path) -> None:
    rescore(run, right)
    assert rqa("report", run).out.startswith(f"{said}\n\nStrategies")
    assert f'<p class="lead">{said}</p>' in rqa("report", run, "--to", "html").out


def test_runs_under_other_conditions_are_joined_by_question(run: Path, tmp_path: Path, markdown: Any) -> None:
    other = write_run(tmp_path / "other")
    rescore(run, {"rag": 11, "norag": 5})
    rescore(other, {"rag": 2, "norag": 5}, "poison 0.4")
    heads, rag, norag, _ = rows(markdown(run, other), "accuracy (%) of the same questions")
    assert heads == ["strategy", "questions", "run", "other", "difference"]
    assert (rag[1], rag[2][:4], rag[3][:6], rag[4][:5]) == ("12", "91.7", "16.7 ▼", "-75.0")
    assert (norag[2], norag[3], norag[4][:4]) == (norag[2], norag[2], "0.0 ")


# -- on a terminal


@pytest.mark.parametrize("width", [40, 80, 140])
def test_every_figure_is_shown_within_the_width(
    width: int, rqa: Rqa, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = rqa("report", run, "-v").out.splitlines()
    assert max(map(len, lines)) <= width and lines == [line.rstrip() for line in lines]
    for figure in ("50.0", "45.0–55.0", "712▲", "0.21", "0.00071", "0.000072"):
        assert figure in "\n".join(lines)


def test_hostile_names_are_text_on_a_terminal_and_in_markdown(rqa: Rqa, tmp_path: Path, markdown: Any) -> None:
    run = write_run(tmp_path / "run")
    edit(run, lambda plan: plan["sets"][0].update(name=HOSTILE), "run.json")

    def change(metrics: Any) -> None:
        for group in metrics["groups"]:
            group["set"] = HOSTILE if group["set"] == "cities" else group["set"]

    edit(run, change)
    out = rqa("report", run).out
    assert "\x1b" not in out and "\u202e" not in out
    assert r"a\|b\[31m&lt;/script&gt;\*x\*\`y\`" in markdown(run)


# -- CSV and JSON


def test_csv_has_every_figure_of_every_group(rqa: Rqa, run: Path) -> None:
    found = list(csv.DictReader(io.StringIO(rqa("report", run, "--to", "csv").out)))
    assert len(found) == len(json.loads((run / "metrics.json").read_text())["groups"]) * 3 * 8
    rag = next(row for row in found if (row["strategy"], row["metric"]) == ("rag", "tokens"))
    assert rag | {"low": "", "high": ""} == {
        "run": "run", "set": "", "condition": "as given", "view": "", "slice": "", "strategy": "rag",
        "metric": "tokens", "unit": "count", "value": "712.0", "low": "", "high": "", "rows": "12",
        "difference": "640.0", "difference_low": "639.9", "difference_high": "640.1", "p": "0.02",
        "significant": "True",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["=1+1", "@sum"])
def test_csv_runs_nothing_in_a_spreadsheet(name: str, rqa: Rqa, tmp_path: Path) -> None:
    out = rqa("report", write_run(tmp_path / name), "--to", "csv").out
    assert list(csv.reader(io.StringIO(out)))[1][0] == f"'{name}"


def test_json_has_the_figures_as_they_are(rqa: Rqa, run: Path) -> None:
    (told,) = json.loads(rqa("report", run, "--to", "json").out)["runs"]
    written: Any = json.loads((run / "metrics.json").read_text())
    assert (told["run"], told["metrics"]) == ("run", written["metrics"])
    there = written["groups"][0]["strategies"]["rag"]["accuracy"]
    assert {k: v for k, v in told["groups"][0]["strategies"]["rag"]["accuracy"].items() if k in there} == there


# -- LaTeX
