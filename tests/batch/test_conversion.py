"""Workbooks and the JSON files of other tools and public sets, as rows."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from robust_qa import InputError
from robust_qa.batch import converted


def read(path: Path, content: Any) -> tuple[str, list[dict[str, Any]]]:
    path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1))
    found = converted(path)
    assert found is not None
    return found.kind, list(found.rows)


def test_a_workbook_is_a_table(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (
        ["ID", "Question", "passages", "asked"],
        [7, "Who\nwas it?", '["Ada.", {"text": "Bo."}]', date(2025, 1, 31)],
        [None, None, None, None],
        [8, "When?", None, None],
    ):
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    found = converted(tmp_path / "a.xlsx")
    assert found is not None
    assert list(found.rows) == [
        {"id": 7, "question": "Who\nwas it?", "passages": ["Ada.", {"text": "Bo."}], "asked": "2025-01-31"},
        {"id": 8, "question": "When?"},
    ]
    (tmp_path / "b.xlsx").write_text("no workbook")
    with pytest.raises(InputError, match="not a workbook"):
        list(converted(tmp_path / "b.xlsx").rows)  # type: ignore[union-attr]


def test_squad_has_a_row_for_each_question(tmp_path: Path) -> None:
    asked = [{"id": "1", "question": "Who?", "answers": [{"text": "Ada", "answer_start": 0}]}]
    content = {"version": "1.1", "data": [{"title": "T", "paragraphs": [{"context": "Ada did.", "qas": asked}]}]}
    rows = [{"id": "1", "question": "Who?", "answers": ["Ada"], "passages": [{"title": "T", "text": "Ada did."}]}]
    assert read(tmp_path / "a.json", content) == ("SQuAD", rows)


def test_hotpotqa_brings_its_paragraphs(tmp_path: Path) -> None:
    entry = {
        "_id": "5",
        "answer": "Ada",
        "question": "Who?",
        "context": [["T", ["Ada did.", " She said so."]]],
        "level": "easy",
    }
    kind, [row] = read(tmp_path / "a.json", [entry])
    assert kind == "HotpotQA"
    assert row == {
        "id": "5",
        "question": "Who?",
        "level": "easy",
        "answers": ["Ada"],
        "passages": [{"title": "T", "text": "Ada did. She said so."}],
    }


@pytest.mark.parametrize("form", ["array", "config", "lines"])
def test_the_variables_of_promptfoo_are_fields(tmp_path: Path, form: str) -> None:
    test = {
        "vars": {"question": "Who?", "tone": "dry"},
        "assert": [{"type": "icontains", "value": "Ada"}, {"type": "cost"}],
    }
    content = {"array": [test], "config": {"tests": [test]}, "lines": json.dumps(test) + "\n"}[form]
    path = tmp_path / ("a.jsonl" if form == "lines" else "a.json")
    assert read(path, content) == ("tests of promptfoo", [{"question": "Who?", "tone": "dry", "answers": ["Ada"]}])


def test_lines_of_json_stay_as_they_are(tmp_path: Path) -> None:
    for name in ("a.json", "a.jsonl"):
        (tmp_path / name).write_text('{"question": "Who?"}\n{"question": "When?"}\n')
        assert converted(tmp_path / name) is None
    assert read(tmp_path / "b.json", [{"question": "Who?"}]) == ("JSON array", [{"question": "Who?"}])


def test_the_files_of_ragas_are_answered_from_their_contexts(tmp_path: Path, rqa: Any) -> None:
    """As EvaluationDataset.to_csv and to_jsonl write them: lists in CSV are Python's."""
    row = {
        "user_input": "Who was the keeper?",
        "retrieved_contexts": ["The keeper's name was Ada."],
        "reference": "Ada",
    }
    (tmp_path / "a.jsonl").write_text(json.dumps(row) + "\n")
    (tmp_path / "a.csv").write_text(
        'user_input,retrieved_contexts,reference\nWho was the keeper?,"[""The keeper\'s name was Ada.""]",Ada\n'
        "Who was the keeper?,\"['The keeper was Ada.', 'No.']\",Ada\n"
    )
    for name, said, passages in (
        ("a.jsonl", "JSON lines, column `user_input`", 1),
        ("a.csv", "column `user_input`", 2),
    ):
        ended = rqa("batch", tmp_path / name, "-s", "rag", "--reader", "lexical", "-o", tmp_path / f"{name}.out.jsonl")
        assert (ended.code, ended.err.splitlines()[0].split(": ", 1)[1].startswith(f"{tmp_path / name}: {said}")) == (
            0,
            True,
        )
        last = json.loads((tmp_path / f"{name}.out.jsonl").read_text().splitlines()[-1])
        assert len(last["retrieved_contexts"]) == passages
        assert "retrieve" not in last.get("error", {})


def test_a_batch_says_what_it_read(tmp_path: Path, rqa: Any) -> None:
    (tmp_path / "a.json").write_text(json.dumps([{"question": "Who?", "passages": ["Ada."]}] * 2, indent=1))
    ended = rqa("batch", tmp_path / "a.json", "-s", "rag", "--reader", "lexical", "-o", tmp_path / "out.jsonl")
    assert ended.code == 0
    assert f"{tmp_path / 'a.json'}: JSON array, 2 rows" in ended.err
