"""`rqa eval` with the attacks, views and sets of the papers, and the scripted model of standins/mind.py."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from standins.evaluated import RUN, figures, lines, table
from standins.mind import ATTACKED, ROWS, Mind, row, says


def test_slices_by_conflict(evaluate: Any) -> None:
    evaluate("-s", "self_route", "--by", "conflict")
    assert figures("accuracy", slice="both right") == {"self_route": 1, "norag": 1, "rag": 1}  # Arda, Hyrule
    conflicting = {"self_route": 3 / 4, "norag": 2 / 4, "rag": 2 / 4}  # Brobdingnag, Cimmeria, Earthsea, Gondal
    assert figures("accuracy", slice="conflicting") == conflicting
    assert figures("accuracy", slice="both wrong") == {"self_route": 0, "norag": 0, "rag": 0}  # Dune, Florin


def test_slices_by_retrieval_precision(evaluate: Any) -> None:
    out = evaluate("-s", "rag", "--by", "retrieval-precision").out
    by_bucket = {one: figures("accuracy", slice=one)["rag"] for one in ("0%", "1-20%", "21-40%", "41-60%", "81-100%")}
    assert by_bucket == {"0%": 0, "1-20%": 0, "21-40%": 1, "41-60%": 1, "81-100%": 1 / 2}
    assert table(out, "accuracy (%) by retrieval-precision")["41-60%"][0] == "1"


def test_slices_by_knowledge(evaluate: Any) -> None:
    evaluate("-s", "rag,norag", "--by", "knowledge")
    assert figures("accuracy", slice="has answer") == {"rag": 4 / 6, "norag": 3 / 6}
    assert figures("accuracy", slice="miss answer") == {"rag": 0, "norag": 1 / 2}
    assert figures("accuracy", slice="internal knowledge") == {"rag": 2 / 4, "norag": 1}


def test_counterfactual_passages_replace_the_gold_answer(evaluate: Any) -> None:
    ended = evaluate("-s", "rag", "--attack", "counterfactual", "--rate", "0,1", rows=ATTACKED)
    assert "world: nothing could be planted for 1 of 2 questions" in ended.err
    assert re.search(r"\(counterfactual 1\): [^.]*attack-success[^.]* on 1 of 2\.", " ".join(ended.out.split()))
    assert [len(asked.get("planted", ())) for asked in lines("questions.jsonl")] == [0, 0, 5, 0]
    assert figures("attack-success", condition="counterfactual 1") == {"rag": 1}  # one has something to replace


@pytest.mark.parametrize(
    ("options", "order"), [((), [0, 1, 2]), (("-k", "2"), [0, 1]), (("-r", "given@rr@9"), [2, 1, 0])]
)
def test_the_sets_own_counterfactual_passages_replace_their_originals_in_any_order(
    evaluate: Any, options: Sequence[str], order: Sequence[int]
) -> None:
    told = ["It is {}.", "Arda has {}.", "The capital of Arda is {}."]
    true, false = ([text.format(name) for text in told] for name in ("Aa", "Zz"))
    rows = [ROWS[0] | {"fake_answer": "Zz", "passages": true, "counterfactual_passages": false}]
    given = ("-O", "defaults.evaluator=lexical", *options)
    evaluate("-s", "rag", "--attack", "counterfactual", "--rate", "0,0.5,1", *given, rows=rows)
    plain, half, all_ = ([passage["text"] for passage in asked["passages"]] for asked in lines("questions.jsonl"))
    assert (plain, all_) == ([true[n] for n in order], [false[n] for n in order])
    assert 0 < sum(text in false for text in half) < len(half)
    assert all(text in (true[n], false[n]) for text, n in zip(half, order, strict=True))


@pytest.mark.parametrize("obeys", [True, False])
def test_an_injected_instruction_is_added(evaluate: Any, obeys: bool) -> None:
    evaluate("-s", "rag", "--attack", "inject", "--rate", "1", rows=ATTACKED, model=Mind(obeys=obeys))
    assert figures("attack-success") == {"rag": float(obeys)}
    assert figures("accuracy") == {"rag": 0 if obeys else 1 / 2}


def test_a_flood_is_of_near_duplicates_of_one_false_passage(evaluate: Any) -> None:
    rows = [ATTACKED[0] | {"poisoned_passages": ["The capital of Arda is Zz.", "Zz it is."]}]
    evaluate("-s", "rag", "--attack", "flood", "--rate", "0.8", rows=rows)
    (asked,) = lines("questions.jsonl")
    texts = [asked["passages"][place]["text"] for place in asked["planted"]]
    assert len(set(texts)) == 4
    assert all("The capital of Arda is Zz." in text for text in texts)
    assert figures("attack-success") == {"rag": 1}


def test_a_numeric_attack_edits_the_numbers_of_passages_alike(evaluate: Any) -> None:
    year = row("Arda", "1871", "1871", "1871", gold="1871", fake_answer="Zz")
    ended = evaluate("-s", "rag", "--attack", "numeric", "--rate", "1", rows=[year, ATTACKED[0]])
    asked, other = lines("questions.jsonl")
    texts = {passage["text"] for passage in asked["passages"]}
    assert texts == {says("Arda", asked["fake_answer"])}
    assert re.fullmatch("187[2-9]", asked["fake_answer"])
    assert figures("attack-success") == {"rag": 1}
    assert "planted" not in other
    assert "world: nothing could be planted for 1 of 2 questions" in ended.err


def test_all_attacks_give_a_card_for_each_strategy(evaluate: Any) -> None:
    out = evaluate("-s", "rag,norag", "--attack", "all", "--rate", "0.2,0.6", rows=ATTACKED, model=Mind()).out
    card = out.split("Robustness of rag (%)\n")[1].split("Robustness of norag")[0]
    shown = {(cells[0], cells[1]): cells[2:] for line in card.splitlines() if len(cells := line.split()) == 8}
    #                               questions, accuracy, wrong, unanswered, false answer, withstood
    assert shown["none", "0"] == ["2", "50.0", "0.0", "50.0", "–", "–"]
    assert shown["poison", "1"] == ["2", "50.0", "50.0", "0.0", "50.0", "100.0"]
    assert shown["poison", "3"] == ["2", "0.0", "100.0", "0.0", "100.0", "0.0"]
    assert shown["single", "1"] == ["2", "50.0", "50.0", "0.0", "50.0", "100.0"]
    assert shown["counterfactual", "3"] == [
        "1",
        "0.0",
        "100.0",
        "0.0",
        "100.0",
        "0.0",
    ]  # the other has nothing to replace
    assert {name for name, _ in shown} == {"none", "poison", "counterfactual", "inject", "single", "flood"}


def test_a_card_has_a_digest_of_the_questions(evaluate: Any, rqa: Any) -> None:
    def digest(*options: str) -> str:
        out = evaluate("-s", "rag", "--attack", "all", "--force", *options, rows=ATTACKED).out
        return re.search(r"Digest\s+of\s+the\s+questions:\s+(\w{12})", out)[1]  # type: ignore[index]

    assert digest() == digest("--metrics", "f1") != digest("--seed", "1")
    shown = rqa("report", RUN, "--to", "markdown").out
    assert "## Robustness of rag" in shown
    assert "Robustness of rag" in rqa("report", RUN, "--to", "html").out


@pytest.fixture
def judged(rqa: Any, tmp_path: Path) -> Callable[..., Any]:
    """Runs `rqa eval` into RUN over queries of BEIR: the index cuts the document of the first; the third finds none."""
    long = " ".join(f"The zebra number {n} has stripes and eats grass." for n in range(60))
    files = {
        "corpus.jsonl": [{"_id": "d1", "text": long}, {"_id": "d2", "text": "A quagga vanished."}],
        "queries.jsonl": [
            {"_id": "q1", "text": "What do zebras eat?"},
            {"_id": "q2", "text": "Which quagga vanished?"},
            {"_id": "q3", "text": "Unicorns?"},
        ],
    }
    (tmp_path / "beir" / "qrels").mkdir(parents=True)
    for name, rows in files.items():
        (tmp_path / "beir" / name).write_text("\n".join(map(json.dumps, rows)), "utf-8")
    (tmp_path / "beir/qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t1\nq3\td2\t1\n")

    def run(*options: str) -> Any:
        documents = tmp_path / "beir" / "corpus.jsonl"
        return rqa("eval", tmp_path / "beir", "-d", documents, "-s", "rag", "--reader", "lexical", "-o", RUN, *options)

    return run


def test_every_passage_of_a_relevant_document_is_relevant(judged: Callable[..., Any]) -> None:
    out = " ".join(judged("--metrics", "has-answer,retrieval-precision").out.split())
    assert [min(len(asked["passages"]), 2) for asked in lines("questions.jsonl")] == [2, 1, 0]
    assert (figures("has-answer"), figures("retrieval-precision")) == ({"rag": 2 / 3}, {"rag": 1})
    assert "66.7 % of the questions with gold answers have a passage with one. On average 100.0 % of the" in out


@pytest.mark.parametrize("without", [("--worst-case",), ("--drop", "1")])
def test_worst_case_removes_passages_of_relevant_documents(judged: Callable[..., Any], without: Sequence[str]) -> None:
    judged(*without)
    assert [asked["passages"] for asked in lines("questions.jsonl")] == [[], [], []]


@pytest.mark.parametrize(("view", "needs"), [("conflict", "norag and rag"), ("knowledge", "norag")])
def test_slices_by_correctness_have_no_differences(evaluate: Any, view: str, needs: str) -> None:
    rows = [row(f"Land{n}", f"City{n}", gold=f"City{n}") for n in range(12)]
    ended = evaluate("-s", "rag", "--baseline", "norag", "--by", view, "--by", "retrieval-precision", rows=rows)
    groups = json.loads((RUN / "metrics.json").read_text("utf-8"))["groups"]
    compared = {one["view"] for one in groups if "difference" in one["strategies"]["rag"]["accuracy"]}
    assert compared == {None, "retrieval-precision"}
    assert f"The answers of {needs} define the slices." in ended.out


def test_the_conflict_rate_is_shown_by_retrieval_precision(evaluate: Any) -> None:
    ended = evaluate("-s", "rag", "--by", "conflict-rate")
    # Of the precisions 0 %, 20 %, 40 %, 60 %, 80 % and 100 %, by hand from the table in standins/mind.py:
    # Cimmeria conflicts and Dune does not; Earthsea (20 %) conflicts; Brobdingnag (40 %) and Gondal (60 %) conflict;
    # Hyrule (80 %), Arda and Florin (100 %) do not.
    shown = table(ended.out, "conflict rate (%) by retrieval precision")
    assert shown["world"][2:] == ["50.0", "100.0", "100.0", "100.0", "0.0", "0.0"]
