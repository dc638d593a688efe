"""Names of models, and what `rqa models list` shows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from robust_qa import ConfigError, MissingError
from rqa_llamacpp import library  # private: a reader would load what a name stands for

SHORT = "qwen3-4b-2507"


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("RQA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(path: Path, size: int = 4) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"GGUF" * (size // 4))
    return path


def pulled(name: str) -> Path:
    return put(library.folder() / name)


def test_a_pulled_model_is_found_by_every_name_that_pulls_it():
    entry = library.CATALOGUE[SHORT]
    file = pulled(f"{entry.repo}/{entry.file}")
    names = (SHORT, entry.repo, f"{entry.repo}:{entry.file}", f"{entry.repo}:Q4_K_M")
    assert {library.find(name) for name in names} == {file}


def test_of_a_split_model_the_first_part_is_found():
    files = [pulled(f"o/r/big-0000{n}-of-00002.gguf") for n in (1, 2)]
    assert library.find("o/r") == library.find("o/r:big-00002-of-00002.gguf") == files[0]


def test_several_pulled_files_of_a_repository_are_ambiguous():
    pulled("o/r/a-q5_0.gguf"), pulled("o/r/a-q8_0.gguf")
    with pytest.raises(ConfigError, match="several models"):
        library.find("o/r")
    assert library.find("o/r:q8_0").name == "a-q8_0.gguf"


@pytest.mark.parametrize("name", [SHORT, "owner/repo", "owner/repo:file.gguf"])
def test_a_model_that_was_not_pulled_names_the_command_that_does(name):
    with pytest.raises(MissingError) as missing:
        library.find(name)
    assert missing.value.hint == f"Run `rqa models pull {name}`."


@pytest.mark.parametrize("name", ["none.gguf", "~/none"])
def test_a_missing_path_is_reported_in_full(name):
    with pytest.raises(MissingError, match=str(Path(name).expanduser().absolute())):
        library.find(name)


def test_a_similar_name_is_suggested():
    with pytest.raises(ConfigError) as unknown:
        library.parse("qwen3-4b-250")
    assert SHORT in unknown.value.hint


@pytest.mark.parametrize("name", ["word", "../x:y"])
def test_an_invalid_name_is_a_usage_error(name):
    with pytest.raises(ConfigError, match="neither"):
        library.parse(name)


def test_the_list_shows_what_was_pulled_and_what_is_known(rqa, monkeypatch):
    entry = library.CATALOGUE[SHORT]
    pulled(f"{entry.repo}/{entry.file}"), pulled("o/r/sub/x-q8_0.gguf"), pulled("o/r/\x1b[2Jx-q4_0.gguf")
    monkeypatch.setenv("COLUMNS", "160")
    shown = rqa("models", "list").out
    assert "o/r:sub/x-q8_0.gguf" in shown
    assert f"{SHORT} (pulled)" in shown
    assert "approximate" in shown
    assert "\x1b" not in shown


def test_the_list_as_json_is_one_object_with_paths_and_sizes(rqa):
    first = pulled("o/r/big-00001-of-00002.gguf")
    put(first.with_name("big-00002-of-00002.gguf"), size=8)
    shown = json.loads(rqa("models", "list", "--json").out)
    assert shown["pulled"] == [{"model": "o/r:big-00001-of-00002.gguf", "path": str(first), "bytes": 12}]
    assert [row["name"] for row in shown["known"]] == list(library.CATALOGUE)
