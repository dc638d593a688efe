"""The run of a batch: its order, its limits, and rows that fail."""

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from .conftest import Batch


def test_every_row_has_a_line_in_the_order_of_the_input(batch: Batch) -> None:
    questions = ["sleep 0.2", "sleep 0.1", "c", "sleep 0.05", "e"]
    ended = batch("\n".join(questions), "-j", "5")
    assert ended.answers == questions and [row["row"] for row in ended.rows] == [1, 2, 3, 4, 5]


def test_no_more_rows_are_in_flight_than_jobs(batch: Batch) -> None:
    began = time.monotonic()
    batch("sleep 0.2\n" * 6, "-j", "2")
    assert time.monotonic() - began >= 0.6


def test_a_slow_row_stops_the_others_when_too_many_bytes_wait(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rqa_rows.run._MAX_BUFFERED", 1000)  # the real limit needs many megabytes of answers
    asked: list[int] = []

    def end_the_wait() -> None:
        while not Path("log").exists():
            time.sleep(0.01)
        time.sleep(1)
        asked.append(len(Path("log").read_text().splitlines()))
        Path("mended").touch()

    thread = threading.Thread(target=end_the_wait)
    thread.start()
    ended = batch("wait\n" + "fast\n" * 50, "-j", "2", "-O", f"strategy.scripted.log={Path.cwd()}/log")
    thread.join()
    assert 1 < asked[0] < 20
    assert ended.answers == ["wait", *["fast"] * 50]


def test_a_row_that_fails_says_so_and_the_others_go_on(batch: Batch) -> None:
    asked = ["a", "refuse", "crash", "cancel", 3, "c"]
    ended = batch("".join(json.dumps({"question": question}) + "\n" for question in asked), "-j", "1", name="in.jsonl")
    assert ended.code == 3 and ended.answers == ["a", None, None, None, None, "c"]
    assert [(row["error"]["type"], row["error"]["row"]) for row in ended.rows if row["error"]] == [
        ("RefusedError", 2), ("PluginError", 3), ("PluginError", 4), ("InputError", 5),
    ]  # fmt: skip
    assert ended.errors[1:5] == [
        "The key is wrong.",
        "Strategy 'scripted' failed with ZeroDivisionError: by nothing.",
        "Strategy 'scripted' let a cancellation of its own escape.",
        "`question` must be text, but it is a number.",
    ]
    assert ended.rows[1]["usage"]["calls"] == 1
    assert "4 failed" in ended.err and "the first failure: row 2: The key is wrong." in ended.err


def test_blank_lines_have_no_output_and_keep_their_numbers(batch: Batch) -> None:
    ended = batch("\ufeff\na\n \r\nb\n")
    assert [(row["row"], row["answer"]) for row in ended.rows] == [(2, "a"), (4, "b")]
    assert "2 rows in" in ended.err and "1 blank line skipped" in ended.err


def test_a_rows_own_passages_are_what_it_is_answered_from(batch: Batch) -> None:
    assert batch('{"question": "passages", "passages": ["one", {"text": "two"}]}', name="in.jsonl").answers == [
        "one + two"
    ]


def test_a_configuration_that_cannot_answer_the_first_row_is_refused(rqa: Any) -> None:
    for row in ("a question without passages\n", "{bad\n"):
        Path("in.txt").write_text(row)
        ended = rqa("batch", "in.txt", "-o", "out.jsonl", "-s", "rag", "--reader", "lexical")
        assert ended.code == (4 if row[0] == "a" else 3)
