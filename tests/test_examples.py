"""The examples that people copy work as they are."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from standins import postgres

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_a_team_asks_its_handbook_in_postgres(tmp_path: Path, installed: str) -> None:
    programs = postgres.programs()
    if programs is None:
        pytest.skip("a Postgres with pgvector is needed: pip install -e '.[dev]'")
    shutil.copy(EXAMPLES / "team" / "handbook.toml", tmp_path)
    shutil.copytree(EXAMPLES / "harbour", tmp_path / "handbook")
    commands = re.findall(r"^#   (.*)$", (tmp_path / "handbook.toml").read_text("utf-8"), re.M)
    with postgres.server(programs) as place:
        commands[0] = re.sub(r"postgresql://[^\"]*", f"postgresql://rqa@/postgres?host={place}", commands[0])
        path = os.pathsep.join([str(Path(installed).parent), os.environ["PATH"]])
        command = ["bash", "-ec", "\n".join(commands)]
        env = {**os.environ, "PATH": path}
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert "Joan Pascoe" in done.stdout, done.stderr


def test_the_cells_of_the_notebook_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES)
    cells = json.loads((EXAMPLES / "notebook.ipynb").read_text("utf-8"))["cells"]
    names: dict[str, Any] = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
    assert {side.text for side in names["answer"].conflicts} == {"1871", "1817"}
    assert [answer.text for answer in names["answers"]] == ["Ingrid Valdane", "164"]


def test_a_store_of_haystack_is_asked(installed: str) -> None:
    pytest.importorskip("haystack", reason="needs haystack-ai: pip install haystack-ai")
    [command] = re.findall(r"^    PYTHONPATH=\. (rqa .*)$", (EXAMPLES / "haystack_store.py").read_text("utf-8"), re.M)
    path = os.pathsep.join([str(Path(installed).parent), os.environ["PATH"]])
    env = {**os.environ, "PATH": path, "PYTHONPATH": "."}
    done = subprocess.run(["bash", "-ec", command], cwd=EXAMPLES, env=env, capture_output=True, text=True)
    assert "4.20" in done.stdout, done.stderr
    assert "ferry.html" in done.stdout
