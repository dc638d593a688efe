"""The GitHub Action: its steps, run as GitHub runs them, and the workflow that people copy."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parents[1]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
WORKFLOW = yaml.safe_load((ROOT / "examples" / "ci" / "rqa.yml").read_text("utf-8"))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository such as the workflow is for, with a stored run."""
    shutil.copytree(ROOT / "examples" / "harbour", tmp_path / "handbook")
    shutil.copy(ROOT / "examples" / "questions.jsonl", tmp_path / "questions.jsonl")
    return tmp_path


def check(repository: Path, installed: str, **inputs: str) -> tuple[int, str]:
    """The exit code of the step that checks, and the comment."""
    temporary = repository / "temporary"
    (temporary / "rqa").mkdir(parents=True, exist_ok=True)
    (temporary / "rqa" / "bin").unlink(missing_ok=True)
    (temporary / "rqa" / "bin").symlink_to(Path(installed).parent)
    (step,) = (step for step in ACTION["runs"]["steps"] if step.get("id") == "check")
    given = {name: each.get("default") for name, each in ACTION["inputs"].items()} | inputs
    env = {
        name: re.sub(r"\$\{\{ inputs\.(\w+) }}", lambda at: given[at[1]], text) for name, text in step["env"].items()
    }
    env |= {"RUNNER_TEMP": str(temporary), "GITHUB_OUTPUT": str(temporary / "output")}
    env |= {"GITHUB_STEP_SUMMARY": str(temporary / "summary")}
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    (temporary / "summary").write_text("")
    done = subprocess.run(command, cwd=repository, env={**os.environ, **env}, capture_output=True, text=True)
    comment = (repository / "rqa-comment.md").read_text("utf-8")
    assert (temporary / "summary").read_text("utf-8") == (comment if done.returncode in (0, 6) else ""), done.stderr
    return done.returncode, comment


def test_the_workflow_comments_and_fails_when_answers_are_lost(repository: Path, installed: str) -> None:
    (inputs,) = (step["with"] for step in WORKFLOW["jobs"]["rqa"]["steps"] if "robust-qa" in step.get("uses", ""))
    (store,) = re.findall(r"^#   (rqa .*)$", (ROOT / "examples" / "ci" / "rqa.yml").read_text("utf-8"), re.M)
    # Five questions are too few for a significant loss.
    questions = repository / "questions.jsonl"
    rows = '{"question": "How many steps lead to the lantern room?", "answers": ["164"]}\n'
    questions.write_text(questions.read_text("utf-8") + rows * 20, "utf-8")
    subprocess.run(["sh", "-c", store.replace("rqa ", f"{installed} ", 1)], cwd=repository, check=True)

    code, comment = check(repository, installed, **inputs)
    assert code == 0 and "<summary>1 finding in 6 files" in comment and "brochure.txt:1" in comment
    assert "| corroborate |" in comment and "Gate: no metric is significantly worse" in comment

    for file in (repository / "handbook").iterdir():
        file.write_text(file.read_text("utf-8").replace("164", "many"), "utf-8")
    code, comment = check(repository, installed, **inputs)
    assert code == 6 and "Gate: significantly worse" in comment and "accuracy" in comment.partition("Gate")[2]


def test_without_questions_only_the_documents_are_checked(repository: Path, installed: str) -> None:
    code, comment = check(repository, installed, docs="handbook")
    assert code == 0 and "1 finding" in comment and "accuracy" not in comment


def test_a_folder_that_is_not_there_fails(repository: Path, installed: str) -> None:
    (repository / "rqa-comment.md").touch()
    assert check(repository, installed, docs="nowhere; touch here") == (1, "")
    assert not (repository / "here").exists()
