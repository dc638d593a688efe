"""`write_plugin` creates a working project and never replaces files."""

from __future__ import annotations

import importlib.util
import os
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import robust_qa
from robust_qa import ConfigError, InputError
from robust_qa.host.loading import Host
from robust_qa.host.scaffold import write_plugin
from robust_qa.types import ANSWERING_KINDS

REPOSITORY = Path(robust_qa.__file__).parents[1]


@pytest.fixture(params=ANSWERING_KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def project(kind: str, tmp_path: Path) -> Path:
    write_plugin("field-notes", kind, tmp_path)
    return tmp_path / "rqa-field-notes"


def run(project: Path, *command: str, refused: str = "") -> None:
    """Run a Python module in the project, with the project and this package on the path."""
    paths = os.pathsep.join([str(project / "src"), str(REPOSITORY)])
    environment = {**os.environ, "PYTHONPATH": paths, "MYPYPATH": paths, "RQA_PLUGINS": "none"}
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=project, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode == 0) is not bool(refused) and refused in done.stdout, done.stdout + done.stderr


def test_the_projects_own_tests_pass(project: Path) -> None:
    run(project, "pytest", "-q", "-p", "no:asyncio", "-p", "no:cacheprovider")


def test_the_project_is_typed_strictly(project: Path) -> None:
    pytest.importorskip("mypy")
    run(project, "mypy", "--cache-dir", str(REPOSITORY / ".mypy_cache"), "src", "tests")


