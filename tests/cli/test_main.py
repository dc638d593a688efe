"""The command as a process: streams, exit codes, interrupts and imports."""

import fcntl
import os
import pty
import re
import signal
import stat
import struct
import subprocess
import sys
import termios
import time
import tomllib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from robust_qa import Exit, __version__
from robust_qa.calls.cache import Cache
from robust_qa.config import environment
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
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, f"rqa {__version__}\n", "")


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_lists_every_command_with_an_example(rqa: Rqa, flag: str) -> None:
    ended = rqa(flag)
    assert (ended.code, ended.err) == (0, "")
    assert all(f"  {name} " in ended.out for name in COMMANDS) and "Example: rqa ask" in ended.out


@pytest.mark.parametrize("number", ["nan", "inf", "-inf"])
@pytest.mark.parametrize("command", ["plugins check x --timeout", "serve --timeout", "lint . --similarity"])
def test_a_number_that_is_not_finite_is_a_usage_error(
    monkeypatch: pytest.MonkeyPatch, rqa: Rqa, command: str, number: str
) -> None:
    monkeypatch.delenv("RQA_PLUGINS")
    ended = rqa(*command.split(), number)
    assert ended.code == 2 and f"Invalid value for '{command.rsplit(maxsplit=1)[-1]}'" in ended.err


COMMANDS_AND_GROUPS = [
    *(name for name in COMMANDS if name != "batch"),
    *(f"config {name}" for name in ("show", "check", "path", "trust")),
    *(f"keys {name}" for name in ("set", "list", "rm")),
    *(f"plugins {name}" for name in ("new", "check")),
    *(f"cache {name}" for name in ("info", "clear")),
]


@pytest.mark.parametrize("command", COMMANDS_AND_GROUPS)
def test_every_command_has_help_with_an_example(rqa: Rqa, command: str) -> None:
    ended = rqa(*command.split(), "--help")
    assert (ended.code, ended.err) == (0, "")
    assert f"Usage: rqa {command}" in ended.out
    assert "Example: rqa " in ended.out or "Examples: rqa " in ended.out


@pytest.mark.parametrize("typed, meant", [("aks", "ask"), ("plugin", "plugins"), ("confg", "config")])
def test_an_unknown_command_suggests_the_nearest(rqa: Rqa, typed: str, meant: str) -> None:
    ended = rqa(typed)
    assert (ended.code, ended.out) == (2, "")
    assert f"No such command {typed!r}. Did you mean {meant!r}?" in ended.err


def test_an_unknown_command_without_a_near_one_is_a_usage_error(rqa: Rqa) -> None:
    ended = rqa("zzzzzz")
    assert ended.code == 2 and "No such command 'zzzzzz'" in ended.err and "Did you mean" not in ended.err


def test_an_error_is_a_line_and_a_hint_on_stderr(rqa: Rqa, tmp_path: Path) -> None:
    ended = rqa("--config", tmp_path / "missing.toml", "config", "show")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.splitlines() == [
        f"rqa: Cannot read the configuration {tmp_path / 'missing.toml'}: No such file or directory.",
        "     Write a starter file with `rqa init`.",
    ]


@pytest.mark.parametrize(
    "command", [["--help"], ["ask", "--help"], ["keys", "list"], ["init", "--help"], ["--version"]]
)
def test_help_and_keys_work_beside_a_broken_configuration(rqa: Rqa, command: list[str]) -> None:
    Path("rqa.toml").write_text(BROKEN_TOML)
    assert rqa(*command).code == 0


def test_an_unknown_command_with_a_broken_configuration_reports_both(rqa: Rqa) -> None:
    Path("rqa.toml").write_text(BROKEN_TOML)
    ended = rqa("aks")
    assert ended.code == 2 and "is not valid TOML" in ended.err and "Did you mean 'ask'?" in ended.err


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
        "rqa: KeyError: 'oops'",
        "     This is a bug in rqa or in a plugin. Set RQA_DEBUG=1 for a traceback.",
    ]
    assert rqa("--plugin", failing, "panic").err.startswith("rqa: Panic: out of bounds\n     This is a bug")
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


