import json
import os
import pty
import resource
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from robust_qa import Answer, BusyError, InputError, RqaError
from robust_qa.batch.output import OutFile, Stream
from robust_qa.batch.resume import State, survey_file
from robust_qa.batch.rows import Row, parse_row
from robust_qa.config.layers import Config
from robust_qa.config.values import Layer
from robust_qa.kit import printable

STATE = State("0.1", "abc", {"strategy": "rag"}, {})


def line(number: int, question: str = "Q", **fields: Any) -> bytes:
    row = parse_row(json.dumps({"question": question, **fields}).encode(), number)
    return row.answered(Answer("A"))


def state_of(tree: dict[str, Any]) -> State:
    return State.of(Config([Layer("t.toml", tree)]), None, "abc")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out.jsonl"


def begun(path: Path, *lines: bytes, state: State = STATE) -> None:
    """Write the output and the state of a run with those lines."""
    out = OutFile(path, state)
    out.write(lines)
    out.close()


def resumed(path: Path, state: State = STATE) -> OutFile:
    return OutFile(path, state, resume=True)


def test_the_state_is_written_before_the_first_row(path: Path) -> None:
    OutFile(path, STATE).close()
    assert path.read_bytes() == b""
    assert State.load(path.with_name("out.jsonl.state.json")) == STATE


def test_a_file_with_rows_is_not_replaced_without_force(path: Path) -> None:
    begun(path, line(1))
    with pytest.raises(InputError, match="already exists") as caught:
        OutFile(path, STATE)
    assert "--resume" in caught.value.hint
    assert "--force" in caught.value.hint
    assert path.read_bytes() == line(1)


def test_force_keeps_the_old_rows_if_the_state_cannot_be_written(path: Path) -> None:
    begun(path, line(1))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
    try:
        with pytest.raises(InputError, match=r"Cannot write .*: File too large"):
            OutFile(path, STATE, force=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == line(1)
    assert sorted(one.name for one in path.parent.iterdir()) == ["out.jsonl", "out.jsonl.state.json"]


def test_resuming_knows_the_rows_and_the_failures_and_appends(path: Path) -> None:
    failure = parse_row(b"Q", 3).failed(RqaError("no"))
    begun(path, line(1), failure)
    out = resumed(path)
    assert [out.has(n, b"") for n in range(1, 5)] == [True, False, True, False]
    assert out.failed == 1
    out.write([line(2)])
    out.close()
    assert path.read_bytes() == line(1) + failure + line(2)


def test_a_torn_last_line_is_removed(path: Path) -> None:
    begun(path, line(1), line(2)[:-30])
    out = resumed(path)
    assert [out.has(n, b"") for n in (1, 2)] == [True, False]
    out.close()
    assert path.read_bytes() == line(1)


def test_a_file_of_another_kind_is_not_changed(path: Path) -> None:
    begun(path, b"my notes\n", line(1))
    with pytest.raises(InputError, match=r"Line 1 of .* was not written by a batch"):
        resumed(path)
    assert path.read_bytes() == b"my notes\n" + line(1)


@pytest.mark.parametrize("content", [b"my notes", b"my notes\n", line(1).rstrip(), bytes(99)])
def test_a_file_without_state_and_rows_of_a_batch_is_not_changed(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"no whole row of a batch|was not written by a batch"):
        resumed(path)
    assert path.read_bytes() == content
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ({"strategy": {"a": {"t": 1}}}, {"strategy": {"a": {"t": 2}}}, "`strategy.a.t` was 1 and is 2"),
        ({"defaults": {"k": 5}}, {}, "`defaults.k` was 5 and is not set"),
        ({}, {"defaults": {"reader": "x"}}, "`defaults.reader` was not set and is x"),
    ],
)
def test_another_configuration_is_refused_with_what_changed(
    path: Path, before: dict[str, Any], after: dict[str, Any], reason: str
) -> None:
    begun(path, line(1), state=state_of(before))
    with pytest.raises(InputError) as caught:
        resumed(path, state_of(after))
    assert reason in caught.value.message


@pytest.mark.parametrize("table", ["strategy.rag", "defaults"])
def test_a_prompt_that_was_edited_is_refused(path: Path, tmp_path: Path, table: str) -> None:
    prompt = tmp_path / "read.txt"
    tree: dict[str, Any] = {"prompts": {"read": str(prompt)}}
    for name in reversed(table.split(".")):
        tree = {name: tree}
    prompt.write_text("Answer {question}")
    begun(path, line(1), state=state_of(tree))
    resumed(path, state_of(tree)).close()
    prompt.write_text("Answer {question} in verse")
    with pytest.raises(InputError, match=rf"`{table}\.prompts\.read content` was"):
        resumed(path, state_of(tree))


def test_settings_that_change_no_answer_do_not_block_resume(path: Path) -> None:
    limits = {"concurrency": 3, "rpm": 60, "timeout": 5, "retries": 0}
    off = {"cache": {"enabled": False}, "history": {"enabled": False}}
    begun(path, line(1), state=state_of({"reader": {"m": {"model": "x"}}, **off}))
    resumed(path, state_of({"reader": {"m": {"model": "x", **limits}}})).close()