def test_a_component_that_does_not_fit_is_told_by_a_type_checker(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    write_plugin("field-notes", "retriever", tmp_path)
    project = tmp_path / "rqa-field-notes"
    module = project / "src" / "field_notes" / "__init__.py"
    module.write_text(module.read_text().replace("query: str, k: int", "query: str, k: str"))
    mypy = ("mypy", "--cache-dir", str(REPOSITORY / ".mypy_cache"), "src")
    run(project, *mypy, refused='Callable[..., Retriever]"')


def test_the_project_is_linted_and_formatted(project: Path) -> None:
    pytest.importorskip("ruff")
    run(project, "ruff", "check", "--no-cache", ".")
    run(project, "ruff", "format", "--no-cache", "--check", ".")


def test_the_host_loads_the_package_and_finds_one_component_of_that_kind(project: Path, kind: str) -> None:
    host = Host(only=(), files=[project / "src" / "field_notes"])

    found = [component for component in host.components() if component.plugin.distribution.startswith(str(project))]
    assert [(component.kind, component.name) for component in found] == [(kind, "field-notes")]
    assert host.troubles() == []


def test_the_project_declares_its_entry_point_and_what_it_depends_on(project: Path) -> None:
    declared = tomllib.loads((project / "pyproject.toml").read_text())["project"]

    assert declared["name"] == "rqa-field-notes"
    assert declared["entry-points"] == {"rqa": {"field-notes": "field_notes"}}
    assert declared["dependencies"] == [f"robust-qa>={robust_qa.__version__}"]


def test_the_configuration_names_the_component_and_only_options_it_has(project: Path, kind: str) -> None:
    configuration = tomllib.loads((project / "rqa.toml").read_text())
    spec = importlib.util.spec_from_file_location("field_notes", project / "src/field_notes/__init__.py")
    assert spec is not None
    host = Host(only=(), files=[project / "src" / "field_notes"])
    options = host.find(kind, "field-notes").options  # type: ignore[arg-type]

    assert configuration["defaults"] == {kind: "field-notes"}
    assert set(configuration[kind]["field-notes"]) <= set(options.__dataclass_fields__)  # type: ignore[union-attr]


def test_a_project_that_is_not_installed_yet_says_so_where_it_is_asked(
    project: Path, kind: str, rqa: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    ended = rqa("ask", "Who?")
    assert ended.code == 2
    assert f"There is no {kind} named 'field-notes'" in ended.err
    assert "`pip install -e .`" in ended.err and "Did you mean" not in ended.err


def test_the_readme_shows_that_configuration(project: Path, kind: str) -> None:
    assert f"    [{kind}.field-notes]\n" in (project / "README.md").read_text()


def test_the_line_that_tries_the_configuration_gets_an_answer_from_the_component(
    project: Path, kind: str, tmp_path: Path
) -> None:
    line = (project / "rqa.toml").read_text().splitlines()[0].removeprefix("# Try it: ")
    rqa = f"{shlex.quote(sys.executable)} -m robust_qa --plugin src/field_notes ask --explain"
    if kind == "embedder":  # no strategy of this package asks one
        line, rqa = line.replace("rqa plugins", "rqa ask"), rqa.replace("ask --explain", "plugins")
    folders = {f"RQA_{name}_DIR": str(tmp_path / name) for name in ("CONFIG", "DATA", "CACHE")}
    done = subprocess.run(
        line.replace("rqa ask", rqa),
        shell=True,
        cwd=project,
        env={**os.environ, **folders},
        capture_output=True,
        text=True,
        check=True,
    )

    if kind == "embedder":
        assert "field-notes: 12 passed" in done.stderr
        return
    assert "worms" in done.stdout.splitlines()[0].lower()
    assert "field-notes" in done.stderr


def test_no_placeholder_is_left(project: Path) -> None:
    for path in filter(Path.is_file, project.rglob("*")):
        assert "$" not in path.read_text(), path


def test_the_files_written_are_returned_in_order(tmp_path: Path) -> None:
    written = write_plugin("umpire", "evaluator", tmp_path / "new" / "folder")

    root = tmp_path / "new" / "folder" / "rqa-umpire"
    assert written[0] == root / "pyproject.toml"
    assert sorted(written) == sorted(filter(Path.is_file, root.rglob("*")))


@pytest.mark.parametrize("name", ["Field-Notes", " field  notes ", "FIELD_notes"])
def test_a_name_is_written_small_and_its_package_as_python_wants_it(name: str, tmp_path: Path) -> None:
    write_plugin(name, "reader", tmp_path)

    assert (tmp_path / "rqa-field-notes" / "src" / "field_notes").is_dir()


def test_a_class_is_not_named_for_its_kind_twice(tmp_path: Path) -> None:
    write_plugin("rqa_sentence_reader", "reader", tmp_path)

    assert (
        "class RqaSentenceReader:" in (tmp_path / "rqa-sentence-reader/src/rqa_sentence_reader/__init__.py").read_text()
    )


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("3notes", "my-3notes"),
        ("cafés!", "cafes"),
        ("../up", "up"),
        ("rqa-", "rqa"),
        ("", "my-reader"),
        ("x" * 50, "x" * 36),
        ("笔记", "my-reader"),
    ],
)
def test_an_invalid_name_is_an_error_with_a_suggestion(name: str, suggestion: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is not a valid plugin name") as caught:
        write_plugin(name, "reader", tmp_path)

    assert f"{suggestion!r}" in caught.value.hint
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


def test_an_unknown_kind_is_an_error_with_a_suggestion(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        write_plugin("notes", "retriver", tmp_path)

    assert caught.value.hint == "Did you mean 'retriever'?"


def test_a_project_that_exists_is_left_as_it_is(tmp_path: Path) -> None:
    mine = tmp_path / "rqa-umpire" / "pyproject.toml"
    mine.parent.mkdir()
    mine.write_text("mine")

    with pytest.raises(InputError, match="rqa-umpire already exists"):
        write_plugin("umpire", "evaluator", tmp_path)

    assert [path.read_text() for path in mine.parent.iterdir()] == ["mine"]


def test_a_folder_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")

    with pytest.raises(InputError, match="Cannot write the plugin project"):
        write_plugin("umpire", "evaluator", tmp_path / "file" / "inside")
