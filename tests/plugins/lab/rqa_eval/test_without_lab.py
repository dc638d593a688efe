"""Where robust-qa-lab is missing, what it has says so, with the command that installs it."""

import json
from pathlib import Path
from typing import Any

import pytest
from standins.eval_run import write_run


@pytest.fixture(autouse=True)
def without_lab(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RQA_PLUGINS", "-lab")
    monkeypatch.setattr("rqa_eval.extras.entry_points", lambda **_: ())  # the tests have it installed


@pytest.fixture
def rows(question_set: Any) -> Path:
    return Path(question_set([{"question": "Who?", "answers": ["Ada"], "passages": ["Ada did."], "fake_answer": "Bo"}]))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("ircot", ["-s", "rag,ircot"]),
        ("squad", ["--format", "squad"]),
        ("flood", ["--attack", "flood"]),
        ("counterfactual", ["--attack", "all"]),
        ("--drop", ["--drop", "0.5"]),
        ("--worst-case", ["--worst-case"]),
        ("--repeat", ["--repeat", "2"]),
        ("conflict", ["--by", "conflict"]),
        ("str-em", ["--metrics", "str-em"]),
        ("astute-table1", ["--recipe", "astute-table1"]),
    ],
)
def test_rqa_eval_names_the_distribution(name: str, options: list[str], rqa: Any, rows: Path) -> None:
    ended = rqa("eval", rows, *options)
    assert (ended.code, f"`{name}` is in robust-qa-lab." in ended.err) == (4, True), ended.err
    assert "Install it: `" in ended.err and "[lab]" in ended.err


def test_a_public_set_names_it_too(rqa: Any, tmp_path: Path) -> None:
    (tmp_path / "dev.json").write_text(json.dumps({"data": []}))
    assert "`squad` is in robust-qa-lab." in rqa("eval", tmp_path / "dev.json").err


def test_a_strategy_names_it_for_every_command(rqa: Any) -> None:
    ended = rqa("ask", "-s", "self_rag", "Who?")
    assert (ended.code, "`self_rag` is in robust-qa-lab." in ended.err) == (4, True), ended.err


@pytest.mark.parametrize("form", ["html", "latex"])
def test_a_report_names_it(form: str, rqa: Any, tmp_path: Path) -> None:
    assert f"`{form}` is in robust-qa-lab." in rqa("report", write_run(tmp_path / "run"), "--to", form).err


@pytest.mark.parametrize("command", ["compare", "inconsistency"])
def test_a_command_points_at_its_page(command: str, rqa: Any) -> None:
    ended = rqa(command, "x")
    assert ended.code == 4
    assert f"`rqa {command}` is not installed here" in ended.err and f"`rqa help {command}`" in ended.err


def test_rqa_eval_and_its_report_work_alone(rqa: Any, rows: Path) -> None:
    assert rqa("eval", rows, "-s", "rag", "--attack", "poison", "--rate", "0,0.5", "-o", "run").code == 0
    assert "attack-success" in rqa("report", "run", "--to", "markdown", "-v").out
