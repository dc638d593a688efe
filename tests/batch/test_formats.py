"""The formats of output rows."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from robust_qa import Answer, Citation, InputError, RqaError
from robust_qa.batch.formats import format_of, rendered, write_workbook
from robust_qa.batch.rows import parse_row


def written(form: str, *lines: bytes, **how: str) -> str:
    return "".join(rendered(lambda: lines, form, **how))


def table(*lines: bytes) -> list[dict[str, Any]]:
    return list(csv.DictReader(io.StringIO(written("csv", *lines), newline="")))


def answered(row: bytes, *sources: str) -> bytes:
    citations = tuple(Citation("Q", source=source) for source in sources)
    return parse_row(row, 2).answered(Answer("Ada", 0.5, citations))


def test_a_table_has_the_columns_of_the_row_then_answer_confidence_and_sources() -> None:
    line = answered(b'{"n": 1.10, "query": "Who?", "answer": "Bo"}', "a.md", "b.md", "a.md")
    header = written("csv", line).partition("\n")[0].split(",")
    assert header[:6] == ["n", "query", "input.answer", "answer", "confidence", "sources"]
    (row,) = table(line)
    assert (row["n"], row["query"], row["input.answer"]) == ("1.10", "Who?", "Bo")
    assert (row["answer"], row["confidence"], row["sources"]) == ("Ada", "0.5", "a.md; b.md")
    assert json.loads(row["citations"])[1]["source"] == "b.md"


def test_rows_with_other_fields_share_a_table() -> None:
    failed = parse_row(b'{"question": "Why?", "note": "a\\n\\"b\\", c"}', 3).failed(RqaError("No."))
    first, second = table(answered(b'{"question": "Who?"}'), failed)
    assert (first["question"], first["note"], first["error"]) == ("Who?", "", "")
    assert (second["question"], second["note"], second["answer"]) == ("Why?", 'a\n"b", c', "")
    assert json.loads(second["error"])["message"] == "No."


def test_other_formats() -> None:
    lines = [b'{"a": 1}\n', b'{"a": "x\\ty"}\n']
    assert written("jsonl", *lines).encode() == b"".join(lines)
    assert json.loads(written("json", *lines)) == [{"a": 1}, {"a": "x\ty"}]
    assert written("tsv", *lines) == 'a\n1\n"x\ty"\n'
    assert written("csv", b'{"a": 1, "b": ";"}\n', delimiter=";") == 'a;b\n1;";"\n'
    assert (written("json"), written("csv")) == ("[]\n", "")


def test_the_name_of_a_file_asks_for_a_format() -> None:
    names = ["a", "a.jsonl", "a.ndjson", "a.JSON", "b/a.csv", "a.tsv"]
    assert [format_of(name) for name in names] == ["jsonl", "jsonl", "jsonl", "json", "csv", "tsv"]
    with pytest.raises(InputError, match=r"as \.ods") as caught:
        format_of("a.ods")
    assert ".jsonl, .json, .csv, .tsv" in caught.value.hint


def test_a_workbook_has_numbers_and_text_but_no_formulas(tmp_path: Path) -> None:
    failed = parse_row(b'{"question": "Why?"}', 3).failed(RqaError("No."))
    lines = [answered(b'{"n": 1.5, "question": "=1+1\\u0007", "long": "%s"}' % (b"x" * 40_000), "a.md"), failed]
    with (tmp_path / "a.xlsx").open("wb") as file:
        write_workbook(file, lambda: lines)
    header, first, second = openpyxl.load_workbook(tmp_path / "a.xlsx").active.values
    row = dict(zip(header, first, strict=True))
    assert (row["n"], row["question"], row["answer"], row["confidence"]) == (1.5, "=1+1", "Ada", 0.5)
    assert len(row["long"]) == 32_767
    assert dict(zip(header, second, strict=True))["question"] == "Why?"
