"""`rqa batch` as a process: streams, signals, exit codes."""

import fcntl
import json
import os
import pty
import signal
import subprocess
import termios
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ..standins.process import SCRIPTED, lines_of, until

BATCH = ["batch", "-s", "scripted", "--no-cache"]


@pytest.fixture
def start(tmp_path: Path) -> Any:
    processes: list[subprocess.Popen[bytes]] = []

    def start(*arguments: str, before: Sequence[str] = (), **options: Any) -> subprocess.Popen[bytes]:
        pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE) | options
        process = subprocess.Popen(
            [*SCRIPTED, *before, *BATCH, *arguments],
            env=os.environ | {"RQA_PLUGINS": "batch,local"},
            cwd=tmp_path,
            **pipes,
        )
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def rows(output: bytes) -> list[Any]:
    return [json.loads(line) for line in output.splitlines()]


def test_rows_in_lines_out_and_a_summary_on_stderr(start: Any) -> None:
    process = start()
    out, err = process.communicate(b'{"question": "a", "id": 1}\n{"question": "b"}\n{"question": "abstain"}\n')
    assert [(row["row"], row["answer"]) for row in rows(out)] == [(1, "a"), (2, "b"), (3, None)]
    assert b"3 rows in" in err
    assert b"2 answered, 1 abstained; 3 calls, 30 + 6 tokens" in err
    assert process.returncode == 0


def test_what_a_plugin_writes_to_file_descriptor_1_goes_to_stderr(start: Any, tmp_path: Path) -> None:
    noise = {b"noise of the plugin", b"noise of a C library", b"noise of a child process"}
    out, err = start().communicate(b"a\nnoise\nc\n", timeout=60)
    assert [row["answer"] for row in rows(out)] == ["a", "noise", "c"]
    assert noise <= set(err.splitlines())
    asked = subprocess.run(
        [*SCRIPTED, "ask", "--json", "-s", "scripted", "--no-cache", "noise"],
        cwd=tmp_path,
        capture_output=True,
        check=True,
    )
    assert json.loads(asked.stdout)["answer"] == "noise"
    assert noise <= set(asked.stderr.splitlines())


def test_a_row_of_a_slow_pipe_is_answered_as_it_comes(start: Any) -> None:
    read, write = os.pipe()
    os.set_blocking(read, False)  # as another process that shares the pipe may do
    process = start(stdin=read)
    time.sleep(0.5)
    os.write(write, b"first\nsec")
    assert json.loads(process.stdout.readline())["answer"] == "first"
    assert process.poll() is None
    os.write(write, b"ond\n")
    os.close(write)
    assert json.loads(process.stdout.readline())["answer"] == "second"
    os.close(read)


def test_a_closed_output_ends_the_run_quietly(start: Any, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("a question\n" * 20_000)
    process = start("in.txt", before=["-q"])
    assert json.loads(process.stdout.readline())["row"] == 1
    process.stdout.close()
    process.stdout = None
    assert process.communicate() == (None, b"")
    assert process.returncode == 0


def test_no_input_and_a_terminal_is_a_usage_error(start: Any) -> None:
    ours, theirs = pty.openpty()
    process = start(stdin=theirs)
    assert b"Missing questions" in process.communicate()[1]
    assert process.returncode == 2
    os.close(ours)
    os.close(theirs)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.jsonl"], b"Cannot read none.jsonl: No such file or directory."),
        (["."], b"Cannot read .: Is a directory."),
        (["in.jsonl", "-o", "."], b"Cannot write .: Is a directory."),
        (["in.jsonl", "-o", "in.jsonl", "--force"], b"in.jsonl is also the input file"),
        (["in.jsonl", "--resume"], b"add -o OUT"),
        (["in.jsonl", "-o", "x", "--resume", "--force"], b"exclude each other"),
        (["in.jsonl", "-o", "x", "--retry-failed", "--force"], b"exclude each other"),
        (
            ["in.jsonl", "-o", "x.docx"],
            b"cannot write .docx files. End the name in .jsonl, .json, .csv, .tsv, .xlsx.",
        ),
        (["in.jsonl", "-o", "defaults.k=3"], b"this command cannot write .k=3 files"),
        (["in.jsonl", "-s", "scriptd"], b"Did you mean"),
    ],
)
def test_invalid_arguments_are_refused_before_anything_is_written(
    start: Any, tmp_path: Path, arguments: list[str], message: bytes
) -> None:
    (tmp_path / "in.jsonl").write_text("a\n")
    process = start(*arguments)
    out, err = process.communicate()
    assert message in err
    assert b"Traceback" not in err
    assert (out, process.returncode) == (b"", 2)
    assert (tmp_path / "in.jsonl").read_text() == "a\n"
    assert not (tmp_path / "x").exists()


