"""A plugin reads files of a format that rqa does not know, also in a worker process."""

from pathlib import Path
from typing import Any

import pytest

PLUGIN = """
from robust_qa import hookimpl
from robust_qa.documents import Blocks, read_text


def read(file, report):
    def blocks(text, line):
        found = Blocks()
        for number, entry in enumerate(text.splitlines(), line):
            found.paragraph(entry.replace("~", " "), number)
        return "Log of the tide", found.found

    return read_text(file, blocks)


def is_tide(text):
    return text.startswith("tide~")


@hookimpl
def rqa_register(registry):
    registry.format("tide", "tides:read", {how})
"""


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("log.tide", 'suffixes="tide"'),
        ("log.txt", 'suffixes="txt", sniff="tides:is_tide"'),
        ("log", 'sniff="tides:is_tide"'),
    ],
)
@pytest.mark.parametrize("size", [1, 5_000], ids=["here", "in a worker"])
def test_a_file_is_read_by_the_format_of_a_plugin(
    rqa: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, how: str, size: int
) -> None:
    (tmp_path / "tides.py").write_text(PLUGIN.format(how=how))
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / name).write_text("tide~The~water~stood~at~four~metres.\n" + "tide~It~fell.\n" * size)
    monkeypatch.syspath_prepend(tmp_path)
    ended = rqa("--plugin", tmp_path / "tides.py", "search", "-d", tmp_path / "docs", "-r", "bm25", "water four metres")
    assert "tide The water stood at four metres." in ended.out, ended.err
    assert "Log of the tide" in ended.out


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("", "needs `suffixes` or `sniff`"),
        ('suffixes="(a"', "which is no expression"),
        ('sniff="x"', 'write "package.module'),
    ],
)
def test_a_wrong_registration_is_told(rqa: Any, tmp_path: Path, how: str, why: str) -> None:
    (tmp_path / "tides.py").write_text(PLUGIN.format(how=how))
    ended = rqa("--plugin", tmp_path / "tides.py", "plugins")
    assert why in " ".join((ended.out + ended.err).split())
