"""What is quoted and answered from files whose text has no full stops, and from text that is no statement."""

from __future__ import annotations

from pathlib import Path

import pytest

import robust_qa

FILES = {
    "valves.csv": "part,name,price EUR\nKX-77/2,gasket,12.40\nKX-77/3,gasket large,9.90\nKX-78/1,seal,3.10\n",
    "backup.log": (
        "2026-03-01 02:00:01 INFO backup of vault started\n"
        "2026-03-01 02:04:40 ERROR backup of vault failed: disk full\n"
        "2026-03-01 02:05:02 INFO mail sent to admin\n2026-03-01 03:00:00 INFO backup of museum started\n"
    ),
    "pumps.md": "# Pumps\n\n| Pump | Flow |\n|---|---|\n| Heron | 40 l/min |\n| Otter | 75 l/min |\n| Coot | 20 l/min",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("documents")
    for name, content in FILES.items():
        (folder / name).write_text(content, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    "name, question, quote",
    [
        ("valves.csv", "What is the price of KX-77/3?", "part: KX-77/3; name: gasket large; price EUR: 9.90"),
        ("pumps.md", "What is the flow of the Otter?", "Pump: Otter; Flow: 75 l/min"),
    ],
)
def test_a_row_of_a_table_is_quoted_alone(folder: Path, name: str, question: str, quote: str) -> None:
    answer = robust_qa.ask(question, docs=folder / name)
    assert [*answer.citations, *answer.closest][0].quote == quote


def test_a_line_of_a_log_answers_alone(folder: Path) -> None:
    answer = robust_qa.ask("Why did the backup of vault fail?", docs=folder / "backup.log")
    assert answer.text is None or answer.text in "2026-03-01 02:04:40 ERROR backup of vault failed: disk full"


@pytest.mark.parametrize(
    "text, question",
    [
        ("[00:12] Uma: So who paints the boat?\n[00:15] Bo: We need green paint.", "Who paints the boat?"),
        ("How do I open the hatch?\n\nTurn the wheel to the left.", "How do I open the hatch?"),
        ("Dear all,\n\nthe oven is broken. Use the one upstairs.", "Is everything all right, dear?"),
    ],
)
def test_neither_a_question_nor_a_greeting_is_an_answer(tmp_path: Path, text: str, question: str) -> None:
    (tmp_path / "text.txt").write_text(text, encoding="utf-8")
    answer = robust_qa.ask(question, docs=tmp_path)
    first = text.partition("\n")[0]
    assert not answer.text or answer.text not in first
    assert first not in [each.quote for each in (*answer.citations, *answer.closest)]