def test_answers_are_not_added_to_the_questions(start: Any, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("a\n")
    with (tmp_path / "in.txt").open("ab") as added:
        process = start("in.txt", stdout=added)
    assert b"Standard output is also the input file." in process.communicate(timeout=60)[1]
    assert (process.returncode, (tmp_path / "in.txt").read_text()) == (2, "a\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_writes_what_is_done_and_says_how_to_go_on(
    start: Any, tmp_path: Path, number: signal.Signals
) -> None:
    (tmp_path / "in.txt").write_text("a\nsleep 0.6\nc\n" + "sleep 0.6\n" * 100)
    process = start("in.txt", "-o", "out.jsonl", "-j", "2")
    until(lambda: lines_of(tmp_path / "out.jsonl") >= 1)
    process.send_signal(number)
    _, err = process.communicate()
    assert process.returncode == 130
    assert [row["answer"] for row in rows((tmp_path / "out.jsonl").read_bytes())][:3] == ["a", "sleep 0.6", "c"]
    assert b"interrupted; continue with: rqa" in err
    assert b"in.txt -o out.jsonl -j 2 --resume" in err


@pytest.mark.parametrize(
    ("number", "way"),
    [(signal.SIGINT, "sleep"), (signal.SIGINT, "swallow"), (signal.SIGINT, "deadlock"), (signal.SIGTERM, "sleep")],
)
def test_the_second_signal_ends_a_run_that_a_plugin_blocks_and_keeps_finished_rows(
    start: Any, tmp_path: Path, number: signal.Signals, way: str
) -> None:
    (tmp_path / "in.txt").write_text(f"a\nwait\nb\nc\nstall {way}\nd\n")
    arguments = ["in.txt", "-o", "out.jsonl", "-j", "2", "-O", "strategy.scripted.log=log"]
    process = start(*arguments)
    until(lambda: lines_of(tmp_path / "log") >= 5)
    process.send_signal(number)
    time.sleep(0.3)
    process.send_signal(number)
    assert process.wait(timeout=10) == 130
    assert b"interrupted; continue with: rqa" in process.stderr.read()
    assert [row["answer"] for row in rows((tmp_path / "out.jsonl").read_bytes())] == ["a", "b", "c"]
    (tmp_path / "mended").touch()
    process = start(*arguments, "--resume")
    process.communicate(timeout=60)
    assert process.returncode == 0
    written = rows((tmp_path / "out.jsonl").read_bytes())
    assert [(row["row"], row["answer"]) for row in written] == list(
        enumerate(["a", "wait", "b", "c", f"stall {way}", "d"], start=1)
    )


def test_one_interruption_ends_the_wait_for_a_reader_of_the_output(start: Any, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    process = start("-o", "fifo")
    process.stdin.write(b"a\n")
    process.stdin.flush()
    until(lambda: not any(fcntl.ioctl(process.stdin, termios.FIONREAD, bytes(4))))  # it has read what is in the pipe
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=20) == 130


def test_an_interruption_does_not_wait_for_what_cannot_be_stopped(start: Any) -> None:
    process = start("-j", "2")
    process.stdin.write(b"a\nblock\n")
    process.stdin.flush()
    process.stdout.readline()
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=3) == 130


def test_progress_on_a_terminal_shows_rows_and_rate(start: Any, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("sleep 0.5\n" * 3)
    ours, theirs = pty.openpty()
    process = start("in.txt", "-o", "out.jsonl", "-j", "1", stderr=theirs)
    process.communicate()
    os.close(theirs)
    shown = os.read(ours, 100_000)
    os.close(ours)
    assert b"1 rows" in shown
    assert b"rows/s" in shown
    assert b" left" in shown
