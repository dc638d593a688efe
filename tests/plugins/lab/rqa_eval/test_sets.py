import gzip
import json
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from robust_qa import InputError
from rqa_eval.sets import read_set  # private: a run of `rqa eval` for each of a hundred files would be slow


def put(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path


def lines(*rows: Any) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def told(items: Any) -> list[tuple[str, str, list[list[str]]]]:
    return [(item.id, item.question, item.gold) for item in items]


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


def test_squad_brings_its_paragraph(tmp_path: Path) -> None:
    asked = [
        {"id": "1", "question": "Q?", "answers": [{"text": "Rome", "answer_start": 0}]},
        {"id": "2", "question": "R?"},
    ]
    content = {"data": [{"title": "T", "paragraphs": [{"context": "C", "qas": asked}]}]}
    items, layout = read_set(put(tmp_path / "dev.json", content))
    assert layout == "squad"
    assert told(items) == [("1", "Q?", [["Rome"]]), ("2", "R?", [])]
    assert items[0].passages == [{"title": "T", "text": "C"}]


def test_triviaqa_takes_the_aliases(tmp_path: Path) -> None:
    answer = {"Value": "Sunset Boulevard", "Aliases": ["Sunset Blvd"], "NormalizedAliases": ["sunset blvd"]}
    content = {"Data": [{"QuestionId": "tc_2", "Question": "Who?", "Answer": answer}], "Version": 1}
    items, layout = read_set(put(tmp_path / "web.json", content))
    assert (layout, told(items)) == ("triviaqa", [("tc_2", "Who?", [["Sunset Boulevard", "Sunset Blvd"]])])


def test_popqa(tmp_path: Path) -> None:
    content = 'id\tsubj\tquestion\tpossible_answers\n42\tGivron\tIn what country?\t"[""France"", ""fr""]"\n'
    items, layout = read_set(put(tmp_path / "popqa.tsv", content))
    assert (layout, told(items)) == ("csv", [("42", "In what country?", [["France", "fr"]])])
    assert items[0].rest["subj"] == "Givron"


def test_kilt_takes_every_answer_and_no_provenance_alone(tmp_path: Path) -> None:
    output = [{"answer": "X", "provenance": []}, {"provenance": [{"wikipedia_id": "1"}]}, {"answer": "Y"}]
    items, layout = read_set(put(tmp_path / "k.jsonl", lines({"id": "k1", "input": "Q", "output": output})))
    assert (layout, told(items)) == ("kilt", [("k1", "Q", [["X", "Y"]])])


def test_beir_takes_the_judged_queries_of_the_test_split(tmp_path: Path) -> None:
    put(tmp_path / "b" / "queries.jsonl", lines({"_id": "1", "text": "Q"}, {"_id": "2", "text": "R"}))
    put(tmp_path / "b" / "qrels" / "test.tsv", "query-id\tcorpus-id\tscore\n1\td7\t1\n1\td8\t0\n")
    put(tmp_path / "b" / "qrels" / "train.tsv", "query-id\tcorpus-id\tscore\n2\td9\t1\n")
    for path in (tmp_path / "b", tmp_path / "b" / "queries.jsonl"):
        items, layout = read_set(path)
        assert (layout, told(items), items[0].relevant) == ("beir", [("1", "Q", [])], ["d7"])


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


@pytest.mark.parametrize(
    ("layout", "content", "where"),
    [
        ("squad", {"data": [{"paragraphs": [{"context": "C", "qas": [{"id": "1"}]}]}]}, "data[0].paragraphs[0].qas[0]"),
        (
            "triviaqa",
            {"Data": [{"Question": "Q", "Answer": {"Value": "V", "Aliases": "W"}}]},
            "Data[0]: `answers` must be a list of strings",
        ),
        ("squad", {"data": [{"paragraphs": [{"context": "C"}]}]}, "data[0].paragraphs[0] has no list `qas`"),
        ("kilt", lines({"question": "Q"}), "line 1: it has no `input`"),
    ],
)
def test_a_malformed_entry_is_reported_with_its_location(tmp_path: Path, layout: str, content: Any, where: str) -> None:
    with pytest.raises(InputError) as raised:
        read_set(put(tmp_path / "set.json", content), layout)
    assert where in raised.value.message


@pytest.mark.parametrize("content", ["", '{"a": 1}\n', "\x00\x01"])
def test_files_that_are_not_sets_are_errors(tmp_path: Path, content: str) -> None:
    with pytest.raises(InputError, match=r"has no questions|Cannot detect"):
        read_set(put(tmp_path / "a.jsonl", content))


# -- the sets of the papers


def test_ctxs_are_the_passages(tmp_path: Path) -> None:
    row = {"question": "Who?", "answers": ["Ann"], "ctxs": [{"id": 7, "title": "T", "text": "Ann.", "score": "1.5"}]}
    for content in (lines(row), json.dumps([row])):
        (item,), layout = read_set(put(tmp_path / "a.json", content))
        assert (layout, item.gold, item.rest) == ("ctxs", [["Ann"]], {})
        assert item.passages == [{"text": "Ann.", "id": "7", "title": "T", "score": 1.5}]


ARC = {"label": ["A", "B"], "text": ["the root", "the leaf"]}


@pytest.mark.parametrize(
    "row",
    [
        {"id": "q", "question": "What makes sugar?", "choices": ARC, "answerKey": "B"},
        {
            "id": "q",
            "question": {
                "stem": "What makes sugar?",
                "choices": [{"label": label, "text": text} for label, text in zip(*ARC.values(), strict=True)],
            },
            "answerKey": "B",
        },
        {"id": "q", "question": "What makes sugar?", "choices": ARC, "answerKey": "B", "ctxs": [{"text": "Leaves."}]},
    ],
    ids=["hub", "published", "with ctxs"],
)
def test_a_question_of_arc_lists_its_choices(tmp_path: Path, row: Any) -> None:
    (item,), layout = read_set(put(tmp_path / "arc.jsonl", lines(row)))
    assert layout == ("ctxs" if "ctxs" in row else "arc")
    assert told([item]) == [
        (
            "q",
            "What makes sugar?\nChoose the best of these answers and give its letter.\nA: the root\nB: the leaf",
            [["the leaf"]],
        )
    ]
    assert item.rest == {"choices": {"A": "the root", "B": "the leaf"}, "choice": "B"}
    assert item.passages == ([{"text": "Leaves."}] if "ctxs" in row else None)


def test_a_claim_of_pubhealth_is_asked_as_a_choice(tmp_path: Path) -> None:
    content = (
        '\tclaim_id\tclaim\texplanation\tlabel\n0\t12\tTea cures colds.\t"Nobody\n\tfound so."\tfalse\n'
        '1\t13\tIt may.\tx\tmixture\n2\t14\tSoap "cleans".\ty\ttrue\n'
    )
    items, layout = read_set(put(tmp_path / "test.tsv", content))
    assert layout == "pubhealth"
    assert told(items) == [
        ("12", "Tea cures colds.\nDecide whether this claim is right. Answer true or false.", [["false"]]),
        ("14", 'Soap "cleans".\nDecide whether this claim is right. Answer true or false.', [["true"]]),
    ]
    row = {"question": "Tea cures colds.", "answers": ["false"], "ctxs": [{"text": "No."}]}  # as Self-RAG has it
    (item,), _ = read_set(put(tmp_path / "claims.jsonl", lines(row)))
    assert (item.question, item.rest["choice"]) == (items[0].question, "false")


def test_the_facts_of_asqa_are_the_short_answers(tmp_path: Path) -> None:
    pairs = [{"question": "First?", "short_answers": ["1963", "in 1963"]}, {"short_answers": ["1970"]}]
    published = {
        "dev": {"7": {"ambiguous_question": "When?", "qa_pairs": pairs, "annotations": [{"long_answer": "In 1963."}]}},
        "train": {},
    }
    (item,), layout = read_set(put(tmp_path / "ASQA.json", published))
    assert layout == "asqa" and told([item]) == [("7", "When?", [["1963", "in 1963"], ["1970"]])]
    assert item.rest["long_answer"] == "In 1963."
    alce = [
        {
            "sample_id": "7",
            "question": "When?",
            "answer": "In 1963.",
            "qa_pairs": pairs,
            "docs": [{"title": "T", "text": "1963."}],
        }
    ]
    (item,), layout = read_set(put(tmp_path / "asqa_eval.json", alce))
    assert layout == "asqa" and told([item]) == [("7", "When?", [["1963", "in 1963"], ["1970"]])]
    assert item.passages == [{"text": "1963.", "title": "T"}]
    assert item.rest["long_answer"] == "In 1963."


def test_bioasq_has_yes_or_no_factoids_and_lists(tmp_path: Path) -> None:
    def asked(kind: str, exact: Any) -> Any:
        return {"id": kind, "type": kind, "body": f"{kind}?", "exact_answer": exact, "snippets": [{"text": "S"}]}

    rows = [
        asked("yesno", "yes"),
        asked("factoid", [["TP53", "p53"]]),
        asked("list", [["TP53", "p53"], ["RB1"]]),
        {"id": "s", "type": "summary", "body": "What?", "ideal_answer": ["It is."]},
    ]
    items, layout = read_set(put(tmp_path / "BioASQ.json", {"questions": rows}))
    assert layout == "bioasq"
    assert [item.gold for item in items] == [[["yes"]], [["TP53", "p53"]], [["TP53", "p53"], ["RB1"]]]
    assert items[0].passages == [{"text": "S", "id": "#1"}]


def test_rgb_has_positive_negative_and_wrong_passages(tmp_path: Path) -> None:
    row = {
        "id": 3,
        "query": "Where?",
        "answer": ["Rome", ["Oslo", "Christiania"]],
        "positive": [["In Rome."], ["In Oslo."]],
        "negative": ["Tea."],
        "positive_wrong": ["In Bonn.", "In Cork."],
        "fakeanswer": "Bonn",
    }
    (item,), layout = read_set(put(tmp_path / "en_fact.json", lines(row)))
    assert layout == "rgb" and told([item]) == [("3", "Where?", [["Rome"], ["Oslo", "Christiania"]])]
    assert [passage["text"] for passage in item.passages or ()] == ["In Rome.", "In Oslo.", "Tea."]
    assert item.fake_answer == "Bonn"
    assert {name: [one["text"] for one in pool] for name, pool in item.pools.items()} == {
        "negative_passages": ["Tea."],
        "counterfactual_passages": ["In Bonn.", "In Cork.", "Tea."],
    }


def test_only_an_explicit_empty_list_makes_a_question_unanswerable(tmp_path: Path) -> None:
    rows = [{"question": "Q"}, {"question": "Q", "answers": None}, {"question": "Q", "answers": []}]
    path = tmp_path / "set.jsonl"
    path.write_text(lines(*rows), "utf-8")
    assert [item.unanswerable for item in read_set(path)[0]] == [False, False, True]


def test_the_impossible_questions_of_squad_are_unanswerable(tmp_path: Path) -> None:
    asked = [{"question": "Q", "answers": []}, {"question": "Q", "answers": [], "is_impossible": True}]
    path = tmp_path / "squad.json"
    path.write_text(json.dumps({"data": [{"paragraphs": [{"context": "C", "qas": asked}]}]}), "utf-8")
    assert [item.unanswerable for item in read_set(path)[0]] == [False, True]


@pytest.mark.parametrize("name", ["popqa", "rgb_counterfactual", "realtimeqa"])
def test_the_shared_sets_are_read(name: str) -> None:
    path = Path(__file__).parents[5] / "shared" / "data" / "eval" / f"{name}.jsonl"
    if not path.exists():
        pytest.skip("the shared sets are not here")
    items, layout = read_set(path)
    assert layout == "jsonl"
    assert all(item.gold and item.passages for item in items)


def test_ramdocs_as_published(tmp_path: Path) -> None:
    row = {
        "question": "In what year was John Doe born?",
        "documents": [{"text": "Doe, the poet: 1951.", "type": "correct", "answer": "1951"}, {"text": "1999."}],
        "disambig_entity": ["John Doe (poet)", "John Doe (actor)"],
        "gold_answers": ["1951", "1962"],
        "wrong_answers": ["1999"],
    }
    (item,), layout = read_set(put(tmp_path / "RAMDocs_test.jsonl", lines(row)))
    assert (layout, item.gold) == ("ramdocs", [["1951", "1962"]])
    assert item.passages == [{"text": "Doe, the poet: 1951."}, {"text": "1999."}]
    assert item.rest == {"disambig_entity": row["disambig_entity"], "wrong_answers": ["1999"]}


def test_the_answer_of_ragas_is_not_the_gold_one(tmp_path: Path) -> None:
    row = {"question": "Q", "answer": "what a model wrote", "contexts": ["C"], "ground_truth": "Ada"}
    (item,), _ = read_set(put(tmp_path / "ragas.jsonl", lines(row)))
    assert (item.gold, item.gold_column) == ([["Ada"]], "ground_truth")


@pytest.mark.parametrize(
    ("expected", "gold"),
    [
        ("equals:Ada", [["Ada"]]),
        ("Ratio: 3 to 1", [["Ratio: 3 to 1"]]),
        ("llm-rubric: names the keeper", []),
    ],
)
def test_a_table_of_promptfoo_states_answers_or_other_assertions(tmp_path: Path, expected: str, gold: Any) -> None:
    items, layout = read_set(put(tmp_path / "tests.csv", f"query,__expected\nQ,{expected}\nR,contains: Bo\n"))
    assert (layout, [item.gold for item in items]) == ("promptfoo", [gold, [["Bo"]]])


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
