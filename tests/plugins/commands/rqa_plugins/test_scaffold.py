"""`write_plugin` creates a working project and never replaces files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import robust_qa
from robust_qa import ConfigError, InputError
from robust_qa.answering import ANSWERING_KINDS
from robust_qa.host.loading import Host
from rqa_plugins.scaffold import KINDS, write_plugin

REPOSITORY = Path(robust_qa.__file__).parents[1]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def project(kind: str, tmp_path: Path) -> Path:
    write_plugin("field-notes", kind, tmp_path)
    return tmp_path / "rqa-field-notes"


def run(project: Path, *command: str, refused: str = "") -> None:
    """Run a Python module in the project, with the project and this package on the path."""
    paths = os.pathsep.join([str(project / "src"), str(REPOSITORY), str(REPOSITORY / "plugins" / "shared")])
    environment = {**os.environ, "PYTHONPATH": paths, "MYPYPATH": paths, "RQA_PLUGINS": "plugins"}
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=project, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode == 0) is not bool(refused) and refused in done.stdout, done.stdout + done.stderr


def test_the_projects_own_tests_pass(project: Path) -> None:
    run(project, "pytest", "-q", "-p", "no:asyncio", "-p", "no:cacheprovider")


def test_the_project_is_typed_strictly(project: Path) -> None:
    pytest.importorskip("mypy")
    run(project, "mypy", "--cache-dir", str(REPOSITORY / ".mypy_cache"), "src", "tests")


def test_the_project_is_linted_and_formatted(project: Path) -> None:
    pytest.importorskip("ruff")
    run(project, "ruff", "check", "--no-cache", ".")
    run(project, "ruff", "format", "--no-cache", "--check", ".")


def test_the_host_loads_the_package_and_finds_one_part_of_that_kind(project: Path, kind: str) -> None:
    host = Host(only=(), files=[project / "src" / "field_notes"])

    assert [each.label for each in (*host.components(), *host.commands.values(), *host.formats.values())] == [
        f"{kind} 'field-notes'"
    ]
    assert host.troubles() == []


def test_a_project_that_is_not_installed_yet_says_so_where_it_is_asked(
    project: Path, kind: str, rqa: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind not in ANSWERING_KINDS:
        pytest.skip("no default names it")
    monkeypatch.chdir(project)
    ended = rqa("ask", "Who?")
    assert ended.code == 2
    assert f"There is no {kind} named 'field-notes'" in ended.err
    assert "`pip install -e .`" in ended.err and "Did you mean" not in ended.err


def test_the_line_that_tries_the_configuration_works(project: Path, kind: str, tmp_path: Path) -> None:
    line = (project / "rqa.toml").read_text().splitlines()[0].removeprefix("# Try it: ")
    folders = {f"RQA_{name}_DIR": str(tmp_path / name) for name in ("CONFIG", "DATA", "CACHE")}
    (tmp_path / "rqa").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m robust_qa --plugin src/field_notes "$@"\n')
    (tmp_path / "rqa").chmod(0o755)
    done = subprocess.run(
        line.replace("rqa ask", "rqa ask --explain"),
        shell=True,
        cwd=project,
        env={**os.environ, **folders, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )

    if "plugins check" in line:
        assert f"{kind} field-notes: " in done.stderr and "passed" in done.stderr
        return
    assert "worms" in done.stdout.splitlines()[0].lower()
    if kind == "recorder":
        assert "worms" in (project / "answers.jsonl").read_text()
    elif kind not in {"command", "engine"}:
        assert "field-notes" in done.stdout + done.stderr


@pytest.mark.parametrize("name", ["3notes", "cafés!", "../up", "rqa-", "", "x" * 50, "笔记"])
def test_an_invalid_name_is_an_error_with_a_suggestion(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is not a valid plugin name") as caught:
        write_plugin(name, "reader", tmp_path)

    assert "'my-reader'" in caught.value.hint
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "owner"),
    [
        ("json", "an installed Python module"),
        ("class", "a keyword of Python"),
        ("robust_qa", "an installed Python module"),
    ],
)
def test_a_name_that_is_taken_is_refused_with_its_owner(name: str, owner: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=owner) as caught:
        write_plugin(name, "reader", tmp_path)

    assert f"'{name}-reader'" in caught.value.hint


def test_a_project_that_exists_is_left_as_it_is(tmp_path: Path) -> None:
    mine = tmp_path / "rqa-umpire" / "pyproject.toml"
    mine.parent.mkdir()
    mine.write_text("mine")

    with pytest.raises(InputError, match="rqa-umpire already exists"):
        write_plugin("umpire", "evaluator", tmp_path)

    assert [path.read_text() for path in mine.parent.iterdir()] == ["mine"]
