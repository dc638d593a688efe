"""`rqa report RUN...` and `rqa report inconsistency RUN` on the command line."""

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from standins.eval_run import write_run

Rqa = Callable[..., Any]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run")


def test_a_run_is_shown_on_the_terminal(rqa: Rqa, run: Path) -> None:
    ended = rqa("report", run)
    assert ended.code == 0
    assert ended.out.startswith("Strategies (shares in %)\n")
    assert "norag" in ended.out


def test_options_may_follow_the_runs(rqa: Rqa, run: Path) -> None:
    assert len(json.loads(rqa("report", run, run, "--to", "json").out)["runs"]) == 2
    assert len(json.loads(rqa("report", "--to", "json", run).out)["runs"]) == 1


@pytest.mark.parametrize(
    "ending, begins",
    [("md", "## Strategies"), ("csv", "run,set,condition"), ("html", "<!doctype html>"), ("json", "{"), ("HTM", "<!")],
)
def test_the_file_ending_selects_the_format(ending: str, begins: str, rqa: Rqa, run: Path) -> None:
    out = run.parent / f"report.{ending}"
    ended = rqa("report", run, "-o", out)
    assert (ended.code, ended.out) == (0, "")
    assert ended.err.startswith(f"{out}: ") and re.search(r": [1-9]\d* kB\n$", ended.err)
    assert out.read_text("utf-8").startswith(begins)


def test_an_existing_file_is_replaced(rqa: Rqa, run: Path) -> None:
    out = run.parent / "report.json"
    out.write_text("x" * 1_000_000)
    rqa("report", run, "-o", out)
    assert json.loads(out.read_text())
    assert sorted(path.name for path in run.parent.iterdir()) == ["report.json", "run"]


def test_a_pipe_gets_the_report_and_stays_a_pipe(rqa: Rqa, run: Path) -> None:
    out = run.parent / "report.json"
    os.mkfifo(out)
    with subprocess.Popen(["cat", str(out)], stdout=subprocess.PIPE) as reader:
        ended = rqa("report", run, "-o", out)
        assert reader.stdout is not None
        assert json.loads(reader.stdout.read())["runs"]
    assert (ended.code, out.is_fifo()) == (0, True)


def test_a_symbolic_link_is_followed(rqa: Rqa, run: Path) -> None:
    (run.parent / "real").mkdir()
    out = run.parent / "report.json"
    out.symlink_to("real/report.json")
    assert rqa("report", run, "-o", out).code == 0
    assert out.is_symlink() and json.loads(out.read_text())["runs"]
    assert [path.name for path in (run.parent / "real").iterdir()] == ["report.json"]


def test_a_dash_is_standard_output(rqa: Rqa, run: Path) -> None:
    assert rqa("report", run, "-o", "-").out == rqa("report", run).out
    assert rqa("report", run, "-o", "-", "--to", "csv").out == rqa("report", run, "--to", "csv").out


def test_a_report_that_fails_leaves_the_file_as_it_was(rqa: Rqa, run: Path) -> None:
    out = run.parent / "report.html"
    out.write_text("before")
    (run / "scores.jsonl").unlink()
    ended = rqa("report", run, "-o", out)
    assert ended.code == 2
    assert "has no scores.jsonl" in ended.err
    assert out.read_text() == "before"
    assert sorted(path.name for path in run.parent.iterdir()) == ["report.html", "run"]


def test_a_name_without_a_known_ending_needs_a_format(rqa: Rqa, run: Path) -> None:
    ended = rqa("report", run, "-o", run.parent / "report")
    assert ended.code == 2
    assert "End it in .md, .csv, .html or .json, or add --to." in ended.err
    assert rqa("report", run, "-o", run.parent / "report", "--to", "terminal").code == 0
    assert (run.parent / "report").read_text("utf-8").startswith("Strategies")


def test_a_file_that_cannot_be_written_is_named(rqa: Rqa, run: Path) -> None:
    ended = rqa("report", run, "-o", run.parent / "nowhere" / "report.html")
    assert ended.code == 2
    assert ended.err.startswith("rqa: Cannot write ") and "nowhere/report.html" in ended.err


def test_a_folder_that_is_not_a_run_is_an_error(rqa: Rqa, tmp_path: Path) -> None:
    ended = rqa("report", tmp_path)
    assert ended.code == 2
    assert len(ended.err.splitlines()) == 2


def test_the_help_gives_the_arguments_of_the_report_and_the_commands_beside_it(rqa: Rqa) -> None:
    told = rqa("report", "--help").out
    assert told.startswith("Usage: rqa report [OPTIONS] RUN...\n")
    assert "inconsistency" in told
    assert rqa("report", "inconsistency", "--help").out.startswith("Usage: rqa report inconsistency [OPTIONS] RUN\n")


def test_a_run_in_a_folder_that_is_called_like_a_command_is_given_by_its_path(
    rqa: Rqa, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write_run(tmp_path / "inconsistency")
    monkeypatch.chdir(tmp_path)
    assert rqa("report", "./inconsistency").out.startswith("Strategies")
    assert rqa("report", "inconsistency", "inconsistency").out.startswith("Members")


# -- inconsistency


def test_disagreement_is_shown_on_the_terminal(rqa: Rqa, run: Path) -> None:
    ended = rqa("report", "inconsistency", run)
    assert ended.code == 0
    for title in (
        "Members",
        "RWR",
        "Sources of failures",
        "RWR (%) of lucky guesses",
        "Accuracy (%) of a perfect voter",
    ):
        assert f"\n{title}" in f"\n{ended.out}"


def test_accuracy_says_what_is_right_whatever_metric_the_run_shows(rqa: Rqa, run: Path) -> None:
    before = json.loads(rqa("report", "inconsistency", run, "--to", "json").out)
    figures = run / "metrics.json"
    figures.write_text(json.dumps(json.loads(figures.read_text()) | {"metric": "refusal"}))
    assert json.loads(rqa("report", "inconsistency", run, "--to", "json").out) == before
    assert before["metric"] == "accuracy"


def test_only_one_set_is_looked_at_where_that_is_asked_for(rqa: Rqa, run: Path) -> None:
    told = json.loads(rqa("report", "inconsistency", run, "--set", "rivers", "--to", "json").out)
    assert (told["questions"], told["set"], told["condition"]) == (6, "rivers", "as given")


@pytest.mark.parametrize("what, known", [("set", "cities, rivers"), ("condition", "as given")])
def test_an_unknown_set_or_condition_is_an_error(what: str, known: str, rqa: Rqa, run: Path) -> None:
    ended = rqa("report", "inconsistency", run, f"--{what}", "x")
    assert ended.code == 2
    assert f"has no {what} 'x'; it has: {known}." in ended.err


def test_disagreement_has_no_markdown(rqa: Rqa, run: Path) -> None:
    assert rqa("report", "inconsistency", run, "-o", "x.md").code == 2


def test_a_pool_has_no_other_metric(rqa: Rqa, run: Path) -> None:
    assert "Leave out --metric" in rqa("report", "inconsistency", run, "--pool", "rag", "--metric", "f1").err
