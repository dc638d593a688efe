"""What is piped into `rqa ask` is a document, and a script's stdin is left alone."""

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

NOTES = "# The light\n\nThe last keeper was Joan Pascoe.\n"
WHO = "Who was the last keeper?"
FORMATS = {
    "Markdown": (NOTES, "The light · standard input.md:3"),
    "text": ("The last keeper was Joan Pascoe.\nShe left in 1985.\n", "standard input:1"),
    "HTML": (
        "<!doctype html><title>The light</title><p>The last keeper was Joan Pascoe.",
        "The light · standard input",
    ),
    "mail": (
        "From: a@example.org\nSubject: The light\n\nThe last keeper was Joan Pascoe.\n",
        "The light · standard input",
    ),
    "CSV": ("post,name\nfirst keeper,Ann Rowe\nlast keeper,Joan Pascoe\n", "standard input.csv:3"),
    "JSON lines": ('{"text": "The last keeper was Joan Pascoe."}\n{"text": "x"}\n', "standard input.jsonl:1"),
}


@pytest.fixture
def ask(installed: str) -> Any:
    def run(*arguments: str, **given: Any) -> subprocess.CompletedProcess[bytes]:
        command = [installed, "ask", "--no-history", *arguments]
        return subprocess.run(command, capture_output=True, timeout=60, check=False, **given)

    return run


@pytest.mark.parametrize("name", FORMATS)
def test_a_pipe_is_a_document_of_the_format_that_its_content_tells(ask: Any, name: str) -> None:
    content, place = FORMATS[name]
    ended = ask(WHO, input=content.encode())
    assert ended.returncode == 0
    assert b"Joan Pascoe" in ended.stdout and place.encode() in ended.stdout


def test_a_file_with_first_bytes_of_its_own_is_read_from_the_pipe(ask: Any, tmp_path: Path) -> None:
    docx = pytest.importorskip("docx")
    file = docx.Document()
    file.add_paragraph("The last keeper was Joan Pascoe.")
    file.save(str(tmp_path / "light.docx"))
    assert b"Joan Pascoe" in ask(WHO, input=(tmp_path / "light.docx").read_bytes()).stdout


@pytest.mark.parametrize("command", ["ask", "search"])
def test_docs_may_name_stdin_beside_files(installed: str, tmp_path: Path, command: str) -> None:
    (tmp_path / "first.txt").write_text("The first keeper was Ann Rowe.")
    run = [installed, command, "--docs", "-", "--docs", str(tmp_path / "first.txt"), "first and last keeper"]
    ended = subprocess.run(run, input=NOTES.encode(), capture_output=True, timeout=60, check=False)
    assert b"Joan Pascoe" in ended.stdout and b"Ann Rowe" in ended.stdout


def test_a_question_needs_no_quotation_marks(ask: Any) -> None:
    assert ask(*WHO.split(), input=NOTES.encode()).stdout.startswith(b"Joan Pascoe")


def test_a_question_on_stdin_is_still_a_question(ask: Any, tmp_path: Path) -> None:
    (tmp_path / "light.md").write_text(NOTES)
    assert ask("--docs", str(tmp_path), input=WHO.encode()).stdout.startswith(b"Joan Pascoe")


def test_docs_from_stdin_need_the_question_as_an_argument(ask: Any) -> None:
    ended = ask("--docs", "-", input=NOTES.encode())
    assert ended.returncode == 2 and b"give the question as an argument" in ended.stderr


def test_docs_from_an_empty_stdin_are_an_error(ask: Any) -> None:
    ended = ask("--docs", "-", WHO, stdin=subprocess.DEVNULL)
    assert ended.returncode == 2 and b"There is no document on stdin." in ended.stderr


class TestStdinOfAScript:
    """The index answers, as if stdin were a terminal."""

    @pytest.fixture(autouse=True)
    def index(self, installed: str, tmp_path: Path) -> None:
        (tmp_path / "light.md").write_text(NOTES)
        subprocess.run([installed, "index", str(tmp_path / "light.md")], check=True, capture_output=True)

    def test_empty(self, ask: Any) -> None:
        assert ask(WHO, stdin=subprocess.DEVNULL).stdout.startswith(b"Joan Pascoe")
        assert ask(WHO, input=b"").stdout.startswith(b"Joan Pascoe")

    def test_closed(self, ask: Any) -> None:
        assert ask(WHO, preexec_fn=lambda: os.close(0)).stdout.startswith(b"Joan Pascoe")

    def test_the_questions_of_a_loop(self, installed: str, tmp_path: Path) -> None:
        (tmp_path / "questions").write_text(f"{WHO}\n{WHO}\n")
        loop = f'while read -r q; do {installed} ask --no-history "$q"; done < "$1"'
        ended = subprocess.run(["sh", "-c", loop, "sh", tmp_path / "questions"], capture_output=True, check=False)
        assert ended.stdout.count(b"\n\n[1]") == 2

    def test_a_pipe_into_which_nobody_writes(self, ask: Any) -> None:
        reads, writes = os.pipe()
        started = time.monotonic()
        ended = ask(WHO, stdin=reads)
        os.close(writes)
        os.close(reads)
        assert ended.stdout.startswith(b"Joan Pascoe") and b"nothing came from the pipe" in ended.stderr
        assert time.monotonic() - started < 50

    def test_docs_that_are_named(self, ask: Any, tmp_path: Path) -> None:
        (tmp_path / "other.txt").write_text("The last keeper was Ann Rowe.")
        ended = ask("--json", "--docs", str(tmp_path / "other.txt"), WHO, input=NOTES.encode())
        assert json.loads(ended.stdout)["answer"] == "Ann Rowe"