@pytest.mark.parametrize(
    "command", ["eval in.jsonl", "train eor in.jsonl", "train evaluator in.jsonl", "train reader in.jsonl"]
)
def test_a_command_that_writes_several_files_refuses_standard_output(
    rqa: Rqa, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.delenv("RQA_PLUGINS")
    Path("in.jsonl").touch()
    ended = rqa(*command.split(), "-o", "-")
    assert (ended.code, ended.out) == (2, "") and "cannot write to stdout" in ended.err
    assert [path.name for path in Path.cwd().iterdir()] == ["in.jsonl"]


def test_quiet_is_accepted_after_a_built_in_command_and_listed_in_its_help(rqa: Rqa, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("raise ValueError('no luck')")
    broken = ("--plugin", tmp_path / "broken.py")
    assert "no luck" in rqa(*broken, "config", "check").err
    assert rqa(*broken, "config", "check", "-q").err == ""
    assert "-q, --quiet" in rqa("config", "check", "--help").out


def test_the_commands_of_a_plugin_that_is_named_before_help_are_listed(rqa: Rqa, failing: Path) -> None:
    assert "\n  fail" in rqa("--plugin", failing, "--help").out


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
def test_an_interruption_while_it_starts_ends_it_as_quietly(start: str) -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["scripts"]["rqa"]
    program = INTERRUPTED_IMPORT + start.format(*declared.split(":"))
    ended = process(sys.executable, "-c", program)
    assert (ended.returncode, ended.stdout, ended.stderr) == (Exit.INTERRUPTED, "", "")


def test_an_interruption_that_python_wraps_is_one_all_the_same(installed: str, tmp_path: Path) -> None:
    plugin = tmp_path / "interrupting.py"
    plugin.write_text(
        """
import os, signal
class Field:
    def __set_name__(self, owner, name):
        os.kill(os.getpid(), signal.SIGINT)
class Engine:
    actions = Field()
"""
    )
    ended = process(installed, "--plugin", plugin, "plugins")
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
    assert child.returncode == 130 and b"Traceback" not in err
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("command", ["plugins", "config show", "completion bash", "--help"])
def test_a_closed_pipe_ends_quietly(installed: str, command: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run(
        [installed, *command.split()], stdout=writing, stderr=subprocess.PIPE, timeout=60, check=False
    )
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("command", ["plugins", "plugins --json", "config show", "completion bash", "--help"])
def test_a_full_disk_is_an_error(installed: str, command: str) -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [installed, *command.split()], stdout=full, stderr=subprocess.PIPE, timeout=60, check=False
        )
    assert ended.returncode == 1
    assert (
        ended.stderr
        == b"rqa: No space left on device.\n     The disk is full. Free some space, then run the command again.\n"
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


@pytest.mark.parametrize("arguments", [["--version"], ["ask", "--help"], ["index", "--help"], ["keys", "list"]])
def test_commands_do_not_import_heavy_modules(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RQA_PLUGINS")
    heavy = {"aiohttp", "httpx", "tantivy", "rich", "msgspec", "llama_cpp", "numpy", "sqlite3", "tomli", "filelock"}
    assert [name for name in imported(arguments) if name in heavy or name.startswith("rqa_")] == []


def test_a_list_of_all_commands_begins_no_session() -> None:
    assert {"robust_qa.session", "aiohttp", "httpx", "tantivy", "numpy", "ctranslate2"}.isdisjoint(imported(["--help"]))


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


def test_a_removed_working_directory_is_an_error(
    installed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    for command in ([installed], [sys.executable, "-m", "robust_qa"]):
        ended = process(*command, "init")
        assert (ended.returncode, ended.stderr) == (1, "rqa: The current folder does not exist any more.\n")


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


def test_an_unreadable_user_configuration_is_an_error_that_names_the_variable(rqa: Rqa) -> None:
    own = environment.config_dir() / "config.toml"
    own.mkdir(parents=True)
    ended = rqa("--config", own, "config", "show")
    assert ended.code == 2 and "Is a directory" in ended.err
    assert "rqa init" not in ended.err and "set RQA_CONFIG_DIR" in ended.err


def test_documents_without_text_are_listed(rqa: Rqa, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RQA_PLUGINS", "bm25,lexical,rag")
    (tmp_path / "a\nrqa: nothing.txt").touch()
    (tmp_path / "empty.txt").touch()
    ended = rqa("ask", "--docs", tmp_path, "When?")
    assert (ended.code, ended.out) == (4, "")
    assert ended.err.splitlines() == [
        f"rqa: skipped {tmp_path}/a rqa: nothing.txt: it has no text",
        f"rqa: skipped {tmp_path}/empty.txt: it has no text",
        f"rqa: Found no text in {tmp_path}.",
        "     `rqa help` lists the supported file formats, under `rqa index`.",
    ]


def test_only_the_owner_can_read_the_text_of_indexed_documents(
    rqa: Rqa, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RQA_PLUGINS", "bm25,lexical,rag")
    monkeypatch.setenv("RQA_CACHE_DIR", str(tmp_path / "cache" / "rqa"))
    (tmp_path / "notes.txt").write_text("The merger is planned for 3 May 2027.")
    assert rqa("ask", "--docs", tmp_path / "notes.txt", "When is the merger planned?").code == 0
    assert stat.S_IMODE((tmp_path / "cache" / "rqa").stat().st_mode) == 0o700


def test_a_question_without_quotes_is_given_back_with_them(rqa: Rqa) -> None:
    ended = rqa("ask", "Who", "was", "Ada?")
    assert ended.code == 2 and "Put the question in quotes: rqa ask 'Who was Ada?'" in ended.err


def test_the_commands_of_a_group_have_complete_help_sentences(rqa: Rqa) -> None:
    assert "..." not in rqa("config", "--help").out.partition("Commands:")[2]


def test_a_small_cache_is_shown_in_kilobytes(rqa: Rqa) -> None:
    with closing(Cache(environment.cache_dir(), 1024 * 1024)) as cache:
        cache.put("a call", bytes(40_000))
    assert re.search(r": 1 calls, \d\d kB \(at most 1024\.0 MB\)\n", rqa("cache", "info").out)


def test_what_is_piped_is_as_wide_as_the_terminal(installed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RQA_PLUGINS")
    terminal, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("4H", 24, 90, 0, 0))  # lines and columns
    alone = {name: value for name, value in os.environ.items() if name != "COLUMNS"}  # readline sets it behind us
    for wide, err in ((90, side), (100, subprocess.DEVNULL)):
        piped = subprocess.run(
            [installed, "plugins"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=err,
            env=alone,
            text=True,
            check=True,
        )
        assert wide - 10 < max(map(len, piped.stdout.splitlines())) <= wide
    os.close(terminal)
    os.close(side)
