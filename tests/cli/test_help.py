"""`rqa help`: manual pages, with man(1) and without."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from robust_qa.cli import help as help_command
from robust_qa.cli.manual import plain

Rqa = Callable[..., Any]


@pytest.fixture(autouse=True)
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two pages, and no plugins."""
    monkeypatch.setenv("RQA_PLUGINS", "none")
    (tmp_path / "man").mkdir()
    (tmp_path / "man" / "rqa.1").write_text(".TH RQA 1\n.SH NAME\nrqa \\- answers\n")
    (tmp_path / "man" / "rqa-strategies.7").write_text(".TH RQA-STRATEGIES 7\n.SH NAME\nstrategies \\- how to answer\n")
    monkeypatch.setattr(help_command, "_PACKAGE", tmp_path)


@pytest.fixture
def no_man(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)


@pytest.mark.usefixtures("no_man")
def test_without_man_a_page_is_plain_text(rqa: Rqa) -> None:
    assert rqa("help", "strategies").out == "RQA-STRATEGIES(7)\n\nNAME\n       strategies - how to answer\n"


@pytest.mark.usefixtures("no_man")
def test_no_topic_is_the_whole_tool(rqa: Rqa) -> None:
    assert "rqa - answers" in rqa("help").out


@pytest.mark.skipif(shutil.which("man") is None, reason="needs man(1)")
def test_with_man_it_shows_the_page(installed: str) -> None:
    ended = subprocess.run([installed, "help", "plugin"], capture_output=True, text=True, timeout=60, check=True)
    assert "RQA-PLUGIN(7)" in ended.stdout and "rqa_register" in ended.stdout and ended.stderr == ""


def test_where_man_fails_the_page_is_plain_text(rqa: Rqa, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "man").write_text("#!/bin/sh\nexit 16\n")
    (tmp_path / "bin" / "man").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert "strategies - how to answer" in rqa("help", "strategies").out


def test_a_command_without_a_page_shows_its_help(rqa: Rqa) -> None:
    ended = rqa("help", "keys")
    assert ended.code == 0 and ended.out.startswith("Usage: rqa keys ") and "Example: " in ended.out


def test_an_unknown_topic_names_the_nearest(rqa: Rqa) -> None:
    ended = rqa("help", "strategy")
    assert (ended.code, ended.out) == (2, "")
    assert "There is no manual page on 'strategy'; the topics are ask, " in ended.err
    assert "Did you mean 'strategies'?" in ended.err


@pytest.mark.parametrize(
    "source, text",
    [
        ('one\n.SH "TWO WORDS"\nx', "       one\n\nTWO WORDS\n       x"),
        (".SS Part\nx", "   Part\n       x"),
        ("one\ntwo", "       one two"),
        ("one\n.PP\ntwo", "       one\n\n       two"),
        ('.\\" a comment\n\'\\" another\nx', "       x"),
        ('.TP\n.BR \\-k " " N\nas many', "       -k N\n              as many"),
        (".TP\n.B \\-k\nas many\n.PP\nback", "       -k\n              as many\n\n       back"),
        (".RS 4\nin\n.RE\nout", "           in\n       out"),
        (".nf\na   b\n  c\n.fi\nd\ne", "       a   b\n         c\n       d e"),
        (".EX\n$ rqa ask\n.EE", "       $ rqa ask"),
        (".B bold\n.I italic", "       bold italic"),
        (".BR rqa (1),\nthen", "       rqa(1), then"),
        ("\\(bu \\(dqr\\(dq \\e", '       • "r" \\'),
        ("", ""),
    ],
)
def test_the_macros_of_a_page(source: str, text: str) -> None:
    head = ".TH X 1\n.SH Y\n"
    assert plain(head + source) == f"X(1)\n\nY\n{text}".rstrip() + "\n"


def test_a_page_begins_with_its_title() -> None:
    assert plain('.TH RQA 1 2025 "rqa 1.0"\n.SH NAME\nrqa \\- answers') == "RQA(1)\n\nNAME\n       rqa - answers\n"


def test_lines_are_filled_to_eighty_columns_and_words_stay_whole() -> None:
    text = plain(".SH X\n" + "word " * 100 + "x" * 100 + " well-known")
    lines = text.splitlines()
    assert all(len(line) <= 80 for line in lines if "xxx" not in line) and any(len(line) > 70 for line in lines)
    assert "x" * 100 in text and "well-known" in text


def test_a_verbatim_line_is_not_filled() -> None:
    assert plain(f".EX\n{'a ' * 60}\n.EE").splitlines()[0].strip() == ("a " * 60).strip()
