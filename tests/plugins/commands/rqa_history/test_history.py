"""`rqa history`, and what `rqa ask` keeps in it."""

import json
import os
import sqlite3
import stat
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

Rqa = Callable[..., Any]

PASSAGE = "The lighthouse at Skerry Point was built by Ada Quill."
QUESTION = "Who built the lighthouse?"
LEXICAL = ("-s", "rag", "--reader", "lexical", "--passages", "-")


@pytest.fixture
def file() -> Path:
    return Path(os.environ["RQA_DATA_DIR"], "history.sqlite3")


@pytest.fixture
def ask(rqa: Rqa) -> Rqa:
    """Asks the reader `lexical`, which needs no model."""

    def asked(question: str = QUESTION, *options: object, passage: str = PASSAGE) -> Any:
        return rqa("ask", *LEXICAL, *options, question, stdin=passage)

    return asked


@pytest.fixture
def kept(rqa: Rqa) -> Callable[[], list[dict[str, Any]]]:
    """The answers in the history, newest first."""
    return lambda: json.loads(rqa("history", "-n", 1000, "--json").out)


def configure(text: str) -> None:
    """Write the user's own configuration."""
    path = Path(os.environ["RQA_CONFIG_DIR"], "config.toml")
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


# -- keeping answers


def test_the_first_answer_says_in_one_line_that_answers_are_kept_and_how_to_turn_that_off(ask: Rqa, file: Path) -> None:
    (line,) = (line for line in ask().err.splitlines() if "kept" in line)
    assert line.startswith(f"rqa: answers are kept in {file}, see `rqa history`.")
    assert "`-O history.enabled=false`" in line and "`enabled = false` under [history]" in line
    assert "kept" not in ask().err


def test_only_the_user_can_read_the_history(ask: Rqa, file: Path) -> None:
    old = os.umask(0)
    try:
        ask()
    finally:
        os.umask(old)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_an_answer_is_kept_as_rqa_ask_prints_it(ask: Rqa, rqa: Rqa) -> None:
    printed = json.loads(ask(QUESTION, "--json").out)
    whole = json.loads(rqa("history", "show", 1, "--json").out)
    own = {name: whole.pop(name) for name in ("id", "time", "command", "version")}
    assert whole == printed and whole["answer"] == PASSAGE and whole["trace"]
    assert (own["id"], own["command"]) == (1, "ask")


@pytest.mark.parametrize("options", [["--no-history"], ["-O", "history.enabled=false"]])
def test_the_history_can_be_turned_off_for_one_answer(ask: Rqa, file: Path, options: list[str]) -> None:
    assert ask(QUESTION, *options).out.startswith(PASSAGE)
    assert not file.exists()


def test_the_history_can_be_turned_off_for_good(ask: Rqa, file: Path) -> None:
    configure("[history]\nenabled = false\n")
    assert ask().out.startswith(PASSAGE)
    assert not file.exists()


def test_answers_under_an_untrusted_configuration_are_not_kept(ask: Rqa, rqa: Rqa, file: Path) -> None:
    Path("rqa.toml").write_text("[history]\nenabled = true\n")
    assert ask().out.startswith(PASSAGE)
    assert not file.exists()
    assert rqa("config", "trust").code == 0
    ask()
    assert file.exists()


