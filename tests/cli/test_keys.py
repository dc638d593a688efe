"""`rqa keys` reads keys from stdin or a terminal and never prints them."""

import os
import pty
import resource
import select
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from robust_qa import Key
from robust_qa.config import keys as secrets

Rqa = Callable[..., Any]

SECRET = "sk-hunter2-and-more"


def test_a_key_is_read_from_stdin_and_not_shown(rqa: Rqa) -> None:
    ended = rqa("keys", "set", "openai", "--host", "https://API.openai.com/v1", stdin=f"{SECRET}\n")
    assert (ended.code, ended.out) == (0, "")
    assert ended.err.startswith("rqa: Stored the key openai for https://api.openai.com in ")
    assert secrets.find("openai").reveal("https://api.openai.com") == SECRET
    assert "hunter2" not in ended.err


@pytest.mark.parametrize("stdin", ["", "\n", "two words\n", "n\u00e4ive\n", "\udcff\n", "a\x00b\n"])
def test_what_cannot_be_a_key_is_not_stored(rqa: Rqa, stdin: str) -> None:
    ended = rqa("keys", "set", "openai", stdin=stdin)
    assert ended.code == 2 and secrets.stored_keys() == {}
    assert not stdin.strip() or stdin.strip() not in ended.err


@pytest.mark.parametrize(
    "arguments", [["openai", SECRET], [SECRET], ["openai", "--host", "x.example", SECRET], ["--", "openai", SECRET]]
)
def test_a_key_on_the_command_line_is_refused_and_not_repeated(rqa: Rqa, arguments: list[str]) -> None:
    ended = rqa("keys", "set", *arguments, stdin="other")
    assert ended.code == 2 and secrets.stored_keys() == {}
    assert "hunter2" not in ended.out + ended.err
    assert "rqa keys set" in ended.err


def test_list_shows_names_hosts_and_origins(rqa: Rqa, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets.store(Key("b", SECRET, "b.example"))
    secrets.store(Key("a", SECRET))
    monkeypatch.setenv("RQA_KEY_A", "other-hunter2")
    file = secrets.key_file()
    ended = rqa("keys", "list")
    assert ended.out == f"a\tany host\t{file}, overridden by RQA_KEY_A\nb\tb.example\t{file}\n"


def test_keys_that_are_set_at_the_same_time_are_all_stored(installed: str) -> None:
    names = [f"key{number}" for number in range(16)]
    together = []
    for name in names:
        child = subprocess.Popen([installed, "keys", "set", name], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        together.append(child)
    for name, child in zip(names, together, strict=True):  # each waits for its key
        assert child.stdin is not None
        child.stdin.write(f"secret-of-{name}\n".encode())
        child.stdin.close()
    for child in together:
        assert child.stderr is not None
        assert (child.wait(60), child.stderr.read().count(b"Stored the key")) == (0, 1)
        child.stderr.close()
    assert sorted(secrets.stored_keys()) == sorted(names)


def test_rm_removes_a_key_and_fails_if_there_is_none(rqa: Rqa) -> None:
    secrets.store(Key("a", SECRET))
    assert rqa("keys", "rm", "a").code == 0
    ended = rqa("keys", "rm", "a")
    assert ended.code == 2 and "There is no key 'a'." in ended.err and "rqa keys list" in ended.err
    assert "hunter2" not in rqa("keys", "rm", SECRET).err


def test_a_key_file_that_others_can_read_stops_every_command_that_needs_it(rqa: Rqa) -> None:
    secrets.store(Key("a", SECRET))
    secrets.key_file().chmod(0o644)
    for arguments in (["list"], ["set", "b"], ["rm", "a"]):
        ended = rqa("keys", *arguments, stdin="x")
        assert ended.code == 2 and "chmod 600" in ended.err and "hunter2" not in ended.err


def test_a_key_file_that_cannot_be_written_is_named(installed: str) -> None:
    def allow_no_bytes() -> None:  # the system refuses every write to a file, as on a full disk
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    ended = subprocess.run(
        [installed, "keys", "set", "openai"],
        input=SECRET, capture_output=True, text=True, timeout=60, check=False, preexec_fn=allow_no_bytes,
    )  # fmt: skip
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith(f"rqa: error: Cannot use {secrets.key_file()}: File too large.")
    assert "set RQA_CONFIG_DIR" in ended.stderr and secrets.stored_keys() == {}


@pytest.mark.skipif(sys.platform == "win32", reason="a pseudo-terminal is needed")
def test_on_a_terminal_set_prompts_without_echo(installed: str) -> None:
    master, slave = pty.openpty()
    child = subprocess.Popen(
        [installed, "keys", "set", "openai"],
        stdin=slave, stdout=slave, stderr=slave, start_new_session=True, close_fds=True,
    )  # fmt: skip
    os.close(slave)
    screen = b""
    try:
        screen = _read_until(master, b"Key openai: ")
        os.write(master, SECRET.encode() + b"\n")
        screen += _read_until(master, b"Stored")
    finally:
        child.wait(10)
        os.close(master)
    assert child.returncode == 0
    assert b"hunter2" not in screen
    assert secrets.find("openai").reveal("https://any.example") == SECRET


def _read_until(terminal: int, wanted: bytes) -> bytes:
    screen, give_up = b"", time.monotonic() + 10
    while wanted not in screen and time.monotonic() < give_up:
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                screen += os.read(terminal, 1000)
            except OSError:  # the other end has closed
                break
    assert wanted in screen, screen
    return screen


def test_no_command_prints_a_stored_key(rqa: Rqa) -> None:
    secrets.store(Key("openai", SECRET, "api.openai.com"))
    (Path.cwd() / "rqa.toml").write_text("[reader.x]\nkey = 'openai'\nbase_url = 'https://api.openai.com'\n")
    for arguments in ("keys list", "config show", "config show --json", "config check", "plugins --json"):
        ended = rqa(*arguments.split())
        assert "hunter2" not in ended.out + ended.err
