"""Names of models, and what `rqa models list` shows."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from robust_qa import ConfigError, MissingError
from rqa_llamacpp import library
from rqa_llamacpp.commands import models
from rqa_llamacpp.library import CATALOGUE

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


def test_a_path_is_used_unchanged(home):
    file = put(home / "dir" / "model.gguf")
    assert {library.find(name) for name in ("dir/model.gguf", "./dir/model.gguf", "~/dir/model.gguf", str(file))} == {
        file
    }


def test_a_pulled_model_is_found_by_every_name_that_pulls_it():
    entry = CATALOGUE[SHORT]
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


@pytest.mark.parametrize("name", ["none.gguf", "./none", "~/none", "/none", "dir/none.gguf"])
def test_a_missing_path_is_reported_in_full(name):
    with pytest.raises(MissingError, match=str(Path(name).expanduser().absolute())):
        library.find(name)


def test_a_similar_name_is_suggested():
    with pytest.raises(ConfigError) as unknown:
        library.parse("qwen3-4b-250")
    assert SHORT in unknown.value.hint


@pytest.mark.parametrize("name", ["", "word", "../x:y", "a/b/c", "a/b:", "o/../r"])
def test_an_invalid_name_is_a_usage_error(name):
    with pytest.raises(ConfigError, match="neither"):
        library.parse(name)


def test_every_known_model_is_a_file_of_a_repository_that_parses():
    for entry in CATALOGUE.values():
        assert library.parse(entry.repo) == library.Spec(entry.repo)
        assert entry.file.lower().endswith("q4_k_m.gguf")
        assert entry.size < entry.memory


def test_the_list_shows_what_was_pulled_and_what_is_known():
    entry = CATALOGUE[SHORT]
    pulled(f"{entry.repo}/{entry.file}"), pulled("o/r/sub/x-q8_0.gguf")
    shown = CliRunner(env={"COLUMNS": "160"}).invoke(models, ["list"], catch_exceptions=False).output
    assert "o/r:sub/x-q8_0.gguf" in shown
    assert f"{SHORT} (pulled)" in shown
    assert "approximate" in shown


def test_the_list_as_json_is_one_object_with_paths_and_sizes():
    first = pulled("o/r/big-00001-of-00002.gguf")
    put(first.with_name("big-00002-of-00002.gguf"), size=8)
    shown = json.loads(CliRunner().invoke(models, ["list", "--json"], catch_exceptions=False).output)
    assert shown["pulled"] == [{"model": "o/r:big-00001-of-00002.gguf", "path": str(first), "bytes": 12}]
    assert [row["name"] for row in shown["known"]] == list(CATALOGUE)


def test_the_list_of_an_empty_folder_shows_what_is_known():
    result = CliRunner().invoke(models, ["list"], catch_exceptions=False)
    assert result.exit_code == 0
    assert SHORT in result.output


def test_a_list_into_a_closed_pipe_ends_quietly(installed):
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run([installed, "models", "list"], stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_control_characters_in_a_pulled_name_are_not_shown():
    pulled("o/r/\x1b[2Jx-q8_0.gguf")
    assert "\x1b" not in CliRunner().invoke(models, ["list"], catch_exceptions=False).output
