import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Rqa = Callable[..., Any]


def test_a_starter_file_is_written_that_is_right_as_it_is(rqa: Rqa) -> None:
    ended = rqa("init")
    assert (ended.code, ended.out) == (0, "")
    assert ended.err.startswith(f"rqa: Wrote {Path.cwd() / 'rqa.toml'}.")
    assert rqa("config", "check").code == 0


def test_the_file_is_trusted_as_it_was_written(rqa: Rqa) -> None:
    rqa("init")
    assert "untrusted" not in rqa("config", "path").out
    with Path("rqa.toml").open("a") as file:
        file.write("plugins = ['x.py']\n")
    assert "untrusted" in rqa("config", "path").out


@pytest.mark.parametrize("flags", [[], ["--user"]])
def test_an_existing_file_is_never_replaced(rqa: Rqa, flags: list[str]) -> None:
    path = Path(os.environ["RQA_CONFIG_DIR"], "config.toml") if flags else Path("rqa.toml")
    path.parent.mkdir(exist_ok=True)
    path.write_text("# mine\n")
    ended = rqa("init", *flags)
    assert ended.code == 2 and "already exists" in ended.err
    assert path.read_text() == "# mine\n"


def test_the_users_own_file_is_written_into_a_folder_of_their_own(rqa: Rqa) -> None:
    assert rqa("init", "--user").code == 0
    path = Path(os.environ["RQA_CONFIG_DIR"], "config.toml")
    assert path.is_file() and stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert not Path("rqa.toml").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_read_only_folder_is_an_error(rqa: Rqa) -> None:
    Path.cwd().chmod(0o500)
    ended = rqa("init")
    Path.cwd().chmod(0o700)
    assert ended.code == 1 and "Permission denied" in ended.err and "Traceback" not in ended.err
