"""The output of a batch: a file that a later run continues, or a stream."""

import json
import os
import pty
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from robust_qa.kit import printable

from .conftest import PLUGIN, Batch

OUT, STATE = Path("out.jsonl"), Path("out.jsonl.state.json")
COMMAND = [sys.executable, "-m", "robust_qa", "--plugin", str(PLUGIN), "batch", "in.txt", "-s", "scripted"]


def test_a_file_with_rows_is_not_replaced_without_force(batch: Batch) -> None:
    batch("a\n")
    before = OUT.read_bytes()
    ended = batch("b\n")
    assert ended.code == 2 and "already exists" in ended.err
    assert "--resume" in ended.err and "--force" in ended.err
    assert OUT.read_bytes() == before
    assert batch(None, "--force").answers == ["b"]


def test_a_torn_last_line_is_removed_and_its_row_answered_again(batch: Batch) -> None:
    batch("a\nb\n")
    first, second = OUT.read_bytes().splitlines(keepends=True)
    OUT.write_bytes(first + second[:-30])
    ended = batch(None, "--resume")
    assert ended.answers == ["a", "b"] and OUT.read_bytes().startswith(first)
    assert "1 were done before" in ended.err


@pytest.mark.parametrize("has_state", [True, False])
@pytest.mark.parametrize("content", [b"my notes\n", bytes(99) + b"\n", b'my notes\n{"row": 1}\n'])
def test_a_file_of_another_kind_is_not_changed(batch: Batch, content: bytes, has_state: bool) -> None:
    batch("a\n")
    OUT.write_bytes(content)
    if not has_state:
        STATE.unlink()
    ended = batch(None, "--resume")
    assert ended.code == 2 and "was not written by a batch" in ended.err
    assert (OUT.read_bytes(), STATE.exists()) == (content, has_state)


@pytest.mark.parametrize("content", [b"my notes", b'{"row": 1, "question": "a"}'])
def test_without_a_state_a_file_without_a_whole_row_is_not_changed(batch: Batch, content: bytes) -> None:
    OUT.write_bytes(content)
    ended = batch("a\n", "--resume")
    assert ended.code == 2 and "no whole row of a batch" in ended.err
    assert OUT.read_bytes() == content and not STATE.exists()


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("strategy.scripted.tone=low", "strategy.scripted.tone=loud", "`strategy.scripted.tone` was low and is loud"),
        ("defaults.k=5", "strategy.scripted.seconds=0", "`defaults.k` was 5 and is not set"),
        ("strategy.scripted.seconds=0", "defaults.k=5", "`defaults.k` was not set and is 5"),
    ],
)
def test_another_configuration_is_refused_with_what_changed(batch: Batch, before: str, after: str, reason: str) -> None:
    batch("a\n", "-O", before)
    written = OUT.read_bytes()
    ended = batch(None, "--resume", "-O", after)
    assert ended.code == 2 and reason in ended.err
    assert OUT.read_bytes() == written


def test_a_prompt_that_was_edited_is_refused(batch: Batch) -> None:
    prompt = Path("read.txt")
    prompt.write_text("Answer {question} from {passages}")
    option = ("-O", f"defaults.prompts.read={prompt.resolve()}")
    batch("a\n", *option)
    assert batch(None, "--resume", *option).code == 0
    prompt.write_text("Answer {question} from {passages} in verse")
    ended = batch(None, "--resume", *option)
    assert ended.code == 2 and "`defaults.prompts.read content` was" in ended.err


def test_settings_that_change_no_answer_do_not_block_resume(batch: Batch) -> None:
    reader = ("-O", "reader.m.plugin=blocking")
    batch("a\n", *reader)
    options = ("reader.m.concurrency=3", "reader.m.rpm=60", "reader.m.timeout=5", "history.enabled=false")
    assert batch(None, "--resume", "-j", "3", *reader, *(part for each in options for part in ("-O", each))).code == 0


