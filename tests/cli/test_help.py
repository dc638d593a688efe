"""`rqa help`: the pages of the manual."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from robust_qa.cli import help as help_command

Rqa = Callable[..., Any]

STRATEGIES = """\
# rqa-strategies(7)

## Name

rqa-strategies - how to *answer*

## Strategies

- `-s`, `--strategy NAME`: Use this strategy, which is explained at length, as long as it takes. See [rqa(1)](rqa.1.md).

```sh
rqa ask   -s rag
```

| Strategy | Calls |
|---|---|
| `rag` | 1 |
"""


@pytest.fixture
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two pages, and no plugins."""
    monkeypatch.setenv("RQA_PLUGINS", "none")
    (tmp_path / "man").mkdir()
    (tmp_path / "man" / "rqa.1.md").write_text("# rqa(1)\n\n## Name\n\nrqa - answers\n")
    (tmp_path / "man" / "rqa-strategies.7.md").write_text(STRATEGIES)
    monkeypatch.setattr(help_command, "_PACKAGE", tmp_path)  # pages of a test stand in for the installed manual


@pytest.mark.usefixtures("pages")
def test_a_command_without_a_page_shows_its_help(rqa: Rqa) -> None:
    ended = rqa("help", "keys")
    assert ended.code == 0 and ended.out.startswith("Usage: rqa keys ") and "Example: " in ended.out


@pytest.mark.usefixtures("pages")
def test_an_unknown_topic_suggests_another(rqa: Rqa) -> None:
    ended = rqa("help", "strategy")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "rqa: error: There is no manual page on 'strategy'.\nhint: Did you mean 'strategies'?\n"


@pytest.mark.parametrize("topic", ["rqa", "rqa-plugin", "plugin", "config", "batch"])
def test_the_installed_command_shows_the_page(installed: str, topic: str) -> None:
    ended = subprocess.run([installed, "help", topic], capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout.startswith("rqa") and "\nSEE ALSO\n" in ended.stdout and ended.stderr == ""
    assert "\x1b" not in ended.stdout


def test_on_a_terminal_a_page_goes_through_the_pager(installed: str, tmp_path: Path) -> None:
    (tmp_path / "pager").write_text("#!/bin/sh\ncat > paged\n")
    (tmp_path / "pager").chmod(0o755)
    ours, theirs = os.openpty()
    environment = {**os.environ, "PAGER": str(tmp_path / "pager"), "TERM": "xterm", "LESS": "-R"}
    subprocess.run(
        [installed, "help", "batch"], stdin=theirs, stdout=theirs, cwd=tmp_path, env=environment, timeout=60, check=True
    )
    os.close(theirs)
    os.close(ours)
    assert (tmp_path / "paged").read_text("utf-8").startswith("rqa-batch(1)")
