"""`rqa chat` on a terminal, over a language model's endpoint and over a reader without a model."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from standins.openai import HANG, Fault, Server, error, serve, streamed
from standins.serving import RQA

pytest.importorskip("prompt_toolkit", reason="pip install -e '.[chat]'")

PASSAGE = "The lighthouse was built in 1871 by the engineer Ingrid Valdane."
CONDENSED = "Who was the engineer of the lighthouse?"
ENGINEER = "The engineer Ingrid Valdane built the lighthouse"
_STYLE = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
PROMPT = "\n>"
CTRL_C, CTRL_D = "\x03", "\x04"


def reply(request: dict[str, Any], number: int) -> str | Fault:
    """The language model: it condenses, fails, hangs or answers, as the prompt demands."""
    prompt = request["messages"][-1]["content"]
    if "Last question:" in prompt:
        return CONDENSED
    if "HANG" in prompt:
        return HANG
    if "FAIL" in prompt:
        return error(400, "Not today.")
    words = f"Documents: 1\nAnswer: {ENGINEER if CONDENSED in prompt else 'In 1871'}"
    return streamed(*(f"{word} " for word in words.split(" ")), pause=0.02)


class Terminal:
    """A running `rqa chat` on a terminal of 80 columns."""

    def __init__(self, process: subprocess.Popen[bytes], descriptor: int) -> None:
        self.process = process
        self.raw = ""
        self._descriptor = descriptor
        self._seen = 0

    @property
    def screen(self) -> str:
        return _STYLE.sub("", self.raw)

    def type(self, text: str) -> None:
        os.write(self._descriptor, text.encode())

    def until(self, words: str, seconds: float = 30) -> str:
        """Wait for `words`, and return what was printed since the last call."""
        end = time.monotonic() + seconds
        while words not in self.screen[self._seen :]:
            if not select.select([self._descriptor], [], [], max(0, end - time.monotonic()))[0]:
                raise AssertionError(f"no {words!r} in {self.screen[self._seen :]!r}")
            try:
                self.raw += os.read(self._descriptor, 65536).decode()
            except OSError:  # the process has ended
                raise AssertionError(f"no {words!r} in {self.screen[self._seen :]!r}") from None
        begin, self._seen = self._seen, self.screen.index(words, self._seen) + len(words)
        return self.screen[begin : self._seen]

    def ask(self, line: str, words: str) -> str:
        """Enter a line and wait for `words`, then for the prompt."""
        self.type(f"{line}\r")
        return self.until(words) + self.until(PROMPT)

    def end(self) -> int:
        """Return the exit code."""
        while select.select([self._descriptor], [], [], 20)[0]:
            try:
                self.raw += os.read(self._descriptor, 65536).decode()
            except OSError:
                break
        return self.process.wait(20)


@contextmanager
def chatting(folder: Path, *arguments: str, model: str = "", passage: str = PASSAGE) -> Iterator[Terminal]:
    """A conversation about `passage`, at its first prompt. `model` is the URL of a language model's endpoint."""
    (folder / "light.jsonl").write_text(json.dumps({"text": passage, "title": "The light"}))
    configured = {"PLUGIN": "openai", "MODEL": "m", "BASE_URL": model, "STRUCTURED": "none", "RETRIES": "0"}
    reader = {f"RQA_READER__S__{key}": value for key, value in configured.items()} | {"RQA_READER": "s"}
    env = {**os.environ, "RQA_READER": "lexical", **(reader if model else {})}
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 80, 0, 0))
    process = subprocess.Popen(
        [*RQA, "chat", "--no-cache", "-s", "rag", "--docs", "light.jsonl", *arguments],
        env={**env, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=folder,
    )
    os.close(theirs)
    terminal = Terminal(process, ours)
    try:
        terminal.until(PROMPT, 60)
        yield terminal
    finally:
        process.kill()
        process.wait()
        os.close(ours)


@pytest.fixture(scope="module")
def model() -> Iterator[Server]:
    with serve(reply) as running:
        yield running


def test_questions_are_answered_in_the_light_of_earlier_ones(tmp_path: Path, model: Server) -> None:
    with chatting(tmp_path, model=model.url) as terminal:
        first = terminal.ask("When was the lighthouse built?", "1 call")
        assert "In 1871" in first and "[1] The light · light.jsonl" in first and PASSAGE in first
        second = terminal.ask("And by whom?", "2 calls")
        assert f"→ {CONDENSED}" in second and ENGINEER in second.partition("→")[2]
        condensing = model.requests[-2].body["messages"][-1]["content"]
        assert "user: When was the lighthouse built?\nassistant: In 1871" in condensing
        assert "Last question: And by whom?" in condensing
        assert f"“{PASSAGE}”" in terminal.ask("/sources", "”")
        terminal.type("/quit\r")
        assert terminal.end() == 0
    env = {**os.environ, "PYTHONUTF8": "1"}
    kept = json.loads(subprocess.run([*RQA, "history", "--json"], env=env, capture_output=True, check=True).stdout)
    questions = [(row["command"], row["question"]) for row in kept]
    assert questions == [("chat", CONDENSED), ("chat", "When was the lighthouse built?")]


def test_the_answer_is_printed_while_the_model_writes(tmp_path: Path) -> None:
    words = [f"{word} " for word in f"Documents: 1\nAnswer: {ENGINEER}".split(" ")]
    with (
        serve(lambda request, number: streamed(*words, pause=0.3)) as slow,
        chatting(tmp_path, model=slow.url, passage=f"{ENGINEER} in 1871.") as terminal,
    ):
        terminal.type("Who built it?\r")
        terminal.until("The engineer")
        assert not slow.requests[0].ended
        assert terminal.until("1 call").partition("[1]")[0].count(" the lighthouse") == 1  # before its quote


def test_ctrl_c_cancels_the_answer_or_the_line_and_ctrl_d_ends(tmp_path: Path, model: Server) -> None:
    with chatting(tmp_path, "-s", "norag", model=model.url) as terminal:
        terminal.type("HANG\r")
        terminal.until("waiting for the model")
        terminal.process.send_signal(signal.SIGINT)
        terminal.until("Cancelled.")
        terminal.until(PROMPT)
        terminal.type("HANG again")
        terminal.until("again")
        terminal.type(CTRL_C)
        terminal.until("/quit ends.")
        terminal.until(PROMPT)
        terminal.ask("When was it built?", "In 1871")
        terminal.type(CTRL_D)
        assert terminal.end() == 0


def test_exit_ends_as_quit_does(tmp_path: Path) -> None:
    with chatting(tmp_path) as terminal:
        terminal.type("/exit\r")
        assert terminal.end() == 0


def test_the_strategy_can_be_changed(tmp_path: Path, model: Server) -> None:
    with chatting(tmp_path, model=model.url) as terminal:
        assert "Others: cascade, astute," in terminal.ask("/strategy", "The strategy is rag.")
        terminal.ask("/strategy nonsens", "There is no strategy named 'nonsens'.")
        terminal.ask("/strategy norag", "The strategy is norag.")
        assert "norag · 1 call" in terminal.ask("When was it built?", "1 call")
        terminal.ask("/sauces", "There is no command /sauces. /help lists the commands.")


def test_earlier_questions_come_back_and_a_question_may_have_several_lines(tmp_path: Path) -> None:
    up, alt_enter = "\x1b[A", "\x1b\r"
    with chatting(tmp_path) as terminal:
        terminal.type(f"When was{alt_enter}the lighthouse built?\r")
        terminal.until(PASSAGE[:20])
        terminal.until(PROMPT)
    with chatting(tmp_path) as terminal:
        terminal.type(up)
        terminal.until("the lighthouse built?")


def test_a_follow_up_shows_how_it_was_understood_and_the_arrow_key_brings_that_back(tmp_path: Path) -> None:
    with chatting(tmp_path) as terminal:
        terminal.ask("/sources", "There is no answer yet.")
        assert "→" not in terminal.ask("When was the lighthouse built?", PASSAGE)
        assert "→ Who was the lighthouse's engineer?" in terminal.ask("Who was its engineer?", PASSAGE)
        assert 'What does "she" stand for?' in terminal.ask("And is she alive?", "Ask the whole question.")
        terminal.type("\x1b[A\x1b[A")
        terminal.until("Who was the lighthouse's engineer?")


def test_no_follow_asks_each_question_as_it_is(tmp_path: Path) -> None:
    with chatting(tmp_path, "--no-follow") as terminal:
        for question in ("When was the lighthouse built?", "Who was the engineer?"):
            assert "→" not in terminal.ask(question, PASSAGE)


def test_neither_a_passage_nor_a_model_can_steer_the_terminal(tmp_path: Path) -> None:
    evil = "\x1b]0;title\x07\x1b[2J"
    answer = f"Documents: 1\nAnswer: In {evil}1871"
    with (
        serve(lambda request, number: streamed(*answer.split(" "), pause=0.01)) as model,
        chatting(tmp_path, model=model.url, passage=f"It was built in {evil}1871.") as terminal,
    ):
        terminal.ask("When was it built?", "1 call")
        terminal.ask("/sources", "”")
        assert "1871" in terminal.screen and "]0;title" in terminal.screen
        assert "\x1b]0;" not in terminal.raw and "\x1b[2J" not in terminal.raw and "\x07" not in terminal.raw


def test_without_prompt_toolkit_it_names_the_extra() -> None:
    program = "import sys; sys.modules['prompt_toolkit'] = None; from robust_qa.main import main; main()"
    ran = subprocess.run([sys.executable, "-c", program, "chat"], input="", capture_output=True, text=True)
    assert ran.returncode == 4 and "needs prompt_toolkit" in ran.stderr and "[chat]" in ran.stderr


def test_without_a_terminal_it_names_rqa_ask() -> None:
    ran = subprocess.run([*RQA, "chat"], input="", capture_output=True, text=True)
    assert ran.returncode == 2 and 'rqa ask "QUESTION"' in ran.stderr
