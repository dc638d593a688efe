"""`rqa testset`: questions about documents, with twins that they do not answer."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from standins.openai import serve

DOCUMENT = """# Ferry handbook

## Who may board Quillboat Ferry?

Members and their guests may board.

Harbour Council is the body that sets the fares of all boats.

Skerry Lighthouse was built in 1871 on the eastern arm.
"""
OTHER = """# Museum

## What does Renn Museum cost?

It is free.

Keeper Circle is the association of all former keepers.

Marrow Bridge was opened in 1902.
"""


def run_testset(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "robust_qa", "testset", str(folder), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "RQA_READER": ""})


@pytest.fixture
def rows(tmp_path: Path) -> list[dict[str, Any]]:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "ferry.md").write_text(DOCUMENT)
    (tmp_path / "docs" / "museum.md").write_text(OTHER)
    ran = run_testset(tmp_path / "docs")
    assert ran.returncode == 0, ran.stderr
    return list(map(json.loads, ran.stdout.splitlines()))


def test_the_ending_of_the_output_chooses_its_format_or_is_refused(rows: list[Any], tmp_path: Path) -> None:
    assert run_testset(tmp_path / "docs", "-o", str(tmp_path / "out.json")).returncode == 0
    assert json.loads((tmp_path / "out.json").read_text()) == rows
    assert run_testset(tmp_path / "docs", "-o", str(tmp_path / "out.csv")).returncode == 0
    with (tmp_path / "out.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    assert [row["question"] for row in table] == [row["question"] for row in rows]
    assert [json.loads(row["answers"]) for row in table] == [row["answers"] for row in rows]
    ran = run_testset(tmp_path / "docs", "-o", str(tmp_path / "out.txt"))
    assert (ran.returncode, ".jsonl, .json, .csv, .tsv" in ran.stderr) == (2, True)


def test_questions_come_from_headings_definitions_and_events(rows: list[dict[str, Any]]) -> None:
    asked = {row["question"]: row["answers"] for row in rows if row["answers"]}
    assert asked == {
        "Who may board Quillboat Ferry?": ["Members and their guests may board"],
        "What is Harbour Council?": ["the body that sets the fares of all boats"],
        "When was Skerry Lighthouse built?": ["1871"],
        "What does Renn Museum cost?": ["It is free"],
        "What is Keeper Circle?": ["the association of all former keepers"],
        "When was Marrow Bridge opened?": ["1902"],
    }


def test_the_evidence_is_in_the_document_and_has_the_answer(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        if row["answers"]:
            assert row["evidence"] in DOCUMENT + OTHER and row["answers"][0] in row["evidence"]
        else:
            assert "evidence" not in row


def test_without_a_model_it_says_what_the_questions_are_worth(tmp_path: Path) -> None:
    (tmp_path / "ferry.md").write_text(DOCUMENT)
    ran = run_testset(tmp_path)
    assert ran.returncode == 0
    assert "No language model is configured" in ran.stderr and "rqa init" in ran.stderr


def test_twins_ask_almost_the_same_of_what_no_document_has(rows: list[dict[str, Any]]) -> None:
    twins = {row["twin_of"]: row["question"] for row in rows if not row["answers"]}
    assert twins["What is Harbour Council?"] == "What is Harbour Circle?"
    assert twins["When was Skerry Lighthouse built?"] == "When was Skerry Bridge built?"
    assert len(twins) == 6


def test_rqa_eval_scores_the_questions_and_their_twins(rows: list[dict[str, Any]], tmp_path: Path) -> None:
    (tmp_path / "set.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = [sys.executable, "-m", "robust_qa", "eval", "set.jsonl", "-s", "rag", "-d", "docs", "-o", "run"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    measured = json.loads((tmp_path / "run" / "metrics.json").read_text())["groups"][0]["strategies"]["rag"]
    assert [measured[name]["rows"] for name in ("accuracy", "refusal-recall")] == [12, 6]


def test_documents_without_questions_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("and nothing else")
    ran = run_testset(tmp_path)
    assert ran.returncode == 4 and "No question was found" in ran.stderr


EVIDENCE = "Skerry Lighthouse was built in 1871 on the eastern arm."
WRITTEN = {
    "question": "When was it built?",
    "answer": "1871",
    "evidence": EVIDENCE,
    "unanswerable": "Why was it built?",
}


@pytest.mark.parametrize(
    ("written", "known", "kept"),
    [
        (WRITTEN, ["When was it built?"], [("When was it built?", ["1871"]), ("Why was it built?", [])]),
        (WRITTEN, [], []),
        (WRITTEN, ["When was it built?", "Why was it built?"], [("When was it built?", ["1871"])]),
        ({**WRITTEN, "evidence": "The lighthouse was built in 1871."}, ["When was it built?"], []),
        ({**WRITTEN, "question": "When was this document built?"}, ["When was this document built?"], []),
    ],
    ids=[
        "confirmed",
        "not answered again",
        "twin answered",
        "evidence in other words",
        "asks about the document",
    ],
)
def test_a_model_writes_a_question_and_a_twin_and_what_its_check_does_not_confirm_is_dropped(
    rqa: Any, tmp_path: Path, written: dict[str, str], known: list[str], kept: list[tuple[str, list[str]]]
) -> None:
    def model(request: dict[str, Any], number: int) -> str:
        prompt = request["messages"][-1]["content"]
        if "Write a question" in prompt:
            return json.dumps(written)
        knows = any(f"Question: {question}" in prompt for question in known)
        return f"Documents: 1\nAnswer: {'in 1871' if knows else 'UNKNOWN'}"

    (tmp_path / "a.md").write_text(DOCUMENT)
    with serve(model) as server:
        options = {"plugin": "openai", "model": "m", "base_url": server.url, "structured": "none"}
        Path("rqa.toml").write_text("[reader.m]\n" + "".join(f'{key} = "{value}"\n' for key, value in options.items()))
        ended = rqa("testset", tmp_path / "a.md", "--reader", "m")
    rows = [json.loads(line) for line in ended.out.splitlines()]
    assert [(row["question"], row["answers"]) for row in rows] == kept
    assert [row.get("evidence") for row in rows] == [EVIDENCE if answers else None for _, answers in kept]
    assert ended.code == (0 if kept else 4), ended.err
    assert "No language model is configured" not in ended.err
