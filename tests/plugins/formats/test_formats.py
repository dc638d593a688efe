"""A plugin reads files of a format that rqa does not know, also in a worker process."""

import json
from pathlib import Path
from typing import Any

import pytest

PLUGIN = """
from robust_qa import hookimpl
from rqa_files import Blocks, read_text


def read(file, report):
    def blocks(text, line):
        found = Blocks()
        for number, entry in enumerate(text.splitlines(), line):
            found.paragraph(entry.replace("~", " "), number)
        return "Log of the tide", found.found

    return read_text(file, blocks)


def is_tide(file):
    return file.beginning.startswith("tide~")


@hookimpl
def rqa_register(registry):
    registry.format("tide", read="tides:read", {how})
"""


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("log.tide", 'suffixes="tide"'),
        ("log.txt", 'suffixes="txt", opens="tides:is_tide"'),
        ("log", 'opens="tides:is_tide"'),
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
        ("", "needs `suffixes`, `magic` or `opens`"),
        ('suffixes="(a"', "no regular expression"),
        ('opens="x"', 'write "package.module'),
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


PACKED = """
from robust_qa import hookimpl
from rqa_files import Blocks


def read(file, report):
    blocks = Blocks()
    with file.open() as stream:
        blocks.paragraph(stream.read()[5:].decode(), 0)
    yield file.document("Log of the ship", blocks.found)


@hookimpl
def rqa_register(registry):
    registry.format("shiplog", read="ships:read", suffixes="ship", magic=rb"\\x00SHIP")
"""


def test_a_refresh_without_the_plugin_of_a_file_keeps_its_passages(rqa: Any, tmp_path: Path) -> None:
    plugin, log = tmp_path / "ships.py", tmp_path / "docs" / "one.ship"
    plugin.write_text(PACKED)
    log.parent.mkdir()
    log.write_bytes(b"\x00SHIPThree whales were seen off the cape.")
    assert rqa("--plugin", plugin, "index", log.parent).code == 0
    log.touch()
    ended = rqa("search", "whales")
    assert "Three whales" in ended.out and "1 file has changed" in ended.err
    assert "Three whales" in rqa("--plugin", plugin, "search", "whales").out
