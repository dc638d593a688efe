"""The README's promises, held against the project."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import tomli

from robust_qa import __version__

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
COMMANDS = re.findall(r"```sh\n(.*?)\n```", README, re.DOTALL)


def test_every_file_the_readme_links_to_is_there() -> None:
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", README) if "://" not in link]
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_readmes_program_runs() -> None:
    program, _ = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("Joan Pascoe 0.") and ran.stdout.endswith("keepers.md\n")


def test_the_readmes_plugin_answers_the_readmes_question(tmp_path: Path) -> None:
    _, source = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    (tmp_path / "my_notes.py").write_text(source, "utf-8")
    (use,) = (command for command in COMMANDS if "my_notes.py" in command)
    note, ask = use.splitlines()
    (tmp_path / "notes.txt").write_text(shlex.split(note)[1], "utf-8")
    command = [sys.executable, "-m", "robust_qa", *shlex.split(ask)[1:]]
    folders = {f"RQA_{name}_DIR": str(tmp_path / name) for name in ("CONFIG", "DATA", "CACHE")}

    def answer() -> str:
        env = {**os.environ, **folders}
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
        return done.stdout.splitlines()[0]

    assert answer() == "Ada Quill"
    (tmp_path / "notes.txt").write_text("The boiler was last serviced by Tobias Renn.", "utf-8")
    assert answer() == "Tobias Renn"


@pytest.mark.parametrize("folder", ["papers", "train"])
def test_all_distributions_have_one_version(folder: str) -> None:
    project = tomli.loads((ROOT / f"plugins/lab/{folder}/pyproject.toml").read_text("utf-8"))["project"]
    assert (project["version"], project["dependencies"][0]) == (__version__, f"robust-qa=={__version__}")
