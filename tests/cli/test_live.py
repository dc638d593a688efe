"""`rqa ask` on a terminal: the answer is printed while the model writes, and the steps disappear."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import pytest
from standins.openai import HANG, Fault, completion, serve, streamed

RQA = [sys.executable, "-c", "from robust_qa.main import main; main()"]
ANSWER = "The engineer Ingrid Valdane built the lighthouse at Skerry Point in 1871"
PASSAGE = "In 1871 the engineer Ingrid Valdane built the lighthouse at Skerry Point."
_STYLE = re.compile(r"\x1b\[[0-9;]*m")  # bold and dim
PAUSE = 0.1  # seconds between tokens


def tokens(text: str) -> list[str]:
    return [f"{word} " for word in text.split()]


class Screen:
    """What a terminal receives, with times."""

    def __init__(
        self, arguments: Sequence[str], folder: Path, url: str, errors: IO[bytes] | None = None, interrupt: str = ""
    ) -> None:
        """`interrupt`: words at which Ctrl-C is pressed."""
        self.text = ""
        self.parts: list[tuple[float, str]] = []
        (folder / "found.json").write_text(json.dumps([PASSAGE]))
        configured = {"PLUGIN": "openai", "MODEL": "m", "BASE_URL": url, "RETRIES": "2", "STRUCTURED": "none"}
        environment = {f"RQA_READER__S__{key}": value for key, value in configured.items()} | {"RQA_READER": "s"}
        ours, theirs = pty.openpty()
        command = [*RQA, "ask", "--passages", "found.json", "--no-cache", *arguments, "Who built it?"]
        env = {**os.environ, **environment, "TERM": "xterm", "COLUMNS": "200"}
        process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=errors or theirs, env=env, cwd=folder)
        os.close(theirs)
        code = 0
        while select.select([ours], [], [], 20)[0]:
            try:
                data = os.read(ours, 65536)
            except OSError:  # the process has ended
                break
            if not data:
                break
            self.parts.append((time.monotonic(), _STYLE.sub("", data.decode())))
            if interrupt and interrupt in self.parts[-1][1]:
                process.send_signal(signal.SIGINT)
                interrupt = ""
                code = 130
        os.close(ours)
        assert process.wait(20) == code
        self.text = "".join(text for _, text in self.parts)

    def first(self, words: str) -> float:
        """When `words` were first on the screen."""
        seen = ""
        for moment, text in self.parts:
            seen += text
            if words in seen:
                return moment
        raise AssertionError(f"{words!r} is not in {seen!r}")


def ask(folder: Path, reply: Any, *arguments: str, errors: IO[bytes] | None = None) -> tuple[Screen, list[Any]]:
    with serve(lambda request, n: reply(n) if callable(reply) else reply) as server:
        return Screen(arguments, folder, server.url, errors), server.requests


@pytest.mark.parametrize(("strategy", "reply"), [("rag", f"Documents: 1\nAnswer: {ANSWER}"), ("norag", ANSWER)])
def test_the_answer_is_on_the_screen_while_the_model_writes(tmp_path: Path, strategy: str, reply: str) -> None:
    pieces = [piece for line in reply.splitlines(keepends=True) for piece in tokens(line)]
    pieces = [piece.rstrip() + "\n" if piece == "1 " else piece for piece in pieces]
    screen, requests = ask(tmp_path, streamed(*pieces, pause=PAUSE), "-s", strategy)
    assert screen.text.count(ANSWER) == 1
    began = screen.first("The engineer")
    assert began < requests[0].ended
    assert "1 call" in screen.text


def test_an_answer_that_changes_replaces_what_was_written(tmp_path: Path) -> None:
    def reply(number: int) -> Fault | dict[str, Any]:
        return streamed(*tokens(ANSWER), pause=PAUSE, finish=None, done=False) if number == 0 else completion("Bo Renn")

    screen, _ = ask(tmp_path, reply, "-s", "norag")
    assert screen.first("The engineer") < screen.first("\r\x1b[JBo Renn")


def test_a_slow_step_is_shown_and_disappears(tmp_path: Path) -> None:
    slow = streamed("Bo Renn", pause=0.4)
    screen, _ = ask(tmp_path, slow, "-s", "norag")
    step = "\r\x1b[Kwaiting for the model (answer)"
    assert step in screen.text
    assert "\r\x1b[K" in screen.text.partition(step)[2].partition("Bo Renn")[0]


def test_a_step_shows_the_seconds_that_it_takes(tmp_path: Path) -> None:
    screen, _ = ask(tmp_path, streamed("Bo Renn", pause=0.9), "-s", "norag")
    assert "waiting for the model (answer) · 1 s" in screen.text


def test_ctrl_c_shows_what_was_reached(tmp_path: Path) -> None:
    with serve(lambda request, n: HANG) as server:
        screen = Screen(("-s", "rag"), tmp_path, server.url, interrupt="waiting for the model")
    assert PASSAGE in screen.text


def test_a_retry_is_shown(tmp_path: Path) -> None:
    def reply(number: int) -> Fault | str:
        return Fault(500, {"error": {"message": "Busy."}}) if number == 0 else "Bo Renn"

    screen, _ = ask(tmp_path, reply, "-s", "norag")
    assert "reader.s does not answer, attempt 2 of 3" in screen.text


def test_a_pipe_gets_the_whole_answer_and_no_steps(tmp_path: Path) -> None:
    with serve(lambda request, n: completion(ANSWER), latency=0.5) as server:
        configured = {"PLUGIN": "openai", "MODEL": "m", "BASE_URL": server.url}
        environment = {f"RQA_READER__S__{key}": value for key, value in configured.items()} | {"RQA_READER": "s"}
        command = [*RQA, "ask", "-s", "norag", "Who built it?"]
        ran = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, cwd=tmp_path)
    assert ran.stdout == f"{ANSWER}\n" and "waiting" not in ran.stderr
