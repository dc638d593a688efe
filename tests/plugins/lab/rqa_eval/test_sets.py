import gzip
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from standins.sets import lines, put, told

from robust_qa import InputError
from rqa_eval.sets import read_set  # private: a run of `rqa eval` for each of a hundred files would be slow


def test_a_row_of_rqa_keeps_all_that_it_brings(tmp_path: Path) -> None:
    row = {
        "id": 7,
        "question": " Where? ",
        "answers": ["Rome", "Roma"],
        "passages": ["In Rome.", {"text": "t", "title": "T"}],
        "fake_answer": "Oslo",
        "negative_passages": ["n"],
        "popularity": 3,
    }
    (item,), layout = read_set(put(tmp_path / "a.jsonl", "\ufeff" + lines(row) + "\n"))
    assert layout == "jsonl"
    assert told([item]) == [("7", "Where?", [["Rome", "Roma"]])]
    assert item.passages == [{"text": "In Rome."}, {"text": "t", "title": "T"}]
    assert (item.fake_answer, item.pools, item.rest) == (
        "Oslo",
        {"negative_passages": [{"text": "n"}]},
        {"popularity": 3},
    )


@pytest.mark.parametrize("field", ["passages", "counterfactual_passages"])
def test_passages_are_brought_into_one_form(tmp_path: Path, field: str) -> None:
    brought = [{"text": "a", "id": 7, "title": None, "url": "u", "rank": 1, "score": "2.5"}, {"text": "b", "title": 9}]
    (item,), _ = read_set(put(tmp_path / "a.jsonl", lines({"question": "Q", field: brought})))
    kept = item.passages if field == "passages" else item.pools[field]
    assert kept == [{"text": "a", "id": "7", "source": "u", "score": 2.5}, {"text": "b", "title": "9"}]


@pytest.mark.parametrize(
    ("answers", "gold"),
    [
        (["a b", "c", "c"], [["a b", "c"]]),
        ([["x", "y"], ["z"]], [["x", "y"], ["z"]]),
        (["!", "the"], []),  # nothing is left of them, and every answer would contain that
        ('["1868", "in 1868"]', [["1868", "in 1868"]]),
        ('["\\ud800"]', [["\ufffd"]]),
    ],
)
def test_answers_are_facts_with_alternatives(tmp_path: Path, answers: Any, gold: Any) -> None:
    (item,), _ = read_set(put(tmp_path / "a.jsonl", lines({"question": "Q", "answers": answers})))
    assert item.gold == gold


@pytest.mark.parametrize(
    ("cell", "gold"),
    [
        ("Rome | Roma|", [["Rome", "Roma"]]),
        ('"[""Rome|Roma""]"', [["Rome|Roma"]]),
        ('"[[""x"", ""y""], [""z""]]"', [["x", "y"], ["z"]]),
    ],
)
def test_answers_in_a_table_are_separated_by_bars_or_json(tmp_path: Path, cell: str, gold: Any) -> None:
    (item,), layout = read_set(put(tmp_path / "a.csv", f'Question,Answers,level\n"Where,\nnow?",{cell},easy\n'))
    assert (layout, item.question, item.gold, item.rest) == ("csv", "Where,\nnow?", gold, {"level": "easy"})


def test_a_malformed_row_of_a_table_is_named_by_its_line(tmp_path: Path) -> None:
    table = 'question,answers\n"Who,\nwhen?",Ada\nWho, and where?,Ada\n'
    with pytest.raises(InputError, match=r"line 4: The row has 3 cells, but the header has 2\."):
        read_set(put(tmp_path / "a.csv", table))


