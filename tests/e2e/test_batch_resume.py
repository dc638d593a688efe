"""`rqa batch --resume`: a run that was cut short, continued."""

import csv
import json
import random
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ..standins.process import SCRIPTED, BatchRun, lines_of, until

BATCH = [*SCRIPTED, "batch", "-s", "scripted", "--no-cache", "-O", "strategy.scripted.log=asked"]
NESTED = '{"a": ' * 100_000 + "1" + "}" * 100_000


class Run(BatchRun):
    """A batch that logs every question it asks."""

    name = "out.jsonl"

    def start(self, *arguments: str, source: str = "in.txt", **pipes: Any) -> subprocess.Popen[bytes]:  # type: ignore[override]
        return super().start(source, "-o", self.name, *arguments, env={"RQA_PLUGINS": "batch,local"}, **pipes)

    @property
    def asked(self) -> Counter[str]:
        return Counter((self.folder / "asked").read_text().splitlines())

    def await_asked(self, process: subprocess.Popen[bytes], question: str) -> None:
        until(lambda: (self.folder / "asked").exists() and question in self.asked, process)

    def kill_after(self, process: subprocess.Popen[bytes], lines: int) -> None:
        until(lambda: lines_of(self.out) >= lines, process)
        process.kill()
        process.communicate()


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path, BATCH)


@pytest.mark.parametrize("state", [b"", bytes(600), b'{"rqa": "0.', NESTED.encode(), None])
def test_rows_are_kept_if_a_power_cut_emptied_the_state(run: Run, state: bytes | None) -> None:
    run.write("q1", "q2", "q3")
    run.finish()
    run.out.write_bytes(b"".join(run.out.read_bytes().splitlines(keepends=True)[:2]))
    file = run.folder / "out.jsonl.state.json"
    if state is None:
        file.unlink()
    else:
        file.write_bytes(state)
    code, err = run.finish("--resume")
    assert code == 0 and err.count("the settings of the run that wrote out.jsonl are lost") == 1, err
    assert run.asked == {"q1": 1, "q2": 1, "q3": 2}
    assert [row["row"] for row in run.rows] == [1, 2, 3]
    code, err = run.finish("--resume")
    assert code == 0 and "3 were done before" in err and "lost" not in err


def test_rows_of_another_input_are_refused_although_the_state_is_lost(run: Run) -> None:
    run.write("q1", "q2")
    run.finish()
    (run.folder / "out.jsonl.state.json").unlink()
    before = run.out.read_bytes()
    run.write("q9", "q2", "q3")
    code, err = run.finish("--resume")
    assert code == 2 and "Row 1 of the input is not the row that" in err
    assert run.out.read_bytes() == before
    run.write("q1", "q2", "q3")
    assert run.finish("--resume")[0] == 0
    assert [row["question"] for row in run.rows] == ["q1", "q2", "q3"]


def test_kill_9_at_any_moment_loses_no_row_repeats_none_and_tears_none(run: Run) -> None:
    questions = [f"sleep 0.0{random.Random(n).randrange(10)} q{n}" for n in range(200)]
    run.write(*questions)
    chance = random.Random(1)
    kept: list[bytes] = []
    for _ in range(4):
        process = run.start("--resume", "-j", "16")
        time.sleep(0.25 + chance.random() * 0.4)
        process.kill()
        process.communicate()
        written = run.out.read_bytes().splitlines(keepends=True) if run.out.exists() else []
        whole = [line for line in written if line.endswith(b"\n")]
        assert whole[: len(kept)] == kept  # what was written stays as it was
        kept = whole
    (run.folder / "asked").unlink(missing_ok=True)
    code, _ = run.finish("--resume", "-j", "16")
    assert code == 0
    assert [(row["row"], row["answer"]) for row in run.rows] == list(enumerate(questions, start=1))
    assert not {json.loads(line)["question"] for line in kept} & run.asked.keys()


@pytest.mark.parametrize("form", ["csv", "tsv", "json"])
def test_other_formats_lose_no_row_and_repeat_none_after_kill_9(run: Run, form: str) -> None:
    run.name, run.out = f"out.{form}", run.folder / f"out.{form}.jsonl"
    questions = [f"sleep 0.02 q{n}" for n in range(100)]
    run.write("refuse", *questions, '"a, b"')
    run.kill_after(run.start("-j", "4"), lines=10)
    assert not (run.folder / run.name).exists()
    assert run.finish("--resume", "-j", "4")[0] == 3
    assert [row["row"] for row in _written(run)] == [*map(str, range(1, 103))]
    assert run.finish("--resume")[0] == 3
    (run.folder / "mended").touch()
    assert run.finish("--retry-failed")[0] == 0
    rows = _written(run)
    assert [row["answer"] for row in rows] == ["refuse", *questions, '"a, b"']
    assert run.asked['"a, b"'] == 1


def test_an_interrupted_run_writes_the_finished_rows_as_csv(run: Run) -> None:
    run.name, run.out = "out.csv", run.folder / "out.csv.jsonl"
    run.write("a", "wait", "c")
    process = run.start("-j", "1")
    run.await_asked(process, "wait")
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert [row["answer"] for row in _written(run)] == ["a"]
    (run.folder / "mended").touch()
    assert run.finish("--resume")[0] == 0
    assert [row["answer"] for row in _written(run)] == ["a", "wait", "c"]


