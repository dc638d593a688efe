"""The command as a process: streams, exit codes, interrupts and imports."""

import io
import os
import platform
import re
import signal
import stat
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import robust_qa
from robust_qa import Exit, __version__
from robust_qa.main import COMMANDS

Rqa = Callable[..., Any]

ROOT = Path(__file__).parents[2]
BROKEN_TOML = "[defaults\n"


def process(*args: object, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*map(str, args)], capture_output=True, text=True, timeout=60, check=False, **options)


@pytest.fixture(autouse=True)
def _no_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RQA_PLUGINS", "none")


def test_the_version(installed: str) -> None:
    ended = process(installed, "--version")
    origin = Path(robust_qa.__file__).parent
    assert ended.stdout == f"rqa {__version__} from {origin} (Python {platform.python_version()})\n"
    assert (ended.returncode, ended.stderr) == (0, "")


COMMANDS_AND_GROUPS = [
    *COMMANDS,
    *(f"config {name}" for name in ("show", "check", "path", "trust")),
    *(f"keys {name}" for name in ("set", "list", "rm")),
]


@pytest.mark.parametrize("command", COMMANDS_AND_GROUPS)
def test_every_command_has_help_with_an_example(rqa: Rqa, command: str) -> None:
    ended = rqa(*command.split(), "--help")
    assert (ended.code, ended.err) == (0, "")
    assert f"Usage: rqa {command}" in ended.out
    assert "Example: rqa " in ended.out or "Examples: rqa " in ended.out


