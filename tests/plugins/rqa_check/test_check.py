"""`rqa check`: the verdict of each sentence of an answer, its quote, and the exit code."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from robust_qa import Passage
from robust_qa.testing import StaticRetriever, toolbox
from rqa_check import check_answer, check_sentences

FERRY = "The ferry to Skerry Point was built in 1871 by the engineer Ada Quill. It sails on Mondays."


def check(folder: Path, answer: str, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "ferry.md").write_text(FERRY)
    command = [sys.executable, "-m", "robust_qa", "check", answer, "-d", str(folder / "ferry.md"), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("sentence", "verdict"),
    [
        ("The ferry to Skerry Point was built in 1871.", "supported"),
        ("The ferry to Skerry Point was built in 1817.", "contradicted"),
        ("The ferry to Skerry Point was built by the engineer Bo Renn.", "contradicted"),
        ("The museum keeps 300 model boats in its cellar.", "not found"),
    ],
)
def test_a_sentence_gets_the_verdict_of_its_closest_sentence(sentence: str, verdict: str) -> None:
    [found] = check_sentences(sentence, [Passage(FERRY)])
    assert found.verdict == verdict


def test_nothing_is_supported_by_no_passages() -> None:
    assert [each.verdict for each in check_sentences("It sails. It costs 4.20.", [])] == ["not found", "not found"]


def test_passages_are_retrieved_for_each_sentence() -> None:
    tools = toolbox("", retriever=StaticRetriever([FERRY]))
    found = asyncio.run(check_answer("It sails on Mondays. The museum is closed.", tools))
    assert [each.verdict for each in found] == ["supported", "not found"]


def test_a_supported_sentence_is_printed_with_its_quote_and_exits_with_0(tmp_path: Path) -> None:
    ran = check(tmp_path, "The ferry to Skerry Point was built in 1871.")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("✓ supported:") and "Ada Quill" in ran.stdout and "ferry.md" in ran.stdout


def test_an_unsupported_sentence_exits_with_6_and_controls_are_not_printed(tmp_path: Path) -> None:
    ran = check(tmp_path, "The ferry to Skerry Point was built in 1817\x1b\x07.")
    assert ran.returncode == 6, ran.stderr
    assert ran.stdout.startswith("✗ contradicted:") and "\x1b" not in ran.stdout


def test_json_has_each_sentence_with_verdict_and_citation(tmp_path: Path) -> None:
    [found] = json.loads(check(tmp_path, "The ferry to Skerry Point was built in 1871.", "--json").stdout)["sentences"]
    assert found["verdict"] == "supported" and found["citation"]["quote"].startswith("The ferry")