@pytest.mark.parametrize("variable", ["RQA_KEY_MINE", "MINE_API_KEY", None])
def test_keys_are_not_kept(ask: Rqa, rqa: Rqa, file: Path, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    secret = 'sk-hunter2"and\\more'
    if variable:
        monkeypatch.setenv(variable, secret)
    else:
        rqa("keys", "set", "mine", "--host", "example.com", stdin=secret)
    answer = ask(f"What is {secret}?", passage=f"The key is {secret}.")
    assert secret in answer.out
    shown = rqa("history", "show", 1).out
    assert "What is ********?" in shown and "The key is ********." in shown
    assert b"hunter2" not in file.read_bytes()


# -- bounds


def test_answers_older_than_the_days_are_deleted(ask: Rqa, kept: Rqa, file: Path) -> None:
    configure("[history]\ndays = 7\n")
    for question in ("Old?", "Recent?"):
        ask(question)
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("UPDATE answers SET time = time - CASE id WHEN 1 THEN 8 ELSE 6 END * 86400")
    ask("New?")
    assert [row["question"] for row in kept()] == ["New?", "Recent?"]


def test_the_oldest_answers_are_deleted_beyond_the_size(ask: Rqa, kept: Rqa, file: Path) -> None:
    configure("[history]\nsize = 1\n")
    long = " ".join([PASSAGE, "It was rebuilt after the storm." * 3000])
    for n in range(12):
        assert ask(f"{QUESTION} {n}", passage=long).code == 0
    ids = [row["id"] for row in kept()]
    assert ids[0] == 12 and 1 not in ids and ids == sorted(ids, reverse=True)
    assert file.stat().st_size < 1.5 * 2**20


# -- processes, and files that cannot be used


def test_several_processes_keep_their_answers_in_a_new_file(installed: str, kept: Rqa) -> None:
    commands = [
        subprocess.Popen([installed, "ask", *LEXICAL, f"{QUESTION} {n}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for n in range(4)
    ]
    for command in commands:
        assert command.communicate(PASSAGE.encode(), timeout=120)[0].startswith(PASSAGE.encode())
    assert {row["question"] for row in kept()} == {f"{QUESTION} {n}" for n in range(4)}


def test_a_folder_that_cannot_be_used_costs_a_warning_and_no_answer(
    ask: Rqa, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("RQA_DATA_DIR", str(tmp_path / "file" / "data"))
    ended = ask()
    assert ended.code == 0 and ended.out.startswith(PASSAGE)
    assert ended.err.count("the answer is not in the history:") == 1


@pytest.fixture
def damaged(ask: Rqa, file: Path) -> Path:
    ask()
    file.write_bytes(b"This is no database." * 500)
    return file


def test_a_damaged_file_costs_a_warning_and_no_answer(ask: Rqa, damaged: Path) -> None:
    ended = ask()
    assert ended.code == 0 and ended.out.startswith(PASSAGE)
    assert f"The history {damaged} cannot be used: file is not a database." in ended.err
    assert "`rqa history rm --all`" in ended.err


def test_a_damaged_file_is_an_error_of_rqa_history_and_can_be_removed(ask: Rqa, rqa: Rqa, damaged: Path) -> None:
    assert (rqa("history").code, rqa("history", "show", 1).code) == (1, 1)
    assert rqa("history", "rm", "--all").code == 0
    ask()
    assert len(rqa("history").out.splitlines()) == 1


# -- the commands


def test_the_newest_answers_are_listed_first(ask: Rqa, rqa: Rqa) -> None:
    for n in range(3):
        ask(f"{QUESTION} {n}")
    lines = rqa("history").out.splitlines()
    assert [line.split()[0] for line in lines] == ["3", "2", "1"]
    assert lines[0].endswith(f"  {QUESTION} 2  {PASSAGE}")
    assert [line.split()[0] for line in rqa("history", "-n", 1).out.splitlines()] == ["3"]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["QUILL"], [2]),
        (["storm", "which"], [1]),
        (["ligh"], [2]),
        (["quill", "storm"], []),
        (["gale"], []),  # only a passage has it
        (["100%", "_"], []),
    ],
)
def test_a_search_finds_all_words_in_questions_and_answers(
    ask: Rqa, rqa: Rqa, words: list[str], found: list[int]
) -> None:
    ask("Which storm?", passage="Nothing was said. The gale of 1912 took the roof.")
    ask(QUESTION)
    assert [row["id"] for row in json.loads(rqa("history", "search", *words, "--json").out)] == found


def test_matches_in_questions_and_answers_come_before_newer_ones_in_quotes(ask: Rqa, rqa: Rqa) -> None:
    titled = json.dumps({"text": PASSAGE, "title": "A chronicle"})
    ask("Who wrote the chronicle of the lighthouse?")
    ask(QUESTION, passage=titled)
    ask()
    for words, found in (["chronicle"], [1, 2]), (["a chronicle"], [2]):
        assert [row["id"] for row in json.loads(rqa("history", "search", *words, "--json").out)] == found


def test_an_export_has_all_whole_answers_the_oldest_first(ask: Rqa, rqa: Rqa) -> None:
    assert rqa("history", "export").out == ""
    for n in range(2):
        ask(f"{QUESTION} {n}")
    exported = [json.loads(line) for line in rqa("history", "export").out.splitlines()]
    assert exported == [json.loads(rqa("history", "show", id, "--json").out) for id in (1, 2)]


def test_an_answer_is_shown_with_its_sources(ask: Rqa, rqa: Rqa) -> None:
    printed = ask().out
    shown = rqa("history", "show", 1)
    question, when, _, rest = shown.out.split("\n", 3)
    assert question == QUESTION and when.endswith(" · rqa ask") and rest == printed
    assert "rag · " in shown.err


def test_on_a_narrow_terminal_the_answer_stands_below_the_whole_question(
    ask: Rqa, rqa: Rqa, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask()
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "50")
    asked, answered = rqa("history").out.splitlines()
    assert asked.endswith(QUESTION) and "The lighthouse at Skerry" in answered and "…" in answered


def test_a_passage_cannot_steer_the_terminal(ask: Rqa, rqa: Rqa) -> None:
    ask("Who\x1b]0;title\x07 built it?", passage="It was built by \x1b[2JAda.")
    for arguments in (["history"], ["history", "show", 1], ["history", "show", 1, "--json"]):
        ended = rqa(*arguments)
        assert "built" in ended.out and "\x1b" not in ended.out and "\x07" not in ended.out


def test_a_deleted_answer_is_gone_from_the_disk(ask: Rqa, rqa: Rqa, file: Path) -> None:
    ask("What is a secret of mine?")
    ask()
    assert rqa("history", "rm", 1).code == 0
    assert [line.split()[0] for line in rqa("history").out.splitlines()] == ["2"]
    assert all(b"secret of mine" not in each.read_bytes() for each in file.parent.glob("history*"))


@pytest.mark.parametrize("arguments", [["show", 7], ["rm", 1, 7]])
def test_an_unknown_id_is_an_error(ask: Rqa, rqa: Rqa, kept: Rqa, arguments: list[object]) -> None:
    ask()
    ended = rqa("history", *arguments)
    assert ended.code == 2 and "The history has no answer 7." in ended.err
    assert len(kept()) == 1


@pytest.mark.parametrize("arguments", [[], ["1", "--all"]])
def test_rm_needs_either_ids_or_all(rqa: Rqa, arguments: list[str]) -> None:
    assert rqa("history", "rm", *arguments).code == 2


def test_a_number_alone_shows_that_answer(rqa: Rqa, ask: Rqa) -> None:
    ask()
    assert rqa("history", 1).out == rqa("history", "show", 1).out != ""


def test_open_shows_a_source_of_the_last_answer_in_its_document(rqa: Any, tmp_path: Path) -> None:
    (tmp_path / "light.md").write_text("# The light\n\nIt is white.\n\nThe last keeper was Joan Pascoe.\n")
    assert rqa("open").code == 2
    rqa("ask", "-d", tmp_path, "Who was the last keeper?")
    opened = rqa("open", "1").out.splitlines()
    assert (
        opened[0].endswith("light.md:5")
        and "It is white." in opened
        and opened[-1] == "The last keeper was Joan Pascoe."
    )
    assert "There is no source 9" in rqa("open", "9").err


def test_a_question_of_the_history_is_asked_again(rqa: Any, tmp_path: Path) -> None:
    (tmp_path / "light.md").write_text("The last keeper was Joan Pascoe.\n")
    rqa("index", tmp_path)
    rqa("ask", "Who was the last keeper?")
    assert rqa("history", "again", "1").out.startswith("Joan Pascoe")