@pytest.mark.parametrize(
    "command",
    ["index", "init", "completion", "history", "cache info", "cache clear", "plugins new", "plugins check"],
)
def test_every_command_of_the_set_up_has_help_with_an_example(
    rqa: Rqa, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RQA_PLUGINS", "index,init,completion,history,cache,plugins")
    test_every_command_has_help_with_an_example(rqa, command)


def test_help_puts_many_options_into_groups(rqa: Rqa) -> None:
    own, search, answer, _ = rqa("ask", "--help").out.partition("Options:\n")[2].split(":\n")
    assert "--explain" in own and "--docs PATH" in search and "--strategy NAME" in answer
    assert "Search:" not in rqa("keys", "--help").out


def test_an_error_is_a_line_and_a_hint_on_stderr(rqa: Rqa, tmp_path: Path) -> None:
    ended = rqa("--config", tmp_path / "missing.toml", "config", "show")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.splitlines() == [
        f"rqa: error: Cannot read the configuration {tmp_path / 'missing.toml'}: No such file or directory.",
        "hint: Write a starter file with `rqa init`.",
    ]


@pytest.mark.parametrize("width", [60, 80, 140])
def test_a_message_is_wrapped_between_words_and_coloured_on_a_terminal(
    width: int, rqa: Rqa, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shown(**variables: str) -> str:
        screen = io.StringIO()
        screen.isatty = lambda: True  # type: ignore[method-assign]
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stderr", screen)
            for name, value in {"COLUMNS": str(width), "TERM": "xterm", **variables}.items():
                patch.setenv(name, value)
            rqa("help", "nope")
        return screen.getvalue()

    plain = shown(NO_COLOR="1").replace("\x1b[1m", "").replace("\x1b[0m", "")  # bold is no colour
    first, *rest = plain.splitlines()
    assert first == "rqa: error: There is no manual page on 'nope'." and rest[0].startswith("hint: The topics are ask,")
    assert all(len(line) <= width and line.startswith("      ") for line in rest[1:]) and len(rest) > 1
    assert " ".join([first, *map(str.strip, rest)]) == " ".join(rqa("help", "nope").err.splitlines())
    assert "\x1b[1;31mrqa: error:" in shown()


@pytest.mark.parametrize("command", [["--help"], ["ask", "--help"], ["keys", "list"], ["--version"]])
def test_help_and_keys_work_beside_a_broken_configuration(rqa: Rqa, command: list[str]) -> None:
    Path("rqa.toml").write_text(BROKEN_TOML)
    assert rqa(*command).code == 0


FAILING = """
import click, time
from robust_qa import hookimpl
@hookimpl
def rqa_register(registry):
    @click.command()
    def fail():
        raise KeyError("oops")
    @click.command()
    def panic():
        raise type("Panic", (BaseException,), {})("out of bounds")
    @click.command()
    def wait():
        click.echo("waiting", nl=False)
        import sys; sys.stdout.flush()
        import threading
        threading.Thread(target=time.sleep, args=(30,)).start()  # an engine that cannot be stopped
        time.sleep(30)
    for command in (fail, panic, wait):
        registry.command(command.name, command)
"""


@pytest.fixture
def failing(tmp_path: Path) -> Path:
    (tmp_path / "failing.py").write_text(FAILING)
    return tmp_path / "failing.py"


def test_a_bug_is_reported_without_a_traceback_unless_debug_is_set(
    rqa: Rqa, failing: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = rqa("--plugin", failing, "fail")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.splitlines() == [
        "rqa: error: KeyError: 'oops'",
        "hint: This is a bug in rqa or in a plugin. Set RQA_DEBUG=1 for a traceback.",
    ]
    assert rqa("--plugin", failing, "panic").err.startswith("rqa: error: Panic: out of bounds\nhint: This is a bug")
    monkeypatch.setenv("RQA_DEBUG", "1")
    ended = rqa("--plugin", failing, "fail")
    assert ended.code == 1 and "Traceback" in ended.err and "failing.py" in ended.err


TALKING = """
import click
from robust_qa import hookimpl
from robust_qa.cli import Run

@click.command()
@click.option("-q", "count", type=int, default=0)
@click.pass_obj
def own(run, count):
    click.echo(f"{count} {run.verbosity}")

@click.command()
@click.pass_obj
def plain(run):
    run.say("a notice")
    click.echo(run.verbosity)

@hookimpl
def rqa_register(registry):
    registry.command("plain", plain)
    registry.group("train", "Train.")
    registry.command("train plain", plain)
    registry.command("train own", own)
"""


@pytest.mark.parametrize(
    "command, verbosity",
    [
        ("plain -q", -1),
        ("plain -vv", 2),
        ("-q plain --quiet", -2),
        ("train -q plain", -1),
        ("train plain -q", -1),
        ("train plain --verbose", 1),
        ("train own -q 3", "3 0"),  # a command's own option keeps its meaning
        ("train own --quiet", "0 -1"),
    ],
)
def test_quiet_and_verbose_are_accepted_after_every_command(
    rqa: Rqa, tmp_path: Path, command: str, verbosity: int | str
) -> None:
    (tmp_path / "talking.py").write_text(TALKING)
    (tmp_path / "broken.py").write_text("raise ValueError('no luck')")
    ended = rqa("--plugin", tmp_path / "talking.py", "--plugin", tmp_path / "broken.py", *command.split())
    assert (ended.code, ended.out) == (0, f"{verbosity}\n")
    notices = 0 if "-1" in str(verbosity) or "-2" in str(verbosity) else 1
    assert ended.err.count("no luck") == notices
    assert ended.err.count("a notice") == (notices if "plain" in command else 0)


INTERRUPTED_IMPORT = """
import os, signal, sys
class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == "click":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupts())
"""


@pytest.mark.parametrize(
    "start", ["import runpy; runpy.run_module('robust_qa', run_name='__main__')", "from {0} import {1}; {1}()"]
)
def test_an_interruption_during_imports_is_quiet(start: str) -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["scripts"]["rqa"]
    program = INTERRUPTED_IMPORT + start.format(*declared.split(":"))
    ended = process(sys.executable, "-c", program)
    assert (ended.returncode, ended.stdout, ended.stderr) == (Exit.INTERRUPTED, "", "")


def test_an_interruption_ends_at_once_with_130_also_while_an_engine_runs(installed: str, failing: Path) -> None:
    child = subprocess.Popen(
        [installed, "--plugin", str(failing), "wait"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert child.stdout is not None
    assert child.stdout.read(7) == b"waiting"
    time.sleep(0.1)
    began = time.monotonic()
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=20)
    assert child.returncode == 130
    assert err == b"rqa: interrupted. To start over, run the same command again\n"
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("command", ["plugins", "config show", "--help"])
def test_a_closed_pipe_ends_quietly(installed: str, command: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run(
        [installed, *command.split()], stdout=writing, stderr=subprocess.PIPE, timeout=60, check=False
    )
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("command", ["plugins", "plugins --json", "config show", "--help"])
def test_a_full_disk_is_an_error(installed: str, command: str) -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [installed, *command.split()], stdout=full, stderr=subprocess.PIPE, timeout=60, check=False
        )
    assert ended.returncode == 1
    assert ended.stderr == (
        b"rqa: error: No space left on device.\nhint: The disk is full. Free some space, then run the command again.\n"
    )


def imported(arguments: list[str]) -> list[str]:
    program = (
        f"import sys; sys.argv[1:] = {arguments!r}\n"
        "from robust_qa.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    found = process(sys.executable, "-c", program).stderr.split()
    assert "robust_qa.main" in found
    return found


@pytest.mark.parametrize("arguments", [["--version"], ["ask", "--help"], ["keys", "list"]])
def test_commands_do_not_import_heavy_modules(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RQA_PLUGINS")
    heavy = {"aiohttp", "httpx", "tantivy", "rich", "msgspec", "llama_cpp", "numpy", "sqlite3", "tomli", "filelock"}
    assert [name for name in imported(arguments) if name in heavy or name.startswith("rqa_")] == []


def test_nothing_of_the_working_directory_is_imported(installed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RQA_PLUGINS")
    for name in ("rich", "tomli", "msgspec", "rqa_bm25", "evil"):
        Path(f"{name}.py").write_text("raise SystemExit('code of the stranger')")
    Path("evil-1.dist-info").mkdir()
    Path("evil-1.dist-info/METADATA").write_text("Name: evil\nVersion: 1\n")
    Path("evil-1.dist-info/entry_points.txt").write_text("[rqa]\nevil = evil\n")
    for command in ([installed], [sys.executable, "-m", "robust_qa"]):
        ended = process(*command, "plugins")
        assert ended.returncode == 0 and "evil" not in ended.stdout and "stranger" not in ended.stdout + ended.stderr


@pytest.mark.parametrize("command", ["init --user", "keys set work", "keys list", "config trust rqa.toml"])
def test_an_unusable_configuration_folder_is_an_error_that_names_the_variable(
    rqa: Rqa, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("rqa.toml").touch()
    (tmp_path / "taken").touch()
    monkeypatch.setenv("RQA_CONFIG_DIR", str(tmp_path / "taken" / "rqa"))
    ended = rqa(*command.split(), stdin="s3cr3t-s3cr3t")
    assert (ended.code > 0, ended.out) == (True, "")
    assert f"{tmp_path}/taken" in ended.err and "set RQA_CONFIG_DIR" in ended.err


def test_documents_without_text_are_listed(rqa: Rqa, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RQA_PLUGINS", "bm25,lexical,rag,batch,local,index,history,text,data")
    (tmp_path / "a\nrqa: nothing.txt").touch()
    (tmp_path / "empty.txt").touch()
    ended = rqa("ask", "--docs", tmp_path, "When?")
    assert (ended.code, ended.out) == (4, "")
    assert ended.err.splitlines() == [
        f"rqa: skipped {tmp_path}/a rqa: nothing.txt and 1 more: it has no text",
        f"rqa: error: Found no text in '{tmp_path}'.",
        "hint: `rqa help` lists the supported file formats, under `rqa index`.",
    ]


def test_only_the_owner_can_read_the_text_of_indexed_documents(
    rqa: Rqa, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RQA_PLUGINS", "bm25,lexical,rag,batch,local,index,history,text,data")
    monkeypatch.setenv("RQA_CACHE_DIR", str(tmp_path / "cache" / "rqa"))
    (tmp_path / "notes.txt").write_text("The merger is planned for 3 May 2027.")
    assert rqa("ask", "--docs", tmp_path / "notes.txt", "When is the merger planned?").code == 0
    assert stat.S_IMODE((tmp_path / "cache" / "rqa").stat().st_mode) == 0o700


def test_help_lists_the_commands_by_what_they_are_for(rqa: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RQA_PLUGINS")
    sections = re.findall(r"^(\w[\w ]*):$", rqa("--help").out, re.M)
    assert sections == ["Options", "Ask", "Documents", "Serve", "Measure", "Set up"]
