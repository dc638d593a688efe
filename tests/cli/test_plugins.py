"""`rqa plugins`: list and check plugins, and commands of plugins."""

import json
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from standins.distributions import plugin_source

Rqa = Callable[..., Any]
Install = Callable[..., Path]

BAD = "raise ValueError('no luck')"
GOOD = plugin_source("reader", "good")


@pytest.fixture(autouse=True)
def _installed(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    install("third-party", {"good": GOOD, "late": plugin_source("reader", "good")}, version="3.2")
    install("a-bad-one", {"bad": BAD}, version="0.1")
    monkeypatch.setenv("RQA_PLUGINS", "good,late,bad")


def rows(ended: Any) -> dict[tuple[str, str], dict[str, Any]]:
    return {(row["plugin"], row["state"]): row for row in plugins(ended) if row["state"] != "off"}


def plugins(ended: Any) -> list[dict[str, Any]]:
    """The rows of plugins, without those of the host's own components."""
    return [row for row in json.loads(ended.out) if row["plugin"] != "rqa"]


def test_every_plugin_is_listed_the_broken_ones_with_the_reason(rqa: Rqa) -> None:
    ended = rqa("plugins", "--json")
    assert ended.code == 0
    assert rows(ended) == {
        ("good", "loaded"): {
            "name": "good", "kind": "reader", "plugin": "good", "distribution": "third-party", "version": "3.2",
            "state": "loaded", "reason": "", "summary": "Does nothing.",
        },
        ("late", "refused"): {
            "name": "good", "kind": "reader", "plugin": "late", "distribution": "third-party", "version": "3.2",
            "state": "refused", "reason": "plugin good of third-party already has this name",
            "summary": "Does nothing.",
        },
        ("bad", "broken"): {
            "name": "bad", "kind": "", "plugin": "bad", "distribution": "a-bad-one", "version": "0.1",
            "state": "broken", "reason": "ValueError: no luck", "summary": "",
        },
    }  # fmt: skip


def test_the_table_for_people_has_the_same(rqa: Rqa) -> None:
    lines = [line.split() for line in rqa("plugins").out.splitlines()]
    assert ["name", "kind", "distribution", "version", "state", "about"] in lines
    assert ["bad", "a-bad-one", "0.1", "broken"] in lines
    assert ["bad:", "ValueError:", "no", "luck"] in lines


@pytest.mark.parametrize("columns", ["60", "80", "120"])
def test_the_table_shows_state_and_reason_at_any_width(
    rqa: Rqa, columns: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RQA_PLUGINS")
    monkeypatch.setenv("COLUMNS", columns)
    folder = tmp_path / "a-client-of-ours" / "answers-over-their-handbook" / "plugins"
    folder.mkdir(parents=True)
    (folder / "notes.py").write_text("x = (")
    out = rqa("--plugin", folder / "notes.py", "plugins").out
    assert re.search(r"^notes .* broken *$", out, re.MULTILINE)
    assert "notes: SyntaxError: '(' was never closed" in out and len(out.splitlines()) < 170


@pytest.mark.parametrize("command", [["plugins"], ["config", "check"], ["ask", "Q?"], ["--help"]])
def test_each_problem_is_printed_once_on_stderr(rqa: Rqa, command: list[str]) -> None:
    ended = rqa(*command)
    assert ended.err.count("cannot load plugin bad (a-bad-one): ValueError: no luck") == 1
    assert ended.err.count("cannot register reader 'good' of plugin late (third-party): plugin good of") == 1


def test_a_broken_plugin_does_not_break_commands(rqa: Rqa) -> None:
    assert rqa("--help").code == 0
    assert rqa("config", "check").code == 0


@pytest.mark.parametrize("by_variable", [True, False])
def test_strict_plugins_end_the_command(rqa: Rqa, by_variable: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if by_variable:
        monkeypatch.setenv("RQA_STRICT_PLUGINS", "1")
    ended = rqa(*([] if by_variable else ["--strict-plugins"]), "plugins")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == "rqa: Cannot load plugin bad (a-bad-one): ValueError: no luck\n"


def test_a_chosen_plugin_that_is_not_installed_is_reported(rqa: Rqa, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RQA_PLUGINS", "goood")
    ended = rqa("plugins", "--json")
    assert ended.code == 0 and "Did you mean 'good'?" in ended.err
    assert rows(ended)["goood", "broken"]["distribution"] == ""


def test_none_means_none(rqa: Rqa, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RQA_PLUGINS", "none")
    ended = rqa("plugins", "--json")
    assert {row["state"] for row in plugins(ended)} == {"off"} and ended.err == ""


def test_a_plugin_by_path(rqa: Rqa, tmp_path: Path) -> None:
    (tmp_path / "notes.py").write_text(plugin_source("retriever", "notes"))
    assert ("notes", "loaded") in rows(rqa("--plugin", tmp_path / "notes.py", "plugins", "--json"))


@pytest.mark.parametrize("command", [["plugins"], ["ask", "Where?"], ["eval", "questions.jsonl"]])
def test_a_plugin_path_that_does_not_exist_is_a_usage_error(rqa: Rqa, tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "empty").mkdir()
    for path, missing in (("missing.py", "missing.py"), ("empty", "empty/__init__.py")):
        ended = rqa("--plugin", tmp_path / path, *command)
        assert (ended.code, ended.out) == (2, "")
        assert f"there is no file '{tmp_path / missing}'" in ended.err and "rqa plugins new" in ended.err


def test_the_users_and_a_named_configuration_load_plugins_by_path(rqa: Rqa, tmp_path: Path) -> None:
    (tmp_path / "notes.py").write_text(plugin_source("retriever", "notes"))
    named = tmp_path / "named.toml"
    named.write_text("plugins = ['notes.py']\n")
    assert ("notes", "loaded") in rows(rqa("--config", named, "plugins", "--json"))


COMMANDS = """
import click
from robust_qa import hookimpl
@hookimpl
def rqa_register(registry):
    @click.command(help="not the built-in one")
    def ask():
        click.echo("taken")
    @click.command(help="Say hello.")
    def greet():
        click.echo("hello")
    registry.command("ask", ask)
    registry.command("greet", greet, summary="Say hello.")
"""


@pytest.fixture
def greeting(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    install("greeter", {"greeting": COMMANDS})
    monkeypatch.setenv("RQA_PLUGINS", "greeting")


@pytest.mark.usefixtures("greeting")
def test_a_plugin_brings_a_command_and_replaces_none(rqa: Rqa) -> None:
    ended = rqa("greet")
    assert (ended.code, ended.out) == (0, "hello\n")
    refused = (
        "cannot register command 'ask' of plugin greeting (greeter): plugin rqa of robust-qa already has this name"
    )
    assert ended.err.count(refused) == 1
    assert "not the built-in one" not in rqa("ask", "--help").out
    assert "Commands of plugins:\n  greet  Say hello.\n" in rqa("--help").out


@pytest.mark.usefixtures("greeting")
def test_a_refused_command_is_listed_with_the_reason(rqa: Rqa) -> None:
    row = next(row for row in json.loads(rqa("plugins", "--json").out) if row["state"] == "refused")
    assert row["reason"] == "plugin rqa of robust-qa already has this name"


def test_what_a_plugin_says_of_itself_does_not_steer_the_terminal(rqa: Rqa, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(plugin_source("reader", "a").replace("Does nothing.", "x\\x1b[31m"))
    (tmp_path / "b.py").write_text("raise ValueError('\\x1b[31m\\u202e')")
    ended = rqa("--plugin", tmp_path / "a.py", "--plugin", tmp_path / "b.py", "plugins")
    assert not set(ended.out + ended.err) & set("\x1b\u202e")


def test_what_comes_after_new_is_a_line_that_can_be_run(rqa: Rqa, tmp_path: Path) -> None:
    ended = rqa("plugins", "new", "My Notes", "--into", tmp_path / "my own")
    folder = f"{tmp_path}/my own/rqa-my-notes"
    assert (
        ended.err == f"Next: pip install -e '{folder}[dev]' && cd '{folder}' && pytest && rqa plugins check my-notes\n"
    )


def test_a_check_without_the_needed_model_does_not_blame_the_component(
    rqa: Rqa, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RQA_PLUGINS", "bm25")
    ended = rqa("plugins", "check", "bm25")
    assert (ended.code, ended.out) == (4, "")
    assert ended.err.startswith("rqa: There is no index at ") and "Create one with `rqa index PATH...`." in ended.err


def test_a_check_of_a_component_whose_server_is_down_has_findings(rqa: Rqa, tmp_path: Path) -> None:
    (tmp_path / "down.py").write_text(
        "from robust_qa import UnavailableError, hookimpl\nclass Down:\n    def fingerprint(self):\n"
        "        raise UnavailableError('The server is down.')\n    def retrieve(self, query, k):\n        return []\n"
        "@hookimpl\ndef rqa_register(registry):\n    registry.retriever('down', Down)\n"
    )
    ended = rqa("--plugin", tmp_path / "down.py", "plugins", "check", "down")
    assert ended.code == 1 and "FAILED" in ended.out and "ok" in ended.out


def test_a_check_takes_options_of_the_component(rqa: Rqa, tmp_path: Path) -> None:
    (tmp_path / "note.py").write_text(
        "from dataclasses import dataclass\nfrom robust_qa import Passage, hookimpl\nclass Note:\n"
        "    @dataclass\n    class Options:\n        text: str = ''\n"
        "    def __init__(self, options):\n        self.text = options.text\n"
        "    def retrieve(self, query, k):\n        return [Passage(self.text)]\n"
        "@hookimpl\ndef rqa_register(registry):\n    registry.retriever('note', Note)\n"
    )
    check = ("--plugin", tmp_path / "note.py", "plugins", "check", "note")
    assert rqa(*check).code == 1  # a passage without text
    assert rqa(*check, "-O", "retriever.note.text=Ada").code == 0
    mistyped = rqa(*check, "-O", "retriever.note.txt=Ada")
    assert mistyped.code == 2 and "Did you mean 'text'?" in mistyped.err


def test_a_check_of_an_unknown_component_does_not_guess_its_kind(rqa: Rqa) -> None:
    ended = rqa("plugins", "check", "goood")
    assert (ended.code, ended.err.splitlines()[-2:]) == (
        2,
        ["rqa: There is no component 'goood'.", "     Did you mean 'good'?"],
    )


def test_a_name_of_several_kinds_needs_the_kind_option(rqa: Rqa, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RQA_PLUGINS", "lexical")
    ended = rqa("plugins", "check", "lexical")
    assert (ended.code, ended.err) == (
        2,
        "rqa: 'lexical' names components of several kinds: reader and evaluator.\n     Add --kind reader.\n",
    )


PRINTING = """
import time
from dataclasses import dataclass
from pathlib import Path
from robust_qa import IndexReport, Passage, Reading, hookimpl

class Loud:
    def retrieve(self, query, k):
        print("loud")
        return [Passage("Ada serviced it.")]

class Slow(Loud):
    @dataclass
    class Options:
        index: Path | None = None

    def __init__(self, options):
        pass

    def index(self, paths, progress=None):
        Path("indexing").touch()
        time.sleep(60)
        return IndexReport()

class Chatty:
    def read(self, question, passages):
        print("chatty")
        return Reading("Ada", passages=(0,)) if passages else Reading(None)

@hookimpl
def rqa_register(registry):
    registry.retriever("loud", Loud)
    registry.retriever("slow", Slow)
    registry.reader("chatty", Chatty)
"""


@pytest.fixture
def printing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RQA_PLUGINS", "rag")
    (tmp_path / "printing.py").write_text(PRINTING)
    return tmp_path / "printing.py"


CLOSING = """
from dataclasses import dataclass
from pathlib import Path
from robust_qa import IndexReport, Passage, hookimpl

class Shelf:
    @dataclass
    class Options:
        index: Path = Path("index")
        report: str = "IndexReport(passages=1)"

    def __init__(self, options):
        self.report = options.report

    def retrieve(self, query, k):
        return [Passage("Ada serviced it.")]

    def index(self, paths, progress=None):
        return eval(self.report)

    async def close(self):
        print("closed")

@hookimpl
def rqa_register(registry):
    registry.retriever("shelf", Shelf)
"""


@pytest.fixture
def closing(tmp_path: Path) -> Path:
    (tmp_path / "closing.py").write_text(CLOSING)
    return tmp_path / "closing.py"


def test_a_component_that_was_checked_or_has_indexed_is_closed(rqa: Rqa, closing: Path) -> None:
    checked = rqa("--plugin", closing, "plugins", "check", "shelf")
    assert "closed" in checked.err and "ok      `close` ends it" in checked.out.splitlines()
    indexed = rqa("--plugin", closing, "index", closing, "-r", "shelf")
    assert (indexed.code, (indexed.out + indexed.err).count("closed")) == (0, 1)


@pytest.mark.parametrize(
    ("report", "code", "message"),
    [
        ("{}['lang']", 1, "retriever.shelf failed with KeyError: 'lang'."),
        ("__import__('sys').exit(3)", 1, "retriever.shelf failed with SystemExit: 3."),
        ("open(__file__ + '/x')", 1, "retriever.shelf failed with NotADirectoryError: "),
        ("__import__('socket').create_connection(('127.0.0.1', 1))", 5, "retriever.shelf failed: "),
        ("None", 1, "`index` of retriever.shelf returned None, not an IndexReport."),
    ],
)
def test_an_index_that_fails_is_the_fault_of_its_retriever(
    rqa: Rqa, closing: Path, report: str, code: int, message: str
) -> None:
    ended = rqa("--plugin", closing, "index", closing, "-r", "shelf", "-O", f"retriever.shelf.report={report}")
    assert ended.code == code and message in ended.err and "closed" in ended.out + ended.err


def test_prints_of_a_plugin_are_not_part_of_the_answer(rqa: Rqa, installed: str, printing: Path) -> None:
    asked = rqa("--plugin", printing, "ask", "-r", "loud", "--reader", "chatty", "--json", "Who?")
    assert json.loads(asked.out)["answer"] == "Ada" and "loud\nchatty\n" in asked.err
    command = [installed, "--plugin", printing, "batch", "--no-cache", "-r", "loud", "--reader", "chatty"]
    batch = subprocess.run(command, input="Who?\n", capture_output=True, text=True, timeout=60, check=True)
    assert json.loads(batch.stdout)["answer"] == "Ada" and "loud\nchatty\n" in batch.stderr
    checked = rqa("--plugin", printing, "plugins", "check", "chatty")
    assert "chatty" in checked.err and all(line[:7] in ("ok     ", "FAILED ") for line in checked.out.splitlines())


def test_prints_during_loading_are_not_part_of_the_output(rqa: Rqa, tmp_path: Path) -> None:
    path = tmp_path / "loud.py"
    path.write_text("print('imported')\n" + plugin_source("reader", "loud", before="print('registered')"))
    listed = rqa("--plugin", path, "plugins", "--json")
    assert json.loads(listed.out) and {"imported", "registered"} <= {*listed.err.splitlines()}


def test_an_interruption_while_documents_are_indexed_for_a_question_ends_at_once(
    installed: str, printing: Path, tmp_path: Path
) -> None:
    command = [installed, "--plugin", printing, "-q", "ask", "-O", "defaults.retriever=slow", "-d", tmp_path, "Who?"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE) as child:
        while not (tmp_path / "indexing").exists():
            assert child.poll() is None
            time.sleep(0.02)
        began = time.monotonic()
        child.send_signal(signal.SIGINT)
        assert child.communicate(timeout=30)[1] == b"" and child.returncode == 130
        assert time.monotonic() - began < 10
