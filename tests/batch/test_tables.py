"""The layouts of an input: what begins a table, what a row of one is, and what is wrong with one."""

import asyncio
import io
import os
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest

from robust_qa import InputError
from robust_qa.batch import input_rows, read_lines, table_fields
from robust_qa.batch.layout import recognised
from robust_qa.batch.rows import parse_row
from robust_qa.batch.tables import InputRows


def fields(content: str, **how: str) -> list[tuple[int, dict[str, Any]]]:
    lines = read_lines(io.BytesIO(content.encode()))
    return [(number, table_fields(row)) for number, row in input_rows(lines, **how) if row]


def read(content: bytes) -> list[tuple[int, bytes]]:
    descriptor, write = os.pipe()
    with os.fdopen(write, "wb") as file:
        file.write(content)

    async def rows() -> list[tuple[int, bytes]]:
        source, found = InputRows(descriptor), []
        while (row := await source.next()) is not None:
            found.append((source.number, row))
        return found

    return asyncio.run(rows())


@pytest.mark.parametrize(
    ("header", "name", "delimiter", "column"),
    [
        (b"question,answers\r", "-", ",", "question"),
        (b'\xef\xbb\xbf"id"\t"question"', "-", "\t", "question"),
        (b"id;Question", "-", ";", "question"),
        (b"question|answers", "-", "|", "question"),
        (b",question", "-", ",", "question"),  # as pandas writes an index
        (b"question", "-", "\t", "question"),
        (b"user_input,reference", "a.csv", ",", "user_input"),
        (b"User_Input,reference", "-", ",", "User_Input"),
        (b"query,question,input", "a.csv", ",", "question"),
        (b"id,question,verified?", "a.csv", ",", "question"),
    ],
)
def test_a_table_begins_with_a_header_that_names_the_question(
    header: bytes, name: str, delimiter: str, column: str
) -> None:
    layout = recognised(header, name)
    assert layout is not None
    assert (layout.delimiter, layout.column) == (delimiter, column)


def test_the_user_chooses_the_column() -> None:
    for name in ("a.csv", "a.txt", "-"):
        layout = recognised(b"Nr;Frage?;question", name, "frage?")
        assert layout is not None
        assert (layout.delimiter, layout.column) == (";", "Frage?")


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (b"A question, what is it?", "-"),
        (b"questions, answers", "-"),
        (b"Who was born in 1,000", "-"),
        (b"Which of a; b and c is it?", "a.txt"),
        (b"[1]", "-"),
        (b"What?", "a.md"),
    ],
)
def test_other_lines_are_questions(line: bytes, name: str) -> None:
    assert recognised(line, name) is None


@pytest.mark.parametrize(("line", "name"), [(b'{"question": "Q, question"}', "a.csv"), (b"Who?", "a.jsonl")])
def test_json_lines_begin_with_an_object_or_have_the_name(line: bytes, name: str) -> None:
    layout = recognised(line, name)
    assert layout is not None
    assert not layout.delimiter


@pytest.mark.parametrize(
    ("line", "name", "column", "message"),
    [
        (b"Question, what is it?", "a.txt", "", "a.txt may be the header of a table or a question"),
        (b"id,frage", "a.txt", "", "looks like the header of a table"),
        (b"Nr\tDie Frage", "-", "", "looks like the header of a table"),
        (
            b"nr;frage",
            "a.csv",
            "",
            "a.csv has no column that rqa knows as the question. Its columns are `nr`, `frage`.",
        ),
        (b"Who was it?", "a.csv", "", "Its columns are `Who was it?`."),
        (b"id,question", "a.csv", "frage", "a.csv has no column `frage`. Its columns are `id`, `question`."),
        (b"prompt,input", "a.csv", "", "Several columns may hold the question: prompt, input."),
    ],
)
def test_what_is_ambiguous_is_an_error_that_names_the_option(line: bytes, name: str, column: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        recognised(line, name, column)
    assert message in caught.value.message
    assert "--column" in caught.value.hint


@pytest.mark.parametrize("broken", [b'"question": "Who?"}', b'question": "Who?", "id": 1}', b"Who?"])
def test_a_broken_line_of_json_lines_is_no_question(broken: bytes) -> None:
    _, (number, row) = read(b'{"question": "Q"}\n' + broken)
    with pytest.raises(InputError, match=r"The row is (not )?JSON"):
        parse_row(row, number)


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


def test_a_stopped_input_returns_no_incomplete_row() -> None:
    descriptor, write = os.pipe()
    os.write(write, b'question\n"Who\n')

    async def stopped() -> bytes | None:
        rows = InputRows(descriptor)
        waiting = asyncio.create_task(rows.next())
        await asyncio.sleep(0.05)
        rows.close()
        return await waiting

    assert asyncio.run(stopped()) is None
    os.close(write)


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
