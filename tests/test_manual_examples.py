"""The examples of rqa-plugin(7) are run as they are in the page, and its names are compared with the code."""

import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
import tomli
from documentation import run

from robust_qa import Answer, Outcome, Registry, Toolbox
from robust_qa.answering import Kind
from robust_qa.host.registry import Plugin

ROOT = Path(__file__).parents[1]
PROGRAMS = (ROOT / "man" / "rqa-python.7.md").read_text("utf-8")
PAGE = (ROOT / "man" / "rqa-plugin.7.md").read_text("utf-8")
PARTS = {part.partition("\n")[0]: part for part in re.split(r"^#{2,3} ", PAGE, flags=re.MULTILINE)[1:]}
PYTHON = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
EXAMPLES = ("my_notes.py", "test_my_notes.py", "majority.py", "test_majority.py")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the files of both examples."""
    for name, source in zip(EXAMPLES, PYTHON, strict=False):
        (tmp_path / name).write_text(source, "utf-8")
    return tmp_path


def rqa(*arguments: str, folder: Path) -> str:
    return run(sys.executable, "-m", "robust_qa", *arguments, folder=folder)


def shell(part: str, folder: Path) -> list[str]:
    """The lines that the commands in that part of the page print."""
    (commands,) = re.findall(r"^```sh\n(.*?)^```$", PARTS[part], re.DOTALL | re.MULTILINE)
    return run(
        "sh", "-ec", f'rqa() {{ "{sys.executable}" -m robust_qa "$@"; }}\n{commands}', folder=folder
    ).splitlines()


# -- the examples


def test_the_retriever_answers_on_the_command_line(folder: Path) -> None:
    assert shell("A retriever", folder)[0] == "Ada Quill"


def test_the_strategy_answers_on_the_command_line(folder: Path) -> None:
    printed = shell("A strategy", folder)
    assert printed[0] == "Ada Quill"
    assert any("Bo Renn" in line for line in printed)


def test_the_tests_of_both_examples_check_them_against_the_contract_and_pass(folder: Path) -> None:
    tests = [name for name in EXAMPLES if name.startswith("test_")]
    assert all("assert_conforms(" in (folder / name).read_text("utf-8") for name in tests)
    assert "2 passed" in run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests, folder=folder)


def test_the_entry_point_in_the_pyproject_loads_the_retriever(folder: Path) -> None:
    (source,) = re.findall(r"^```toml\n(.*?)^```$", PARTS["A retriever"], re.DOTALL | re.MULTILINE)
    project = tomli.loads(source)["project"]
    installed = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text(f"Name: {project['name']}\nVersion: {project['version']}\n", "utf-8")
    entries = "".join(f"{name} = {module}\n" for name, module in project["entry-points"]["rqa"].items())
    (installed / "entry_points.txt").write_text(f"[rqa]\n{entries}", "utf-8")
    assert "my-notes" in rqa("plugins", folder=folder)


def test_the_example_of_a_command_adds_it(folder: Path) -> None:
    (source,) = (source for source in PYTHON if "registry.command(" in source)
    (folder / "commands.py").write_text(source, "utf-8")
    assert "Answer QUESTION in one line" in rqa("--plugin", "commands.py", "brief", "--help", folder=folder)
    passages = folder / "notes.txt"
    passages.write_text("Ada Quill serviced the boiler.", "utf-8")
    arguments = ("--plugin", "commands.py", "brief", "-d", "notes.txt", "Who serviced the boiler?")
    assert rqa(*arguments, folder=folder) == "Ada Quill\n"


EXAMPLE = re.compile(r'registry\.(\w+)\("([a-z-]+)"')
KINDS = [(*found.groups(), source) for source in PYTHON[4:] if (found := EXAMPLE.search(source))]


def test_every_kind_has_an_example() -> None:
    kinds = {kind for kind, _, _ in KINDS} | {"retriever", "strategy"}  # these two have longer ones
    assert {*get_args(Kind), "command", "format"} == kinds


@pytest.mark.parametrize(("kind", "name", "source"), KINDS, ids=[kind for kind, _, _ in KINDS])
def test_the_example_of_a_kind_keeps_its_contract(kind: str, name: str, source: str, folder: Path) -> None:
    (folder / "my_tides.py").write_text(source, "utf-8")  # the name that the format says
    (folder / "north.tide").write_text("High water is at noon.", "utf-8")
    file = ("--file", "north.tide") if kind == "format" else ()
    found = rqa("--plugin", "my_tides.py", "plugins", "check", name, "--kind", kind, *file, folder=folder)
    assert found and all(line.startswith(("ok", "skipped")) for line in found.splitlines()), found


def test_the_example_of_a_metric_measures(folder: Path) -> None:
    (source,) = (source for source in PYTHON if "registry.metrics(" in source)
    (folder / "metrics.py").write_text(source, "utf-8")
    registry = Registry(Plugin("example"))
    runpy.run_path(str(folder / "metrics.py"))["rqa_register"](registry)
    (metric,) = registry.metric_lists[0].object
    assert metric.measure(Outcome("Who?", (), Answer("Ada Quill"))) == 2
    assert metric.measure(Outcome("Who?", (), Answer(None))) is None


# -- the names


def terms(part: str) -> list[str]:
    """The terms that begin the items of a list in that part of the page."""
    found = re.findall(r"^- (`.*?`):\s", PARTS[part], re.DOTALL | re.MULTILINE)
    return [" ".join(term.split()) for heads in found for term in re.findall(r"`([^`]+)`", heads)]


def test_the_page_names_every_member_of_the_toolbox() -> None:
    members = {name for name in vars(Toolbox) if not name.startswith("_")}
    assert members - {re.sub(r"^await |\(.*", "", term) for term in terms("Toolbox")} == set()


def test_the_programs_of_the_manual_run_as_they_are() -> None:
    programs = re.findall(r"^```python\n(.*?)^```$", PROGRAMS, re.DOTALL | re.MULTILINE)
    assert len(programs) == 3
    for program in programs:
        ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
        assert ran.returncode == 0 and ran.stdout.strip(), ran.stderr
