"""A plugin reads files of a format that rqa does not know, also in a worker process."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from robust_qa.file_formats import FORMATS


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    """Forget the formats of a test after it."""
    before = [*FORMATS]
    yield
    FORMATS[:] = before


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
def test_a_file_is_read_by_the_format_of_a_plugin(rqa: Any, tmp_path: Path, name: str, how: str) -> None:
    (tmp_path / "tides.py").write_text(PLUGIN.format(how=how))
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / name).write_text("tide~The~water~stood~at~four~metres.\n")
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


def test_an_endless_reader_is_stopped_and_files_are_read_again_with_a_repaired_plugin(rqa: Any, tmp_path: Path) -> None:
    plugin, docs = tmp_path / "neaps.py", tmp_path / "docs"
    docs.mkdir()
    (docs / "log.tide").write_text("tide~The~water~stood~at~four~metres.\n")
    (tmp_path / "rqa.toml").write_text("[retriever.bm25]\nfile_seconds = 1\n")
    arguments = "--plugin", plugin, "--config", tmp_path / "rqa.toml", "search", "-d", docs, "-r", "bm25", "water"
    good = PLUGIN.format(how='suffixes="tide"').replace("tides:", "neaps:")
    plugin.write_text(good.replace("        found = Blocks()", "        while True: pass"))
    assert "log.tide: reading it took longer than" in rqa(*arguments).err
    plugin.write_text(good)
    assert "tide The water stood at four metres." in rqa(*arguments).out


def test_a_format_can_be_left_out_and_is_listed(rqa: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = {row["name"]: row for row in json.loads(rqa("plugins", "--json").out) if row["kind"] == "format"}
    assert listed["rst"]["summary"] == "Reads files *.rst."
    monkeypatch.setenv("RQA_PLUGINS", "-mail")
    assert {row["name"]: row["state"] for row in json.loads(rqa("plugins", "--json").out)}["mail"] == "off"
