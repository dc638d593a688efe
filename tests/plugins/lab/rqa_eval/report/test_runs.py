"""Reading the folder of a run, and its errors."""

import json
from pathlib import Path
from typing import Any

import pytest
from standins.eval_run import write_run

from robust_qa import InputError
from rqa_eval.report.rows import Rows
from rqa_eval.report.runs import Run, load_runs


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run", rows=3)


def change(path: Path, **values: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def test_a_run_has_its_figures(run: Path) -> None:
    loaded = Run.load(run)
    assert loaded.name == "run"
    assert [strategy.name for strategy in loaded.plan.strategies] == ["rag", "norag", "usc"]
    assert loaded.results["usc"].state == "failed"
    assert loaded.figures.groups[0].strategies["rag"]["accuracy"].rows == 6


def test_runs_with_the_same_name_are_numbered(tmp_path: Path) -> None:
    folders = [write_run(tmp_path / parent / "run") for parent in "ab"]
    assert [run.name for run in load_runs(folders)] == ["run", "run (2)"]


def test_unknown_fields_are_ignored(run: Path) -> None:
    change(run / "metrics.json", later={"a": 1})
    assert Run.load(run).figures.metric == "accuracy"


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"There is no folder .*nowhere"):
        Run.load(tmp_path / "nowhere")


def test_a_folder_that_is_not_a_run_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no run\.json: it is not a run"):
        Run.load(tmp_path)


def test_an_unfinished_run_is_an_error(run: Path) -> None:
    (run / "metrics.json").unlink()
    with pytest.raises(InputError, match="not finished") as told:
        Run.load(run)
    assert "--resume" in told.value.hint


def test_another_format_version_is_an_error(run: Path) -> None:
    change(run / "metrics.json", format=2)
    with pytest.raises(InputError, match="has format 2, but this rqa reads format 1"):
        Run.load(run)


@pytest.mark.parametrize("text", ["", "[]", '{"format": 1}', "\x00\xff"])
def test_unreadable_metrics_are_an_error(run: Path, text: str) -> None:
    (run / "metrics.json").write_text(text, "latin-1")
    with pytest.raises(InputError, match=r"metrics\.json cannot be read"):
        Run.load(run)


def test_a_file_of_answers_outside_the_folder_is_refused(run: Path) -> None:
    (run.parent / "secrets.jsonl").write_text('{"row": 1}\n')
    change(run / "run.json", strategies=[{"name": "rag", "file": "../secrets.jsonl"}])
    with pytest.raises(InputError, match="outside its folder"):
        Rows(Run.load(run))


def test_a_row_has_question_scores_and_answers(run: Path) -> None:
    with Rows(Run.load(run)) as rows:
        assert len(rows) == 6
        row = rows[3]
    assert (row.asked.id, row.asked.gold) == ("cities-3", [["France", "FR"]])
    assert row.scored.slices == {"conflict": ["conflicting"]}
    assert row.answers["norag"]["answer"] == "In France."
    assert row.answers["usc"]["error"]["type"] == "CallTimeout"


def test_a_strategy_without_a_line_to_a_row_is_absent_from_it(run: Path) -> None:
    lines = (run / "answers" / "rag.jsonl").read_text().splitlines(keepends=True)
    (run / "answers" / "rag.jsonl").write_text("".join(lines[:1] + lines[2:]))
    (run / "answers" / "usc.jsonl").unlink()
    with Rows(Run.load(run)) as rows:
        assert [sorted(row.answers) for row in rows][:3] == [["norag", "rag"], ["norag"], ["norag", "rag"]]
        assert rows[3].answers["rag"]["row"] == 3


@pytest.mark.parametrize("file", ["questions.jsonl", "scores.jsonl"])
def test_a_file_that_is_missing_is_named(run: Path, file: str) -> None:
    (run / file).unlink()
    with pytest.raises(InputError, match=f"has no {file}"):
        Rows(Run.load(run))


def test_a_line_that_is_torn_is_named(run: Path) -> None:
    path = run / "answers" / "rag.jsonl"
    path.write_text(path.read_text()[:-20])
    with pytest.raises(InputError, match=r"rag\.jsonl, line 6"):
        Rows(Run.load(run))


def test_a_question_of_the_wrong_shape_is_named(run: Path) -> None:
    path = run / "questions.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([lines[0], '{"question": 7}\n', *lines[2:]]))
    with Rows(Run.load(run)) as rows, pytest.raises(InputError, match=r"questions\.jsonl, row 2"):
        rows[2]
