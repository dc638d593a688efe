"""Sets of other papers, as their files are published."""

import json
from pathlib import Path
from typing import Any

import pytest
from standins.sets import lines, put

from rqa_eval.sets import read_set  # private: a run of `rqa eval` for each file would be slow


def only(path: Path, content: str, layout: str) -> Any:
    (item,), found = read_set(put(path, content))
    assert found == layout
    return item


def texts(item: Any) -> list[str]:
    return [passage["text"] for passage in item.passages]


def test_natural_questions_take_short_answers_and_read_the_long_one(tmp_path: Path) -> None:
    words = "<H1> Emma </H1> <P> Jane Austen wrote it in 1815 . </P>"
    marked = {"long_answer": {"start_token": 3, "end_token": 11}, "short_answers": [{"start_token": 4, "end_token": 6}]}
    row = {"example_id": 7, "question_text": "who wrote emma", "document_text": words}
    item = only(tmp_path / "nq.jsonl", lines({**row, "annotations": [{**marked, "yes_no_answer": "NONE"}]}), "nq")
    assert (item.id, item.gold, texts(item)) == ("7", [["Jane Austen"]], ["Jane Austen wrote it in 1815 ."])
    empty = {"long_answer": {"start_token": -1, "end_token": -1}, "short_answers": [], "yes_no_answer": "YES"}
    item = only(tmp_path / "yes.jsonl", lines({**row, "annotations": [empty]}), "nq")
    assert (item.gold, item.passages) == ([["yes"]], None)


@pytest.mark.parametrize("row", [
    {"question": "who?", "answer": ["Ann", "Anne"]},  # NQ-Open
    {"id": "test_0", "question": "who?", "golden_answers": ["Ann", "Anne"]},  # FlashRAG
])  # fmt: skip
def test_open_questions_need_no_layout(tmp_path: Path, row: Any) -> None:
    assert only(tmp_path / "open.jsonl", lines(row), "jsonl").gold == [["Ann", "Anne"]]


def test_popqa_has_its_answers_in_a_cell(tmp_path: Path) -> None:
    head, cells = "id\tsubj\tquestion\tpossible_answers\ts_pop", '7\tAnn\tWhat does Ann do?\t["poet", "bard"]\t12'
    assert only(tmp_path / "popQA.tsv", f"{head}\n{cells}\n", "csv").gold == [["poet", "bard"]]


def test_musique_knows_its_paragraphs_and_what_they_do_not_answer(tmp_path: Path) -> None:
    paragraphs = [
        {"idx": 0, "title": "A", "paragraph_text": "Ann wrote.", "is_supporting": True},
        {"idx": 1, "title": "B", "paragraph_text": "Bo slept.", "is_supporting": False},
    ]
    row = {"id": "2hop__1", "question": "Who?", "paragraphs": paragraphs, "answer": "Ann", "answer_aliases": ["Anne"]}
    item = only(tmp_path / "m.jsonl", lines({**row, "question_decomposition": [{}, {}], "answerable": True}), "musique")
    assert (item.gold, item.relevant, item.rest["hops"]) == ([["Ann", "Anne"]], ["0"], 2)
    assert only(tmp_path / "n.jsonl", lines({**row, "answerable": False}), "musique").unanswerable


def test_alce_has_passages_and_facts(tmp_path: Path) -> None:
    docs = [{"id": "1", "title": "T", "text": "Ann and Bo.", "score": 1.0}]
    qampari = {"id": "q", "question": "Who?", "answer": "Ann, Bo", "answers": [["Ann"], ["Bo", "Bob"]], "docs": docs}
    item = only(tmp_path / "qampari.json", json.dumps([qampari]), "alce")
    assert (item.gold, texts(item)) == ([["Ann"], ["Bo", "Bob"]], ["Ann and Bo."])
    eli5 = {"question": "Why?", "answer": "Because it is.", "claims": ["It is so.", "It was so."], "docs": docs}
    item = only(tmp_path / "eli5.json", json.dumps([eli5]), "alce")
    assert (item.gold, item.rest["long_answer"]) == ([["It is so."], ["It was so."]], "Because it is.")


def test_nq_swap_brings_the_other_entity_as_an_attack(tmp_path: Path) -> None:
    row = {
        "question": "who?",
        "org_context": "Ann did.",
        "org_answer": ["Ann"],
        "sub_context": "Bo did.",
        "sub_answer": ["Bo"],
    }
    item = only(tmp_path / "nqswap.jsonl", lines(row), "nq-swap")
    assert (item.gold, texts(item), item.fake_answer) == ([["Ann"]], ["Ann did."], "Bo")
    assert item.pools["counterfactual_passages"] == [{"text": "Bo did."}]


@pytest.mark.parametrize("names", [
    ("correct_evidence", "fact_conflict_evidence", "replaced_option"),  # of its scripts
    ("default_evidence", "misinformation_conflict_evidence", "replace_option"),  # of the set on the hub
])  # fmt: skip
def test_conflictbank_reads_all_its_evidence(tmp_path: Path, names: Any) -> None:
    evidence, wrong, replaced = names
    row = {"question": "Where?", "options": ["Rome", "Oslo", "Bath", "uncertain"], "correct_option": "A", replaced: "B"}
    row |= {evidence: "In Rome.", wrong: "In Oslo.", "temporal_conflict_evidence": "Once in Bath."}
    item = only(tmp_path / "cb.jsonl", lines(row), "conflictbank")
    assert (item.gold, texts(item)) == ([["Rome"]], ["In Rome.", "In Oslo.", "Once in Bath."])
    assert (item.rest["wrong_answers"], item.rest["choice"]) == (["Oslo"], "A")


def test_both_answers_of_wikicontradict_are_right(tmp_path: Path) -> None:
    head = "question_ID,question,context1,context2,answer1,answer2,contradictType,WikipediaArticleTitle"
    cells = '5,When?,"In 1871, they say.","In 1872.",1871,1872,Explicit,Skerry'
    item = only(tmp_path / "wiki.csv", f"{head}\n{cells}\n", "wikicontradict")
    assert (item.gold, texts(item)) == ([["1871"], ["1872"]], ["In 1871, they say.", "In 1872."])
    assert item.rest["contradiction"] == "Explicit"
