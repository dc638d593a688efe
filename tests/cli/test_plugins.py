"""`rqa plugins`: list and check plugins, and commands of plugins."""

import json
import subprocess
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


@pytest.mark.parametrize("command", [["plugins"], ["config", "check"], ["ask", "Q?"], ["--help"]])
def test_each_problem_is_printed_once_on_stderr(rqa: Rqa, command: list[str]) -> None:
    ended = rqa(*command)
    assert ended.err.count("cannot load plugin bad (a-bad-one): ValueError: no luck") == 1
    assert ended.err.count("cannot register reader 'good' of plugin late (third-party): plugin good of") == 1


def test_strict_plugins_end_the_command(rqa: Rqa, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RQA_STRICT_PLUGINS", "1")
    ended = rqa("plugins")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == "rqa: error: Cannot load plugin bad (a-bad-one): ValueError: no luck\n"


def test_a_pipe_gets_a_tab_separated_line_for_each_component(rqa: Rqa) -> None:
    header, *lines = rqa("plugins").out.splitlines()
    assert header.split("\t") == ["name", "kind", "distribution", "version", "state", "summary", "reason"]
    assert ["good", "reader", "third-party", "3.2", "loaded", "Does nothing.", ""] in [
        line.split("\t") for line in lines
    ]


def test_a_plugin_by_path(rqa: Rqa, tmp_path: Path) -> None:
    (tmp_path / "notes.py").write_text(plugin_source("retriever", "notes"))
    assert ("notes", "loaded") in rows(rqa("--plugin", tmp_path / "notes.py", "plugins", "--json"))


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


@pytest.mark.parametrize("kind", ["retriever", "reader"])
def test_a_plugin_named_like_a_built_in_ends_the_command_that_would_use_it(
    rqa: Rqa, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setenv("RQA_PLUGINS", "bm25,lexical,rag,batch,local,index,history,text,data")
    name = {"retriever": "bm25", "reader": "lexical"}[kind]
    (tmp_path / "mine.py").write_text(plugin_source(kind, name))
    (tmp_path / "notes.txt").write_text("Ada serviced the boiler.")
    command = [
        "--plugin",
        tmp_path / "mine.py",
        "ask",
        "-d",
        tmp_path / "notes.txt",
        "-r",
        "bm25",
        "Who serviced the boiler?",
    ]
    ended = rqa(*command)
    assert (ended.code, ended.out) == (2, "")
    assert (
        f"Plugin {name} of robust-qa and Plugin mine of {tmp_path / 'mine.py'} both have {kind} '{name}'" in ended.err
    )
    assert f"RQA_PLUGINS=-{name} or RQA_PLUGINS=-mine" in ended.err
    monkeypatch.setenv("RQA_PLUGINS", "bm25,lexical,rag,-mine,batch,local,index,history,text,data")
    assert "Ada serviced the boiler." in rqa(*command).out
    assert rqa("plugins").code == 0


@pytest.mark.usefixtures("greeting")
def test_a_command_named_like_a_built_in_ends_that_command(rqa: Rqa, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = rqa("ask", "Who?")
    assert ended.code == 2
    assert "Plugin rqa of robust-qa and Plugin greeting of greeter both have command 'ask'" in ended.err
    assert "Leave one of the two out: RQA_PLUGINS=-greeting\n" in ended.err


def test_a_plugin_with_a_component_and_a_command_is_listed_with_both(rqa: Rqa, tmp_path: Path) -> None:
    after = "import click; registry.command('greet', click.Command('greet'), summary='Say hello.')"
    (tmp_path / "both.py").write_text(plugin_source("reader", "both", after=after))
    listed = plugins(rqa("--plugin", tmp_path / "both.py", "plugins", "--json"))
    assert [(row["kind"], row["name"], row["summary"]) for row in listed if row["plugin"] == "both"] == [
        ("reader", "both", "Does nothing."),
        ("command", "greet", "Say hello."),
    ]


def test_texts_of_a_plugin_cannot_steer_the_terminal(rqa: Rqa, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(plugin_source("reader", "a").replace("Does nothing.", "x\\x1b[31m"))
    (tmp_path / "b.py").write_text("raise ValueError('\\x1b[31m\\u202e')")
    ended = rqa("--plugin", tmp_path / "a.py", "--plugin", tmp_path / "b.py", "plugins")
    assert not set(ended.out + ended.err) & set("\x1b\u202e")


def test_a_check_without_the_needed_model_does_not_blame_the_component(
    rqa: Rqa, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RQA_PLUGINS", "bm25,plugins,batch,local,index,history,text,data")
    ended = rqa("plugins", "check", "bm25")
    assert (ended.code, ended.out) == (4, "")
    assert (
        ended.err.startswith("rqa: error: There is no index at ")
        and "Create one with `rqa index PATH...`." in ended.err
    )


def test_a_check_of_a_component_whose_server_is_down_has_findings(
    rqa: Rqa, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RQA_PLUGINS", "plugins")
    (tmp_path / "down.py").write_text(
        "from robust_qa import UnavailableError, hookimpl\nclass Down:\n    def fingerprint(self):\n"
        "        raise UnavailableError('The server is down.')\n    def retrieve(self, query, k):\n        return []\n"
        "@hookimpl\ndef rqa_register(registry):\n    registry.retriever('down', Down)\n"
    )
    ended = rqa("--plugin", tmp_path / "down.py", "plugins", "check", "down")
    assert ended.code == 1 and "FAILED" in ended.out and "ok" in ended.out


PRINTING = """
from robust_qa import Passage, Reading, hookimpl

class Loud:
    def retrieve(self, query, k):
        print("loud")
        return [Passage("Ada serviced it.")]

class Chatty:
    def read(self, question, passages):
        print("chatty")
        return Reading("Ada", passages=(0,)) if passages else Reading(None)

@hookimpl
def rqa_register(registry):
    registry.retriever("loud", Loud)
    registry.reader("chatty", Chatty)
"""


@pytest.fixture
def printing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RQA_PLUGINS", "rag,plugins,batch,local,index,history,text,data")
    (tmp_path / "printing.py").write_text(PRINTING)
    return tmp_path / "printing.py"


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
