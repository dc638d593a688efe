"""The formats of output rows."""

import csv
import json
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from .conftest import Batch

ROWS = [
    {"n": 1.5, "question": "conflict", "answer": "Bo"},
    {"question": "refuse", "note": 'a\n"b", c'},
    {"question": "=1+1\x07", "long": "x" * 40_000},
]


def written(batch: Batch, out: str) -> str:
    assert batch("".join(json.dumps(row) + "\n" for row in ROWS), name="in.jsonl", out=out).code == 3
    return Path(out).read_text() if not out.endswith("xlsx") else ""


def test_a_table_has_the_columns_of_the_rows_then_answer_confidence_and_sources(batch: Batch) -> None:
    for name, mark in (("a.csv", ","), ("a.tsv", "\t")):
        first, second, third = csv.DictReader(written(batch, name).splitlines(keepends=True), delimiter=mark)
        assert list(first)[:7] == ["n", "question", "input.answer", "note", "long", "answer", "confidence"]
        assert (first["n"], first["input.answer"], first["answer"], first["confidence"]) == ("1.5", "Bo", "so", "0.5")
        assert (first["sources"], json.loads(first["citations"])[0]["source"]) == ("t.txt", "t.txt")
        assert (second["note"], second["answer"]) == ('a\n"b", c', "")
        assert json.loads(second["error"])["message"] == "The key is wrong." and first["error"] == ""
        assert third["answer"] == "'=1+1"


CELLS = ["=1+1", "+A1", "-A1", "@A1", "\t=1", "\r=1", "\n=1", "＝1", "-1.5", "+3", "-12,5%", "a=1", "\x1b[31mred\x9b"]


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_a_spreadsheet_runs_no_cell_of_a_table_unless_asked_to(batch: Batch, name: str) -> None:
    rows = "".join(json.dumps({"question": "Who?", "cell": cell}) + "\n" for cell in CELLS)

    def cells(*arguments: str) -> list[str]:
        assert batch(rows, *arguments, name="in.jsonl", out=name).code == 0
        with Path(name).open(newline="") as file:
            return [row["cell"] for row in csv.DictReader(file, delimiter="\t" if name == "a.tsv" else ",")]

    inert = ["'=1+1", "'+A1", "'-A1", "'@A1", "'\t=1", "'=1", "'\n=1", "'＝1", "-1.5", "+3", "-12,5%", "a=1", "[31mred"]
    assert cells() == inert
    assert cells("--raw-cells", "--force") == [cell.removeprefix("'") for cell in inert]


def test_csv_keeps_the_delimiter_of_the_input(batch: Batch) -> None:
    assert batch("question;n\nWho?;1\n", name="in.csv", out="out.csv").code == 0
    assert Path("out.csv").read_text().startswith("question;n;answer;")


def test_other_formats_of_json(batch: Batch) -> None:
    lines = [json.loads(line) for line in written(batch, "a").splitlines()]
    array = json.loads(written(batch, "a.JSON"))
    for row in (*lines, *array):
        row.pop("seconds", None)
    assert array == lines and [row["row"] for row in lines] == [1, 2, 3]
    assert batch("", name="in.txt", out="b.json").code == 0 and Path("b.json").read_text() == "[]\n"
    assert "End the name in .jsonl, .json, .csv, .tsv" in batch("", name="in.txt", out="a.ods").err


def test_a_workbook_has_numbers_and_text_but_no_formulas(batch: Batch) -> None:
    written(batch, "a.xlsx")
    header, *rows = openpyxl.load_workbook("a.xlsx").active.values
    first, _, third = (dict(zip(header, row, strict=True)) for row in rows)
    assert (first["n"], first["question"], first["answer"], first["confidence"]) == (1.5, "conflict", "so", 0.5)
    assert (third["question"], len(third["long"])) == ("=1+1", 32_767)


def test_a_workbook_has_the_guess_the_quotes_and_their_places_and_is_the_only_file(rqa: Any) -> None:
    harbour = Path(__file__).parents[4] / "examples" / "harbour"
    Path("in.txt").write_text("When was Skerry Point Lighthouse built?\nWho was the last keeper?\n")
    command = ("batch", "in.txt", "-d", harbour, "-o", "a.xlsx")
    assert rqa(*command).code == 0
    assert {path.name for path in Path().iterdir()} == {"in.txt", "a.xlsx"}
    header, *rows = openpyxl.load_workbook("a.xlsx").active.values
    built, keeper = (dict(zip(header, row, strict=True)) for row in rows)
    assert (built["answer"], built["guess"]) == (None, 1871)
    quotes = dict(zip(built["places"].splitlines(), built["quotes"].splitlines(), strict=True))
    assert quotes[f"{harbour}/brochure.txt, line 1"].startswith("The lighthouse at Skerry Point was built in 1817")
    assert (keeper["answer"], keeper["guess"], keeper["quotes"]) == (
        "Joan Pascoe",
        None,
        "The last keeper was Joan Pascoe.",
    )
    assert "a.xlsx already exists" in rqa(*command).err