def test_a_table_that_was_edited_is_not_replaced(run: Run) -> None:
    run.name = "out.csv"
    run.write("a", "refuse")
    run.finish()
    out = run.folder / run.name
    edited = out.read_text() + "my note\n"
    out.write_text(edited)
    code, err = run.finish("--retry-failed")
    assert (code, "out.csv was changed after rqa wrote it." in err) == (2, True)
    assert out.read_text() == edited
    (run.folder / "out.csv.jsonl").unlink()
    code, err = run.finish()
    assert (code, "out.csv already exists" in err, out.read_text()) == (2, True, edited)
    assert run.finish("--force")[0] == 3
    assert len(_written(run)) == 2


def _written(run: Run) -> list[dict[str, str]]:
    with (run.folder / run.name).open(newline="") as file:
        if run.name.endswith(".json"):
            return [{name: str(value) for name, value in row.items()} for row in json.load(file)]
        return list(csv.DictReader(file, delimiter="\t" if run.name.endswith(".tsv") else ","))


def test_an_interrupted_run_is_in_order_again_when_it_is_done(run: Run) -> None:
    run.write("a", "wait", "c", "wait more")
    process = run.start("-j", "2")
    run.await_asked(process, "wait more")
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)  # one signal sent twice may come once
    process.communicate()
    assert process.returncode == 130
    assert [row["row"] for row in run.rows] == [1, 3]
    (run.folder / "mended").touch()
    assert run.finish("--resume")[0] == 0
    assert [row["row"] for row in run.rows] == [1, 2, 3, 4]
    assert run.asked["c"] == 1


def test_a_finished_run_does_nothing_and_ends_as_before(run: Run) -> None:
    run.write("a", "refuse")
    assert run.finish()[0] == 3
    before = run.out.read_bytes()
    code, err = run.finish("--resume")
    assert code == 3
    assert "0 rows" in err
    assert "2 were done before" in err
    assert run.out.read_bytes() == before
    assert run.asked["a"] == 1


def test_the_rows_that_failed_are_answered_again_and_no_others(run: Run) -> None:
    run.write("a", "refuse", "c", "refuse again")
    code, err = run.finish()
    assert (code, "--retry-failed" in err) == (3, True)
    first = run.rows
    (run.folder / "mended").touch()
    assert run.finish("--resume")[0] == 3
    code, err = run.finish("--retry-failed")
    assert (code, "2 answered; 2 were done before" in err, "--retry-failed" in err) == (0, True, False)
    assert [row["row"] for row in run.rows] == [1, 2, 3, 4]
    assert [run.rows[n] for n in (0, 2)] == [first[n] for n in (0, 2)]
    assert run.asked["a"] == 1


def test_another_input_is_refused(run: Run) -> None:
    run.write("a", "b")
    run.finish()
    run.write("a", "c")
    code, err = run.finish("--resume")
    assert code == 2
    assert "the input has changed" in err


def test_a_run_over_a_pipe_is_resumed_when_the_pipe_says_the_same(run: Run) -> None:
    assert run.finish(source="-", content=b"a\n")[0] == 0
    assert run.finish("--resume", source="-", content=b"a\nb\n")[0] == 0
    assert [row["answer"] for row in run.rows] == ["a", "b"]
    code, err = run.finish("--resume", source="-", content=b"x\nb\nc\n")
    assert code == 2
    assert "Row 1 of the input is not the row" in err


def test_two_runs_do_not_write_one_file(run: Run) -> None:
    run.write("wait")
    first = run.start()
    run.await_asked(first, "wait")
    code, err = run.finish("--resume")
    assert code == 1
    assert "Another process is writing" in err
    first.kill()
    first.communicate()


def test_rows_without_sources_are_answered_again_once_there_is_an_index(rqa: Any) -> None:
    rows = [{"question": "When was the tower built?", **more} for more in ({"passages": ["In 1871."]}, {}, {})]
    Path("in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = ["batch", "in.jsonl", "-o", "out.jsonl", "-s", "rag", "--reader", "lexical"]
    assert rqa(*command).code == 3
    first = Path("out.jsonl").read_text().splitlines()[0]
    Path("notes.txt").write_text("The tower on the hill was built in 1999.")
    refused = rqa(*command, "--retry-failed", "-d", "notes.txt")  # from which the first row would be answered, too
    assert (refused.code, "`retriever` was not set and is hybrid" in refused.err) == (2, True)
    assert rqa("index", "notes.txt").code == 0
    assert rqa(*command, "--resume").code == 2
    again = rqa(*command, "--retry-failed")
    assert (again.code, "2 answered; 1 were done before" in again.err) == (0, True)
    lines = Path("out.jsonl").read_text().splitlines()
    assert lines[0] == first and ["1999" in line for line in lines] == [False, True, True]
    assert rqa(*command, "--resume").code == 0
    Path("notes.txt").write_text("The tower on the hill was built in 2001.")
    assert rqa("index", "notes.txt").code == 0
    assert rqa(*command, "--retry-failed").code == 2  # some are answered from the index as it was