def test_another_version_of_rqa_is_refused(batch: Batch) -> None:
    batch("a\n")
    state = json.loads(STATE.read_text())
    STATE.write_text(json.dumps({**state, "rqa": "0.0"}))
    ended = batch(None, "--resume")
    assert ended.code == 2 and "rqa 0.0 started it, and this is rqa" in ended.err


def test_a_secret_is_not_kept_in_the_state(batch: Batch) -> None:
    assert batch("a\n", "-O", "strategy.scripted.api_key=s3cret").code == 0
    assert "api_key" in STATE.read_text() and "s3cret" not in STATE.read_text()


def test_a_rewritten_file_keeps_its_mode_and_leaves_no_other(batch: Batch) -> None:
    batch("refuse\na\n")
    OUT.chmod(0o640)
    Path("mended").touch()
    assert batch(None, "--retry-failed").code == 0
    assert OUT.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in Path.cwd().glob("*out*")) == ["out.jsonl", "out.jsonl.state.json"]


def test_a_missing_output_folder_is_an_error(batch: Batch) -> None:
    ended = batch("a\n", out="none/out.jsonl")
    assert ended.code == 2 and "No such file or directory" in ended.err


@pytest.mark.parametrize(("limit", "whole"), [(2000, True), (10, False)])
def test_a_full_disk_is_an_error_and_loses_no_row(batch: Batch, limit: int, whole: bool) -> None:
    batch("a\n")
    before = OUT.read_bytes()
    if whole:
        batch("".join(f"q{n}\n" for n in range(20)), "--force")
        OUT.write_bytes(OUT.read_bytes().splitlines(keepends=True)[0])
    run = subprocess.run(
        [*COMMAND, "--no-cache", "-o", "out.jsonl", "--resume" if whole else "--force"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
        env=os.environ | {"RQA_PLUGINS": "batch,local"},
        capture_output=True,
        text=True,
    )
    assert "File too large" in run.stderr and "Traceback" not in run.stderr
    if not whole:
        assert OUT.read_bytes() == before
        return
    assert run.returncode == 1 and "continue with --resume" in run.stderr
    assert batch(None, "--resume").answers == [f"q{n}" for n in range(20)]


def start(stdout: int, *arguments: str) -> "subprocess.Popen[bytes]":
    environment = os.environ | {"RQA_PLUGINS": "batch,local"}
    command = [*COMMAND, "--no-cache", *arguments]
    return subprocess.Popen(command, stdout=stdout, stderr=subprocess.DEVNULL, env=environment)


def test_a_slow_pipe_that_does_not_block_gets_whole_lines_and_stops_new_rows(tmp_path: Path) -> None:
    questions = [str(n) * 4_500 for n in range(1000, 1200)]  # a pipe holds two answers
    Path("in.txt").write_text("\n".join(questions))
    read, write = os.pipe()
    os.set_blocking(write, False)
    process = start(write, "-O", f"strategy.scripted.log={tmp_path}/log", "-j", "2")
    os.close(write)
    while not (tmp_path / "log").exists():
        time.sleep(0.05)
    time.sleep(2)
    assert len((tmp_path / "log").read_bytes().splitlines()) <= 64
    with os.fdopen(read, "rb") as reader:
        assert [json.loads(line)["answer"] for line in reader] == questions
    assert process.wait() == 0


def test_lines_are_safe_on_a_terminal_and_equal_in_a_pipe() -> None:
    question = "\x9b31m\u202e\x7fé"
    Path("in.txt").write_text(question)
    for ours, theirs in (pty.openpty(), os.pipe()):
        process = start(theirs)
        process.wait()
        shown = os.read(ours, 10_000).decode()
        assert json.loads(shown)["question"] == question
        assert (printable(shown) == shown.replace("\r", "")) == os.isatty(theirs)
        os.close(ours)
        os.close(theirs)


def test_the_table_of_a_command_does_not_block_resume(batch: Batch) -> None:
    batch("a\nb\n")
    Path("rqa.toml").write_text("[serve]\nport = 9000\n")
    assert batch(None, "--resume").code == 0
