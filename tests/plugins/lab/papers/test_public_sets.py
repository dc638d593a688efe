import json
from pathlib import Path
from typing import Any

import pytest
from standins.sets import lines, put, told

from robust_qa import InputError
from rqa_eval.sets import read_set  # private: a run of `rqa eval` for each of a hundred files would be slow


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


def test_the_impossible_questions_of_squad_are_unanswerable(tmp_path: Path) -> None:
    asked = [{"question": "Q", "answers": []}, {"question": "Q", "answers": [], "is_impossible": True}]
    path = tmp_path / "squad.json"
    path.write_text(json.dumps({"data": [{"paragraphs": [{"context": "C", "qas": asked}]}]}), "utf-8")
    assert [item.unanswerable for item in read_set(path)[0]] == [False, True]


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
