"""`rqa eval` as a process: kill, interrupt and resume; and metrics of plugins."""

import json
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from standins.mind import ROWS
from standins.process import SCRIPTED, lines_of, until

QUESTIONS = [f"sleep 0.0{n % 10} q{n}" for n in range(60)]


@pytest.fixture
def start(tmp_path: Path, question_set: Any) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    processes: list[subprocess.Popen[bytes]] = []
    rows = question_set([{"question": question, "answers": [question]} for question in QUESTIONS], "rows.jsonl")

    def start(*arguments: str) -> subprocess.Popen[bytes]:
        command = [*SCRIPTED, "eval", str(rows), "-o", "run", "-s", "scripted", "--no-cache", "-j", "4"]
        options = ["-O", f"strategy.scripted.log={tmp_path / 'asked'}"]
        environment = os.environ | {"RQA_PLUGINS": "eval,batch,local,index,history,text,data"}
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = subprocess.Popen([*command, *options, *arguments], env=environment, cwd=tmp_path, **pipes)
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def test_a_killed_run_is_continued_and_asks_nothing_twice_that_was_answered(start: Any, tmp_path: Path) -> None:
    run = tmp_path / "run"
    answers = run / "answers" / "scripted.jsonl"
    process = start()
    until(lambda: lines_of(answers) >= 10, process)
    process.kill()
    process.communicate()
    assert not (run / "metrics.json").exists()
    kept = [line for line in answers.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
    out, err = start("--resume").communicate()
    assert b"60 questions, as given" in out, err
    assert answers.read_bytes().splitlines(keepends=True)[: len(kept)] == kept
    assert (
        json.loads((run / "metrics.json").read_text())["groups"][0]["strategies"]["scripted"]["accuracy"]["value"] == 1
    )
    asked = Counter((tmp_path / "asked").read_text().splitlines())
    assert set(asked) == set(QUESTIONS)
    assert sum(asked.values()) <= 60 + 4 + 64  # again at most what was in flight, or waited for a slower one


def test_an_interrupted_continuation_leaves_no_figures_of_earlier_answers(start: Any, tmp_path: Path) -> None:
    run = tmp_path / "run"
    answers = run / "answers" / "scripted.jsonl"
    start().communicate()
    assert {"metrics.json", "scores.jsonl"} < {file.name for file in run.iterdir()}
    answers.write_bytes(b"".join(answers.read_bytes().splitlines(keepends=True)[:5]))
    process = start("--resume")
    until(lambda: lines_of(answers) >= 10, process)
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode == 130
    assert not {"metrics.json", "scores.jsonl"} & {file.name for file in run.iterdir()}


def test_a_second_process_does_not_write_the_same_run(start: Any, tmp_path: Path) -> None:
    process = start()
    until(lambda: lines_of(tmp_path / "run" / "answers" / "scripted.jsonl") >= 1, process)
    process.send_signal(signal.SIGSTOP)  # it would be done before the other has started, on a busy machine
    other = start("--resume")
    _, err = other.communicate()
    process.send_signal(signal.SIGCONT)
    assert (other.returncode, b"Another process is writing" in err) == (1, True)
    assert b"60 questions, as given" in process.communicate()[0]


METRIC = """
from robust_qa import Metric, hookimpl
def words(outcome):
    return {value}
@hookimpl
def rqa_register(registry):
    registry.metrics([Metric("words", words, "words of an answer", unit="count", better="")])
"""


def with_metric(rqa: Any, tmp_path: Path, source: Path, value: str) -> Any:
    plugin = tmp_path / "wordy.py"
    plugin.write_text(METRIC.format(value=value))
    return rqa("--plugin", plugin, "eval", source, "-s", "rag", "-o", "run")


def test_a_metric_of_a_plugin_is_taken_and_shown(rqa: Any, tmp_path: Path, question_set: Any) -> None:
    ended = with_metric(rqa, tmp_path, question_set(ROWS), "len((outcome.answer.text or '').split())")
    assert ended.code == 0
    headings = [line.split() for line in ended.out.splitlines() if line.startswith("strategy")]
    assert "words" in headings[-1]


def test_a_metric_that_fails_is_named_and_the_answers_stay(rqa: Any, tmp_path: Path, question_set: Any) -> None:
    ended = with_metric(rqa, tmp_path, question_set(ROWS), "1 / 0")
    assert ended.code == 1
    assert "Metric 'words' failed with ZeroDivisionError" in ended.err
    assert (Path("run") / "answers" / "rag.jsonl").read_text().count("\n") == len(ROWS)


@pytest.mark.parametrize("command", [("eval", "rows.jsonl"), ("compare", "Who?")])
def test_an_unknown_strategy_is_an_error_before_indexing(rqa: Any, command: Any) -> None:
    Path("rows.jsonl").write_text('{"question": "Who?", "answers": ["x"]}\n')
    Path("a.txt").write_text("The lighthouse was built in 1871.")
    ended = rqa(*command, "-s", "rag,rog", "-d", "a.txt")
    assert (ended.code, "There is no strategy named 'rog'" in ended.err) == (2, True)
    assert not Path(os.environ["RQA_CACHE_DIR"], "docs").exists()


def test_passages_come_from_documents_once_for_all_strategies(rqa: Any, tmp_path: Path, question_set: Any) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("The lighthouse was built in 1871.")
    rows = [{"question": "When was the lighthouse built?", "answers": ["1871"], "passages": ["In 1900."]}]
    ended = rqa("eval", question_set(rows), "-s", "rag", "-d", tmp_path / "docs", "-o", "run")
    assert ended.code == 0, ended.err
    (asked,) = map(json.loads, (Path("run") / "questions.jsonl").read_text().splitlines())
    assert [passage["text"] for passage in asked["passages"]] == ["The lighthouse was built in 1871."]
    assert "100.0" in ended.out
