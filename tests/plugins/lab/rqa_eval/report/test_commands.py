"""`rqa report RUN...` on the command line: where a report goes, and which folders are runs."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Rqa = Callable[..., Any]


@pytest.mark.parametrize(
    "ending, begins",
    [("csv", "run,set,condition"), ("html", "<!doctype html>"), ("HTM", "<!")],
)
def test_the_file_ending_selects_the_format(ending: str, begins: str, rqa: Rqa, run: Path) -> None:
    out = run.parent / f"report.{ending}"
    ended = rqa("report", run, "-o", out)
    assert (ended.code, ended.out) == (0, "")
    assert ended.err.startswith(f"{out}: ") and re.search(r": [1-9]\d* kB\n$", ended.err)
    assert out.read_text("utf-8").startswith(begins)


def test_a_report_that_fails_leaves_the_file_as_it_was(rqa: Rqa, run: Path) -> None:
    out = run.parent / "report.html"
    out.write_text("before")
    (run / "scores.jsonl").unlink()
    ended = rqa("report", run, "-o", out)
    assert ended.code == 2
    assert "has no scores.jsonl" in ended.err
    assert out.read_text() == "before"
    assert sorted(path.name for path in run.parent.iterdir()) == ["report.html", "run"]


# -- the folder of a run


def change(path: Path, **values: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def test_runs_with_the_same_name_are_numbered(rqa: Rqa, run: Path) -> None:
    told = json.loads(rqa("report", run, run, "--to", "json").out)
    assert [one["run"] for one in told["runs"]] == ["run", "run (2)"]


def test_an_unfinished_run_is_an_error_that_says_how_to_continue(rqa: Rqa, run: Path) -> None:
    (run / "metrics.json").unlink()
    ended = rqa("report", run)
    assert (ended.code, "not finished" in ended.err, "--resume" in ended.err) == (2, True, True)


def test_another_format_version_is_an_error(rqa: Rqa, run: Path) -> None:
    change(run / "metrics.json", format=2)
    assert "has format 2, but this rqa reads format 1" in rqa("report", run).err


@pytest.mark.parametrize("text", ["", "\x00\xff"])
def test_unreadable_metrics_are_an_error(rqa: Rqa, run: Path, text: str) -> None:
    (run / "metrics.json").write_text(text, "latin-1")
    ended = rqa("report", run)
    assert (ended.code, "metrics.json cannot be read" in ended.err) == (2, True)


def test_a_file_of_answers_outside_the_folder_is_refused(rqa: Rqa, run: Path) -> None:
    (run.parent / "secrets.jsonl").write_text('{"row": 1}\n')
    change(run / "run.json", strategies=[{"name": "rag", "file": "../secrets.jsonl"}])
    assert "outside its folder" in rqa("report", run, "--to", "html").err


@pytest.mark.parametrize(
    ("file", "kept", "complaint"),
    [
        ("questions.jsonl", None, "has no questions.jsonl"),
        ("answers/rag.jsonl", -20, "rag.jsonl, line 12"),
        ("questions.jsonl", '{"question": 7}\n', "questions.jsonl, row 1"),
    ],
)
def test_a_missing_or_a_torn_file_is_named(rqa: Rqa, run: Path, file: str, kept: Any, complaint: str) -> None:
    path = run / file
    text = path.read_text()
    if kept is None:
        path.unlink()
    else:
        path.write_text(text[:kept] if isinstance(kept, int) else kept + text.partition("\n")[2])
    ended = rqa("report", run, "--to", "html")
    assert (ended.code, complaint in ended.err) == (2, True), ended.err
