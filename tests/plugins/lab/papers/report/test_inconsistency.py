"""`rqa inconsistency`: Equations 1 to 5 of the Ensemble of Retrievers against values worked out by hand."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

GOOD = [{"title": "France", "text": "The capital is Paris, and not Lyon."}]
POOR = [{"title": "Rhône", "text": "A river that passes Lyon."}]
FAILED = "failed"


def write(folder: Path, members: dict[str, Sequence[Any]], passages: Sequence[Any], **fields: Any) -> Path:
    """A run whose questions all have the answer Paris; `members` are the answers of each strategy."""
    (folder / "answers").mkdir(parents=True)
    questions, scores = [], []
    lines: dict[str, list[Any]] = {name: [] for name in members}
    for row, given in enumerate(passages, start=1):
        asked = {"id": f"q{row}", "set": "cities", "condition": "as given", "question": "Which?", "gold": [["Paris"]]}
        questions.append(asked | {"passages": given} | fields)
        said = {name: answers[row - 1] for name, answers in members.items()}
        for name, answer in said.items():
            error = {"type": "CallTimeout", "message": "late"}
            lines[name].append({"row": row, "error": error} if answer == FAILED else {"row": row, "answer": answer})
        measured = {name: {"accuracy": float("paris" in str(said[name]).lower()), "f1": 0.5} for name in members}
        scores.append({"row": row, "scores": measured})
    written = {"questions": questions, "scores": scores, **{f"answers/{name}": lines[name] for name in lines}}
    for path, rows in written.items():
        (folder / f"{path}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    strategies = [{"name": name, "file": f"answers/{name}.jsonl"} for name in members]
    plan = {"format": 1, "sets": [{"name": "cities"}], "conditions": ["as given"], "strategies": strategies}
    figures = {"format": 1, "metric": "accuracy", "metrics": [{"name": "accuracy"}, {"name": "f1"}], "groups": []}
    (folder / "run.json").write_text(json.dumps(plan))
    (folder / "metrics.json").write_text(json.dumps(figures | {"strategies": [{"name": name} for name in members]}))
    return folder


@pytest.fixture
def compared(rqa: Any, tmp_path: Path) -> Callable[..., Any]:
    def run(members: dict[str, Sequence[Any]], passages: Sequence[Any], *options: object, **fields: Any) -> Any:
        folder = write(tmp_path / "run", members, passages, **fields)
        ended = rqa("inconsistency", folder, "--to", "json", *options)
        assert ended.code == 0, ended.err
        return json.loads(ended.out)

    return run


def answers(*right: int) -> list[str]:
    return ["Paris" if one else "Rome" for one in right]


#             q0 q1 q2 q3 q4
THREE = {
    "first":  answers(1, 1, 1, 0, 0),
    "second": answers(1, 0, 0, 1, 0),
    "third":  answers(0, 0, 0, 0, 1),
}  # fmt: skip


def test_rwr_and_its_means_of_three_members(compared: Any) -> None:
    told = compared(THREE, [GOOD] * 5)
    # first over second: of q1, q2, q4 it answers q1 and q2; first over third: of q0..q3 it answers q0, q1, q2.
    # second over first: of q3, q4 it answers q3; second over third: q0 and q3.
    # third over first: of q3, q4 it answers q4; third over second: of q1, q2, q4 it answers q4.
    assert told["rwr"] == [[0, 2 / 3, 3 / 4], [1 / 2, 0, 1 / 2], [1 / 2, 1 / 3, 0]]
    assert told["mrwr"] == pytest.approx([17 / 24, 1 / 2, 5 / 12])  # means over the rows
    assert told["mrlr"] == pytest.approx([1 / 2, 1 / 2, 5 / 8])  # means over the columns
    assert told["accuracy"] == [0.6, 0.4, 0.2]


def test_a_perfect_voter_over_three_members(compared: Any) -> None:
    one, two, three = compared(THREE, [GOOD] * 5)["perfect_voter"]
    assert (one["mean"], one["worst"], one["best"]) == (pytest.approx(2 / 5), 1 / 5, 3 / 5)
    # first and second: q0 to q3; first and third: q0, q1, q2, q4; second and third: q0, q3, q4.
    assert (two["mean"], two["worst"], two["best"]) == (pytest.approx(11 / 15), 3 / 5, 4 / 5)
    assert (two["best_pool"], three["mean"]) == (["first", "second"], 1)


def test_against_a_member_that_is_never_wrong_there_is_no_ratio(compared: Any) -> None:
    told = compared({"never": answers(1, 1), "once": answers(1, 0)}, [GOOD] * 2)
    assert (told["rwr"], told["mrwr"], told["mrlr"]) == ([[None, 1], [None, 0]], [1, None], [None, 1])


def test_failures_are_taken_apart(compared: Any) -> None:
    #      one                        other
    # q0   right                      Lyon is in the passages: extraction
    # q1   Lyon: extraction           Lyon: extraction
    # q2   Rome: hallucination        right
    # q3   no answer                  Rome: hallucination
    # q4   retriever error            retriever error       (q4 and q5 have no Paris in their passages)
    # q5   lucky guess                lucky guess
    members = {
        "one": ["Paris", "Lyon", "Rome", None, "Lyon", "Paris"],
        "other": ["Lyon", "Lyon", "Paris", "Rome", "Rome", "Paris"],
    }
    errors = compared(members, [GOOD] * 4 + [POOR] * 2)["errors"]
    assert errors["decomposition"][0] == {
        "asked": 6, "failures": 4, "retriever_error": 2, "lucky_guess": 1, "hallucination": 1, "extraction": 1,
        "unanswered": 1,
    }  # fmt: skip
    for told in errors["decomposition"]:
        parts = (told["retriever_error"], told["hallucination"], told["extraction"], told["unanswered"])
        assert told["failures"] == sum(parts) - told["lucky_guess"]
    assert errors["rwr"] == {
        "retriever_error": [[0, 0], [0, 0]],
        # one has ungrounded answers to q2, q5, and other does not to q2; other to q3, q4, q5, and one not to q3, q4.
        "hallucination_error": [[0, 2 / 3], [1 / 2, 0]],
        # one extracts wrongly on q1, as other does; other on q0 and q1, and one not on q0.
        "extraction_error": [[0, 1 / 2], [0, 0]],
        "lucky_guess": [[0, 0], [0, 0]],
    }


def test_a_failed_row_is_wrong_and_its_failure_is_not_taken_apart(compared: Any) -> None:
    told = compared({"one": ["Paris", "Rome"], "other": ["Rome", FAILED]}, [GOOD] * 2)
    assert (told["accuracy"], told["passed_over"]) == ([0.5, 0], {"on which a member failed": 1})
    assert told["errors"]["questions"] == 1


def test_long_answers_are_left_out_of_eq_4_as_in_the_paper(compared: Any) -> None:
    members = {"one": ["Paris", "Rome or Oslo"], "other": ["Paris", "Rome"]}
    told = compared(members, [GOOD] * 2, "--longest", 1)
    assert told["passed_over"] == {"with an answer of more than 1 words": 1}


def test_eq_4_needs_passages(compared: Any) -> None:
    told = compared({"one": answers(1, 0), "other": answers(0, 1)}, [None] * 2)
    assert (told["errors"], told["passed_over"]) == (None, {"whose passages the run does not keep": 2})


def test_every_fact_has_to_be_retrieved(compared: Any) -> None:
    members = {"one": answers(1, 0), "other": answers(0, 1)}
    told = compared(members, [GOOD, POOR], gold=[["Paris"], ["Lyon", "Lugdunum"]])
    assert [one["retriever_error"] for one in told["errors"]["decomposition"]] == [1, 1]


PAIR = {"one": ["Paris"], "other": ["Rome"]}


@pytest.mark.parametrize(
    ("members", "fields", "options", "complaint"),
    [
        (PAIR, {"gold": []}, (), "no question to compare: 1 without a gold answer"),
        ({"one": ["Paris"]}, {}, (), "only one member, one"),
        (PAIR, {}, ("--metric", "bem"), "no metric 'bem'. It has: accuracy, f1"),
        (PAIR, {}, ("--pool", "one"), "do not list retrievers"),
        (PAIR, {}, ("--pool", "eor"), "no strategy 'eor'. It has: one, other"),
        (PAIR, {}, ("--pool", "one", "--metric", "seconds"), "cannot be compared by 'seconds'"),
        (PAIR, {}, ("-o", "x.md"), "cannot be written as markdown"),
    ],
)
def test_what_cannot_be_compared_is_an_error(
    rqa: Any, tmp_path: Path, members: Any, fields: Any, options: Any, complaint: str
) -> None:
    ended = rqa("inconsistency", write(tmp_path / "run", members, [GOOD], **fields), *options)
    assert (ended.code, complaint in ended.err) == (2, True), ended.err


def test_an_ensemble_is_compared_with_its_retrievers(rqa: Any, tmp_path: Path) -> None:
    """In the first two rows of eor, wiki reads GOOD and web reads POOR; in the third only wiki reads."""
    run = write(tmp_path / "run", {"eor": ["Lyon", "Paris", "Paris"]}, [GOOD] * 3)
    wiki, web = {"retriever": "wiki", "passages": [1], "error": ""}, {"retriever": "web", "passages": [2], "error": ""}
    accounts = [
        [wiki | {"answer": "Paris"}, web | {"answer": "Lyon"}],
        [wiki | {"answer": "Lyon"}, web | {"answer": "paris"}],
        [wiki | {"answer": None}],
    ]
    path = run / "answers" / "eor.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line, retrievers in zip(lines, accounts, strict=True):
        line["details"] = {"retrievers": retrievers, "passages": GOOD + POOR}
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    told = json.loads(rqa("inconsistency", run, "--pool", "eor", "--to", "json").out)
    assert (told["members"], told["questions"]) == (["wiki", "web", "eor"], 2)
    assert told["unused"] == {"that not every member has a measured answer to": 1}
    # eor has the second question right, which wiki misses, and misses the first.
    assert (told["accuracy"], told["rwr"]) == ([0.5, 0.5, 0.5], [[0, 1, 1], [1, 0, 0], [1, 0, 0]])
    assert (told["mrwr"], told["mrlr"]) == ([1, 1, 0.5], [1, 1, 0.5])  # eor does not change those of its retrievers
    assert [bound["mean"] for bound in told["perfect_voter"]] == [0.5, 1]  # pools of retrievers
    of_wiki, of_web, _ = told["errors"]["decomposition"]
    assert (of_wiki["retriever_error"], of_wiki["extraction"]) == (0, 1)
    assert (of_web["retriever_error"], of_web["lucky_guess"]) == (2, 1)


def test_a_pool_is_compared_by_exact_match_as_the_paper_does_beside_bem(rqa: Any, tmp_path: Path) -> None:
    run = write(tmp_path / "run", {"eor": ["Paris"]}, [GOOD])
    path = run / "answers" / "eor.jsonl"
    said = [{"retriever": "wiki", "answer": "In Paris", "passages": [1]}, {"retriever": "web", "answer": "Paris."}]
    path.write_text(json.dumps(json.loads(path.read_text()) | {"details": {"retrievers": said, "passages": GOOD}}))
    for metric, right in (("accuracy", [1, 1, 1]), ("em", [0, 1, 1])):
        out = rqa("inconsistency", run, "--pool", "eor", "--metric", metric, "--to", "json").out
        assert (json.loads(out)["accuracy"], json.loads(out)["metric"]) == (right, metric)


def test_the_terminal_shows_tables_with_a_row_for_each_member(rqa: Any, tmp_path: Path) -> None:
    out = rqa("inconsistency", write(tmp_path / "run", THREE, [GOOD] * 5)).out
    titles = ("Members", "RWR", "Sources of failures", "RWR (%) of lucky guesses", "Accuracy (%) of a perfect voter")
    assert all(f"\n{title}" in f"\n{out}" for title in titles)
    (first,) = [line.split() for line in out.splitlines() if line.split()[1:4] == ["first", "60.0", "70.8"]]
    assert first[4] == "50.0"