def test_a_table_without_questions_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no column that rqa knows as the question"):
        read_set(put(tmp_path / "a.csv", "a,answers\nQ,A\n"))
    with pytest.raises(InputError, match="no header with a column `question`"):
        read_set(put(tmp_path / "a.txt", "Who?\n"), "csv")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "question;answers\r\nQ;Oslo\r\n"),
        ("a.txt", "prompt;answers\nQ;Oslo\n"),
        ("a.jsonl", '{"user_input": "Q", "answers": ["Oslo"]}\n'),
    ],
)
def test_a_question_has_the_names_that_a_batch_knows(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_bytes(content.encode())
    (item,), _ = read_set(tmp_path / name)
    assert (item.question, item.gold, item.rest) == ("Q", [["Oslo"]], {})


def test_popqa(tmp_path: Path) -> None:
    content = 'id\tsubj\tquestion\tpossible_answers\n42\tGivron\tIn what country?\t"[""France"", ""fr""]"\n'
    items, layout = read_set(put(tmp_path / "popqa.tsv", content))
    assert (layout, told(items)) == ("csv", [("42", "In what country?", [["France", "fr"]])])
    assert items[0].rest["subj"] == "Givron"


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ('{"question": "Q", "answers": ', "it is not JSON"),
        ('{"answers": ["A"]}', "it has no `question`; its fields are answers"),
        ('{"question": "Q", "answers": {"a": 1}}', "`answers` must be a list of strings"),
        ('{"question": "Q", "answers": "[\'1868\']"}', "`answers` is text that looks like a list but is not JSON"),
        (
            '{"question": "Q", "passages": ["a", 7]}',
            "`passages` must be a list of strings, or of objects with `text`; item 2 is neither",
        ),
        ('{"question": "Q", "fake_answer": 3}', "`fake_answer` must be a string"),
        ('{"question": "Q", "relevant": 5}', "`relevant` must be a list of passage ids"),
    ],
)
def test_a_malformed_row_is_reported_with_its_line(tmp_path: Path, line: str, complaint: str) -> None:
    path = put(tmp_path / "a.jsonl", lines({"question": "Q", "answers": ["A"]}) + "\n" + line + "\n")
    with pytest.raises(InputError) as raised:
        read_set(path)
    assert f"line 3: {complaint}" in raised.value.message


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b'[{"question": "Q"}]', "is a JSON array"),
        ('{"question": "Q"}\n'.encode("utf-16"), "is UTF-16 text"),
        (gzip.compress(b"{}", mtime=0), "is compressed"),
        (b'{\n"question": "Q"}', "is JSON over several lines"),
    ],
)
def test_what_can_be_made_rows_of_is_refused_with_how(tmp_path: Path, content: bytes, what: str) -> None:
    (tmp_path / "set").write_bytes(content)
    with pytest.raises(InputError, match=f"set {what}") as raised:
        read_set(tmp_path / "set")
    assert "FILE" in raised.value.hint


@pytest.mark.parametrize("content", ["", '{"a": 1}\n', "\x00\x01"])
def test_files_that_are_not_sets_are_errors(tmp_path: Path, content: str) -> None:
    with pytest.raises(InputError, match=r"has no questions|Cannot detect"):
        read_set(put(tmp_path / "a.jsonl", content))


def test_only_an_explicit_empty_list_makes_a_question_unanswerable(tmp_path: Path) -> None:
    rows = [{"question": "Q"}, {"question": "Q", "answers": None}, {"question": "Q", "answers": []}]
    path = tmp_path / "set.jsonl"
    path.write_text(lines(*rows), "utf-8")
    assert [item.unanswerable for item in read_set(path)[0]] == [False, False, True]


@pytest.mark.parametrize("name", ["popqa", "rgb_counterfactual", "realtimeqa"])
def test_the_shared_sets_are_read(name: str) -> None:
    path = Path(__file__).parents[5] / "shared" / "data" / "eval" / f"{name}.jsonl"
    if not path.exists():
        pytest.skip("the shared sets are not here")
    items, layout = read_set(path)
    assert layout == "jsonl"
    assert all(item.gold and item.passages for item in items)


def test_the_answer_of_ragas_is_not_the_gold_one(tmp_path: Path) -> None:
    row = {"question": "Q", "answer": "what a model wrote", "contexts": ["C"], "ground_truth": "Ada"}
    (item,), _ = read_set(put(tmp_path / "ragas.jsonl", lines(row)))
    assert (item.gold, item.gold_column) == ([["Ada"]], "ground_truth")


def test_the_sets_of_other_tools_are_detected(tmp_path: Path) -> None:
    hotpot = [{"_id": "1", "question": "Q", "answer": "Ada", "context": [["T", ["S."]]]}]
    promptfoo = [{"vars": {"question": "Q"}, "assert": [{"type": "contains", "value": "Ada"}]}]
    ragas = lines({"user_input": "Q", "reference": "Ada", "retrieved_contexts": ["S."]})
    book = openpyxl.Workbook()
    book.active.append(["Question", "Answers"])
    book.active.append(["Q", "Ada | Bo"])
    book.save(tmp_path / "set.xlsx")
    for path, layout in (
        (put(tmp_path / "hotpot.json", hotpot), "hotpotqa"),
        (put(tmp_path / "promptfoo.json", promptfoo), "promptfoo"),
        (put(tmp_path / "ragas.jsonl", ragas), "jsonl"),
        (tmp_path / "set.xlsx", "xlsx"),
    ):
        [item], found = read_set(path)
        assert (found, item.question, item.gold[0][0]) == (layout, "Q", "Ada")
    [item], _ = read_set(tmp_path / "ragas.jsonl")
    assert item.passages == [{"text": "S."}]
