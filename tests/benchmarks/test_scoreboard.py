"""The scoreboard: its samples, what its systems show, and how they are scored."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from standins.openai import serve

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

import scoreboard_page
from scoreboard import score_claims, score_questions, score_ramdocs
from systems import sample

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def answered(tmp_path: Path, system: str, name: str, *options: str) -> list[dict[str, Any]]:
    out = tmp_path / "out.json"
    command = [sys.executable, str(BENCHMARKS / "systems.py"), system, name, str(out), "--rows", "2", *options]
    subprocess.run(command, check=True)
    rows: list[dict[str, Any]] = json.loads(out.read_text("utf-8"))["rows"]
    return rows


def test_the_page_and_the_picture_are_what_the_stored_results_give(tmp_path: Path) -> None:
    scoreboard_page.write(json.loads((BENCHMARKS / "scoreboard.json").read_text("utf-8")), tmp_path)
    for name in ("scoreboard.md", "scoreboard.svg"):
        assert (tmp_path / name).read_text("utf-8") == (BENCHMARKS / name).read_text("utf-8")


def test_the_samples_are_small_and_every_question_has_its_document() -> None:
    assert sum(path.stat().st_size for path in (BENCHMARKS / "data").iterdir()) < 3e6
    for name in scoreboard_page.QUESTIONS:
        documents, asked = sample(name)
        assert all(row["doc"] in documents for row in asked if row["answers"])


@pytest.mark.parametrize("system", ["rqa", "fts5", "vectors"])
def test_a_system_shows_up_to_three_texts_of_the_document(system: str, tmp_path: Path) -> None:
    _, asked = sample("tatqa", 2)
    for row, found in zip(asked, answered(tmp_path, system, "tatqa"), strict=True):
        assert found["id"] == row["id"]
        assert 1 <= len(found["shown"]) <= 3
        assert {document for document, _ in found["shown"]} == {row["doc"]}


def test_a_model_behind_a_server_answers_over_what_fts5_finds(tmp_path: Path) -> None:
    with serve(lambda request, n: ["1871", "Unknown."][n % 2]) as server:
        rows = answered(tmp_path, "model", "tatqa", "--base-url", server.url, "--model", "m")
        assert [row["answer"] for row in rows] == ["1871", None]
        assert "Question: " in server.requests[0].body["messages"][0]["content"]


QUESTION = {
    "question": "When?",
    "kind": "when",
    "answers": ["1871"],
    "doc": "a.md",
    "evidence": "It was built in 1871.",
}
ABSENT = {"question": "Who?", "kind": "not-in-documents", "answers": []}


def test_an_answer_to_a_question_without_one_is_wrong_and_a_refusal_is_not_an_answer() -> None:
    shown = [["a.md", "Ferries sail."], ["a.md", "It was built in 1871."]]
    found = [
        {"answer": "In 1871", "sides": [], "shown": shown},
        {"answer": None, "sides": ["1817", "1871"], "shown": shown[1:]},
        {"answer": "Ann", "sides": [], "shown": []},
        {"answer": None, "sides": [], "shown": []},
    ]
    score = score_questions("unseen_documents", [QUESTION, QUESTION, ABSENT, ABSENT], {"a.md": ""}, found)
    assert score["first"] == (1, 2) and score["three"] == (2, 2)
    assert score["answered"] == (1, 2) and score["right"] == (1, 2) and score["refused"] == (1, 2)
    assert score["conflict"] == (1, 4)


def test_the_sides_of_a_conflict_tell_several_right_answers() -> None:
    asked = [
        {"answers": ["1871", "1902"], "wrong_answers": ["1817"]},
        {"answers": ["1871", "1902"], "wrong_answers": []},
        {"answers": ["Ann"], "wrong_answers": []},
    ]
    found = [
        {"answer": None, "sides": ["in 1902", "1871", "1817"], "shown": []},
        {"answer": "1871", "sides": [], "shown": [["x", "1871"], ["y", "1902"]]},
        {"answer": None, "sides": ["Ann", "Bo"], "shown": []},
    ]
    score = score_ramdocs(asked, found)
    assert score["told"] == (1, 2) and score["shown"] == (1, 2) and score["conflict"] == (1, 1)
    assert score["answered"] == (1, 3) and score["right"] == (1, 1) and score["planted"] == (0, 1)


def test_precision_is_of_what_was_called_so_and_recall_of_what_is_so() -> None:
    wanted = ["supported", "supported", "contradicted", "contradicted", "neither"]
    counts = score_claims(wanted, ["supported", "neither", "supported", "contradicted", "contradicted"])
    assert counts["supported precision"] == (1, 2) and counts["supported recall"] == (1, 2)
    assert counts["contradicted precision"] == (1, 2) and counts["contradicted recall"] == (1, 2)
    assert counts["contradicted called supported"] == (1, 2)
