"""The rows of an input: lines, tables, workbooks and JSON, and what is wrong with one."""

import bz2
import codecs
import gzip
import io
import json
import lzma
import tracemalloc
from collections.abc import Iterator
from datetime import date
from typing import Any

import openpyxl
import pytest

from robust_qa import InputError
from rqa_rows import input_rows, read_lines, table_fields

from .conftest import Batch


def rows_of(content: str | bytes, **how: str) -> list[tuple[int, bytes]]:
    content = content if isinstance(content, bytes) else content.encode()
    return [(number, row) for number, row in input_rows(read_lines(io.BytesIO(content)), **how) if row]


def fields(content: str, **how: str) -> list[tuple[int, dict[str, Any]]]:
    return [(number, table_fields(row)) for number, row in rows_of(content, **how)]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", []),
        (b"a", [b"a"]),
        (b"a\n\nb\r\nc", [b"a", b"", b"b\r", b"c"]),
        (b"\n", [b""]),
        (b"a\rb\r", [b"a", b"b"]),
        (b"a\r", [b"a\r"]),
        (b"a\rb\nc", [b"a\rb", b"c"]),
        (b"x" * 3_000_000 + b"\ny\n", [b"x" * 3_000_000, b"y"]),
    ],
)
def test_lines_end_at_line_feeds(content: bytes, expected: list[bytes]) -> None:
    assert list(read_lines(io.BytesIO(content))) == expected


def test_a_line_is_not_kept_beyond_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rqa_rows.lines.LONGEST", 1_000_000)
    first, second = read_lines(io.BytesIO(b"x" * 9_000_000 + b"\ny\n"))
    assert 1_000_000 < len(first) < 2_000_000 and second == b"y"


@pytest.mark.parametrize(
    ("header", "name", "column", "row"),
    [
        ("question,answers\r", "-", "question", "Q"),
        ('\ufeff"id"\t"question"', "-", "question", "1\tQ"),
        ("id;Question", "-", "question", "1;Q"),
        ("question|answers", "-", "question", "Q"),
        (",question", "-", "question", "0,Q"),  # as pandas writes an index
        ("question", "-", "question", "Q"),
        ("user_input,reference", "a.csv", "user_input", "Q"),
        ("User_Input,reference", "-", "User_Input", "Q"),
        ("query,question,input", "a.csv", "question", "x,Q,y"),
        ("id,question,verified?", "a.csv", "question", "1,Q,yes"),
    ],
)
def test_a_table_begins_with_a_header_that_names_the_question(header: str, name: str, column: str, row: str) -> None:
    [(number, found)] = fields(f"{header}\n{row}\n", name=name)
    assert (number, found[column]) == (2, "Q")


def test_the_user_chooses_the_column(batch: Batch) -> None:
    for name in ("a.csv", "a.txt"):
        ended = batch("Nr;Frage?;question\n1;Wer?;no\n", "--column", "frage?", "--force", name=name)
        assert ended.answers == ["Wer?"] and "column `Frage?`" in ended.err


@pytest.mark.parametrize(
    "line",
    [
        "A question, what is it?",
        "questions, answers",
        "Who was born in 1,000",
        "Which of a; b and c is it?",
        "[1]",
        "What?",
    ],
)
def test_other_lines_are_questions(line: str) -> None:
    assert rows_of(line, name="a.md") == [(1, line.encode())]