@pytest.mark.parametrize(
    ("now", "reason"),
    [
        (State("0.1", "abd", {"strategy": "rag"}, {}), "the input has changed"),
        (State("0.2", "abc", {"strategy": "rag"}, {}), "rqa 0.1 started it, and this is rqa 0.2"),
        (State("0.1", "abc", {"strategy": "crag"}, {}), "`strategy` was rag and is crag"),
    ],
)
def test_another_input_version_or_plan_is_refused(path: Path, now: State, reason: str) -> None:
    begun(path, line(1))
    with pytest.raises(InputError) as caught:
        resumed(path, now)
    assert reason in caught.value.message


def test_a_secret_is_not_kept_in_the_state(path: Path) -> None:
    headers = {"Authorization": "Bearer s3cret"}
    begun(path, state=state_of({"reader": {"m": {"headers": headers, "base_url": "https://u:s3cret@h/v1"}}}))
    assert "s3cret" not in path.with_name("out.jsonl.state.json").read_text()


def test_the_rows_of_a_stream_are_compared(path: Path) -> None:
    stream = State("0.1", None, {}, {})
    begun(path, line(1, "Who?", id=1), Row(2, {}).failed(RqaError("no")), line(3, "plain"), state=stream)
    out = resumed(path, stream)
    assert out.has(1, b'{"id": 1, "question": "Who?"}')
    assert out.has(2, b"{bad")
    assert out.has(3, b"plain")
    with pytest.raises(InputError, match="Row 1 of the input is not the row"):
        out.has(1, b'{"id": 1, "question": "When?"}')
    with pytest.raises(InputError, match="Row 1 of the input is not the row"):
        out.has(1, b'{"id": 2, "question": "Who?"}')
    out.close()


def failed(number: int) -> bytes:
    return parse_row(b"Q", number).failed(RqaError("no"))


def test_retry_removes_failed_rows_and_keeps_all_others(path: Path) -> None:
    begun(path, line(1), failed(2), line(3, error="of the input's own"), failed(4))
    path.chmod(0o640)
    out = OutFile(path, STATE, resume=True, retry=True)
    assert [out.has(n, b"") for n in range(1, 5)] == [True, False, True, False]
    assert out.failed == 0
    with pytest.raises(BusyError):  # the file that took its place is locked too
        resumed(path)
    out.write([line(2)])
    out.put_in_order()
    out.write([line(4)])  # goes to the file that is there now
    out.close()
    assert path.read_bytes() == line(1) + line(2) + line(3, error="of the input's own") + line(4)
    assert path.stat().st_mode & 0o777 == 0o640
    assert sorted(file.name for file in path.parent.iterdir()) == ["out.jsonl", "out.jsonl.state.json"]


def test_one_process_writes_at_a_time(path: Path) -> None:
    out = OutFile(path, STATE)
    with pytest.raises(BusyError, match="Another process"):
        resumed(path)
    out.close()
    resumed(path).close()


def test_rows_that_an_interruption_left_out_of_order_are_put_in_order(path: Path) -> None:
    begun(path, line(1), line(3), line(4), line(2))
    path.chmod(0o640)
    out = resumed(path)
    out.put_in_order()
    out.close()
    assert path.read_bytes() == line(1) + line(2) + line(3) + line(4)
    assert path.stat().st_mode & 0o777 == 0o640
    assert sorted(file.name for file in path.parent.iterdir()) == ["out.jsonl", "out.jsonl.state.json"]


def test_a_missing_output_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file or directory"):
        OutFile(tmp_path / "none" / "out.jsonl", STATE)


def test_a_long_line_is_not_read_into_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("robust_qa.documents.lines.LONGEST", 100_000)
    with (tmp_path / "in").open("wb+", buffering=0) as file:
        file.truncate(50_000_000)
        tracemalloc.start()
        survey_file(file.fileno())
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
        tracemalloc.stop()


def test_a_full_disk_is_an_error_with_a_fix(path: Path) -> None:
    out, limits = OutFile(path, STATE), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(RqaError, match="File too large") as caught:
            out.write([line(1), b"x" * 2000])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        out.close()
    assert "--resume" in caught.value.hint
    out = resumed(path)
    assert out.has(1, b"Q") and path.read_bytes() == line(1)
    out.close()


def test_a_non_blocking_pipe_gets_whole_lines() -> None:
    read, write = os.pipe()
    os.set_blocking(write, False)
    lines = [bytes([letter]) * 300_000 + b"\n" for letter in b"abc"]  # each more than a pipe holds

    def send() -> None:
        with os.fdopen(write, "wb", buffering=0):
            Stream(write, "a pipe").write(lines)

    with ThreadPoolExecutor(1) as threads, os.fdopen(read, "rb") as reader:
        sending = threads.submit(send)
        time.sleep(0.05)
        assert reader.read() == b"".join(lines)
        sending.result()


def test_lines_are_safe_on_a_terminal_and_equal_in_a_pipe() -> None:
    written = '{"a":\r"\x9b31m\u202e\x7fé"}\n'
    for ours, theirs in (pty.openpty(), os.pipe()):
        Stream(theirs, "standard output").write([written.encode()])
        shown = os.read(ours, 1000).decode()
        assert json.loads(shown) == json.loads(written)
        assert (printable(shown) == shown.replace("\r", "")) == os.isatty(theirs)
        os.close(ours)
        os.close(theirs)