@pytest.mark.parametrize(
    ("line", "name", "column", "message"),
    [
        ("Question, what is it?", "a.txt", "", "a.txt may be the header of a table or a question"),
        ("id,frage", "a.txt", "", "looks like the header of a table"),
        ("Nr\tDie Frage", "-", "", "looks like the header of a table"),
        ("nr;frage", "a.csv", "", "a.csv has no column that rqa knows as the question. Its columns are `nr`, `frage`."),
        ("Who was it?", "a.csv", "", "Its columns are `Who was it?`."),
        ("id,question", "a.csv", "frage", "a.csv has no column `frage`. Its columns are `id`, `question`."),
        ("prompt,input", "a.csv", "", "Several columns may hold the question: prompt, input."),
    ],
)
def test_what_is_ambiguous_is_an_error_that_names_the_option(line: str, name: str, column: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        rows_of(line, name=name, column=column)
    assert message in caught.value.message
    assert "--column" in caught.value.hint


@pytest.mark.parametrize(
    ("content", "what", "hint"),
    [
        (gzip.compress(b"a\n", mtime=0), "compressed", "FILE > ROWS"),
        (bz2.compress(b"a\n"), "compressed", "FILE > ROWS"),
        (lzma.compress(b"a\n"), "compressed", "FILE > ROWS"),
        (b"\x28\xb5\x2f\xfd\x04\x58\x11\0\0a\n", "compressed", "FILE > ROWS"),
        ("a\n".encode("utf-16"), "UTF-16 text", "FILE > ROWS"),
        (codecs.BOM_UTF16_BE + "a\n".encode("utf-16-be"), "UTF-16 text", "iconv"),
        (b"[\n", "JSON over several lines", "jq -c . FILE"),
        (b'[{"question": "Q"}, {', "a JSON array", "jq -c '.[]' FILE"),
    ],
)
def test_an_input_that_can_be_converted_is_an_error_with_a_command(content: bytes, what: str, hint: str) -> None:
    with pytest.raises(InputError, match=f"in.x is {what}") as caught:
        rows_of(content, name="in.x")
    assert hint in caught.value.hint


def test_a_broken_line_of_json_lines_is_no_question(batch: Batch) -> None:
    broken = ['"question": "Who?"}', 'question": "Who?", "id": 1}', "Who?"]
    ended = batch("\n".join(['{"question": "Q"}', *broken]), name="in.jsonl")
    assert ended.answers == ["Q", None, None, None]
    assert all(error.startswith("The row is not JSON") for error in ended.errors[1:])


def test_the_header_names_the_fields_and_an_empty_cell_is_no_field() -> None:
    table = "\ufeff,ID,Question,Level\r\n0,7,Who?,\r\n1, ,Where?,easy\r\n"
    assert fields(table) == [(2, {"id": "7", "question": "Who?"}), (3, {"question": "Where?", "Level": "easy"})]


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_a_quoted_cell_may_hold_delimiters_quotes_and_line_breaks(mark: str) -> None:
    table = f'question{mark}id\r\n"Who{mark} and\r\n""when""?"{mark}1\r\nWhere?{mark}"2"\r\n'
    assert fields(table) == [
        (2, {"question": f'Who{mark} and\n"when"?', "id": "1"}),
        (4, {"question": "Where?", "id": "2"}),
    ]


def test_a_cell_holds_json_or_text() -> None:
    table = 'question,passages,note\nQ,"[""a"", {""text"": ""b""}]",[sic]\nQ,only one,"{""a"":\n1}"\n'
    assert fields(table) == [
        (2, {"question": "Q", "passages": ["a", {"text": "b"}], "note": "[sic]"}),
        (3, {"question": "Q", "passages": ["only one"], "note": {"a": 1}}),
    ]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("Who, and when?,1", "The row has 3 cells, but the header has 2."),
        ("Who?,1,", "The row has 3 cells, but the header has 2."),
        ('"Who?,1\nWhere?,2', "A quote in the row, which has 2 lines, is not closed"),
        ('"Who" was it?,1', "A quote in the row, which has 1 line, is not closed"),
    ],
)
def test_a_wrong_row_is_an_error_and_not_another_question(row: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        fields(f"question,id\n{row}\n")
    assert caught.value.hint


def test_an_open_quote_does_not_take_the_whole_table_into_memory() -> None:
    def lines() -> Iterator[bytes]:
        yield b"question\n"
        yield b'"Who?\n'
        for _ in range(100_000):
            yield b"x" * 999 + b"\n"

    tracemalloc.start()
    try:
        assert max(len(row) for _, row in input_rows(lines())) < 20_000_000
        assert tracemalloc.get_traced_memory()[1] < 60_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("name", "content", "said", "answers"),
    [
        ("a.csv", "question;n\r\nWho?;1\r\nWhy?;2\r\n", "column `question`, 2 rows", ["Who?", "Why?"]),
        ("a.csv", "question,n\rWho?,1\rWhy?,2\r", "column `question`, 2 rows", ["Who?", "Why?"]),
        ("a.txt", "Who?\n\nWhy?\n", "one question a line, 2 rows", ["Who?", "Why?"]),
        ("a.jsonl", '{"query": "Who?"}\nquestion": "Why?"}\n', "JSON lines, column `query`, 2 rows", ["Who?", None]),
    ],
)
def test_the_recognised_format_is_printed(
    batch: Batch, name: str, content: str, said: str, answers: list[str | None]
) -> None:
    ended = batch(content, name=name)
    assert ended.err.startswith(f"rqa: {name}: {said}\n") and ended.answers == answers


def test_a_workbook_is_a_table(batch: Batch) -> None:
    book = openpyxl.Workbook()
    for row in (
        ["ID", "Question", "passages", "asked"],
        [7, "Who\nwas it?", '["Ada.", {"text": "Bo."}]', date(2025, 1, 31)],
        [None, None, None, None],
        [8, "When?", None, None],
    ):
        book.active.append(row)
    book.active["XFD1048576"] = "far"
    book.save("a.xlsx")
    ended = batch(None, name="a.xlsx")
    assert "a.xlsx: workbook, 3 rows" in ended.err
    first, second, _ = ended.rows
    assert (first["row"], second["row"]) == (2, 4)  # as in the sheet, and in the same table as csv
    assert (first["id"], first["answer"], first["asked"]) == (7, "Who\nwas it?", "2025-01-31")
    assert first["passages"] == ["Ada.", {"text": "Bo."}]
    assert (second["id"], second["question"]) == (8, "When?") and "asked" not in second
    assert "not a workbook" in batch("no workbook", name="b.xlsx").err


def test_an_array_of_json_has_rows(batch: Batch) -> None:
    ended = batch(json.dumps([{"question": "Who?"}, {"question": "When?"}], indent=1), name="a.json")
    assert ended.answers == ["Who?", "When?"] and "a.json: JSON array, 2 rows" in ended.err
    assert "Entry 2 of a.json is not an object." in batch('[{"question": "Who?"}, 3]', name="a.json").err
    ended = batch('{"question": "Who?"}\n{"question": "When?"}\n', "--force", name="a.json")
    assert ended.answers == ["Who?", "When?"] and "a.json: JSON lines, 2 rows" in ended.err


def test_the_files_of_ragas_are_answered_from_their_contexts(batch: Batch) -> None:
    """As EvaluationDataset.to_csv and to_jsonl write them: lists in CSV are Python's."""
    row = {"user_input": "passages", "retrieved_contexts": ["The keeper was Ada."], "reference": "Ada"}
    ended = batch(json.dumps(row) + "\n", name="a.jsonl")
    assert "a.jsonl: JSON lines, column `user_input`" in ended.err and ended.answers == ["The keeper was Ada."]
    table = 'user_input,retrieved_contexts\npassages,"[""It was Ada.""]"\npassages,"[\'Ada.\', \'No.\']"\n'
    ended = batch(table, "--force", name="a.csv")
    assert "a.csv: column `user_input`" in ended.err and ended.answers == ["It was Ada.", "Ada. + No."]
