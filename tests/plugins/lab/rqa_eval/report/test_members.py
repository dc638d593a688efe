"""The members of a run and the inconsistency report, checked against values worked out by hand."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from robust_qa import InputError
from rqa_eval.report.disagreement import Disagreement
from rqa_eval.report.inconsistency import Decomposition
from rqa_eval.report.members import Selection, members
from rqa_eval.report.runs import Run

# Five questions whose answer is Paris, and what one and other answer. The passages of q4 and q5 have no Paris.
#
#        one           other
#   q1   Paris         Lyon, in the passages      extraction error
#   q2   Rome          Paris                      Rome stands nowhere: hallucination
#   q3   (none)        Paris                      unanswered
#   q4   Paris         Lyon, in the passages      a lucky guess; a retriever error
#   q5   Nice          (failed)                   a retriever error; not taken apart
GOOD = [{"title": "France", "text": "The capital is Paris, and not Lyon."}]
POOR = [{"title": "Rhône", "text": "A river that passes Lyon."}]
ONE = ["Paris", "Rome", None, "In paris!", "Nice"]
OTHER = ["Lyon", "Paris", "The Paris", "Lyon", Exception]


def write(folder: Path, **changes: Any) -> Run:
    """The run above; `changes` are fields of every question."""
    (folder / "answers").mkdir(parents=True)
    questions, scores, lines = [], [], {"one": [], "other": []}  # type: ignore[var-annotated]
    for row, said in enumerate(zip(ONE, OTHER, strict=True), start=1):
        asked = {
            "id": f"q{row}",
            "set": "cities",
            "condition": "as given",
            "question": "Which?",
            "gold": [["Paris"]],
        }
        questions.append(asked | {"passages": GOOD if row <= 3 else POOR} | changes)
        scored = {}
        for name, answer in zip(lines, said, strict=True):
            line = {"row": row, "answer": answer}
            if answer is Exception:
                line = {"row": row, "error": {"type": "CallTimeout", "message": "late"}}
            lines[name].append(line)
            scored[name] = {"accuracy": float("paris" in str(answer).lower()), "f1": 0.5}
        scores.append({"row": row, "scores": scored})
    for path, rows in {
        "questions.jsonl": questions, "scores.jsonl": scores, **{f"answers/{n}.jsonl": lines[n] for n in lines},
    }.items():  # fmt: skip
        (folder / path).write_text("".join(json.dumps(row) + "\n" for row in rows))
    plan = {
        "format": 1, "sets": [{"name": "cities"}, {"name": "rivers"}], "conditions": ["as given"],
        "strategies": [{"name": name, "file": f"answers/{name}.jsonl"} for name in lines],
    }  # fmt: skip
    figures = {
        "format": 1, "metric": "accuracy", "metrics": [{"name": "accuracy"}, {"name": "f1"}], "groups": [],
        "strategies": [{"name": "one"}, {"name": "other", "failed": 1}],
    }  # fmt: skip
    (folder / "run.json").write_text(json.dumps(plan))
    (folder / "metrics.json").write_text(json.dumps(figures))
    return Run.load(folder)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return write(tmp_path / "run")


def found(run: Run, chosen: Selection | None = None) -> Disagreement:
    chosen = chosen or Selection()
    return Disagreement(run.name, "accuracy", chosen, members(run, chosen))


# -- strategies as members


def test_a_failed_row_is_answered_wrong(run: Run) -> None:
    told = members(run, Selection())
    assert (told.names, told.asked) == (("one", "other"), 5)
    assert told.correct == (0b01001, 0b00110)


def test_ratios_of_a_run(run: Run) -> None:
    told = json.loads(found(run).as_json())
    # one has q1 and q4 right of other's wrong q1, q4, q5; other has q2 and q3 right of one's wrong q2, q3, q5.
    assert told["rwr"] == [[0, 2 / 3], [2 / 3, 0]]
    assert (told["mrwr"], told["mrlr"]) == ([2 / 3, 2 / 3], [2 / 3, 2 / 3])
    assert told["accuracy"] == [0.4, 0.4]


def test_where_failures_come_from_in_a_run(run: Run) -> None:
    one, other = found(run).decompositions  # over q1 to q4
    assert one == Decomposition(
        asked=4, failures=2, retriever_error=1, lucky_guess=1, hallucination=1, extraction=0, unanswered=1
    )
    assert other == Decomposition(
        asked=4, failures=2, retriever_error=1, lucky_guess=0, hallucination=0, extraction=1, unanswered=0
    )


def test_eq_4_excludes_questions_with_failures(run: Run) -> None:
    assert members(run, Selection()).excluded == {"on which a member failed": 1}


def test_eq_4_excludes_long_answers(run: Run) -> None:
    told = members(run, Selection(longest=1))
    assert told.excluded == {"with an answer of more than 1 words": 2, "on which a member failed": 1}  # q3, q4
    assert told.outcomes[0].asked == 0b11


def test_a_perfect_voter_over_a_run(run: Run) -> None:
    one, both = json.loads(found(run).as_json())["perfect_voter"]
    assert (one["mean"], both["mean"], both["best_pool"]) == (0.4, 0.8, ["one", "other"])


def test_eq_4_needs_passages(tmp_path: Path) -> None:
    told = found(write(tmp_path / "run", passages=None))
    assert json.loads(told.as_json())["errors"] is None
    assert "The sources of failures (Eq. 4) are unknown." in told.tables()[0].notes
    assert told.members.excluded["whose passages the run does not keep"] == 4


def test_an_answer_counts_as_right_from_a_threshold_of_any_metric(run: Run) -> None:
    assert members(run, Selection(metric="f1", least=0.5)).correct == (0b11111, 0b01111)


def test_every_fact_has_to_be_retrieved(tmp_path: Path) -> None:
    told = members(write(tmp_path / "run", gold=[["Paris"], ["Lyon", "Lugdunum"]]), Selection())
    assert told.outcomes[0].retrieved == 0b0111
    told = members(write(tmp_path / "again", gold=[["Paris"], ["Lugdunum"]]), Selection())
    assert told.outcomes[0].retrieved == 0


def test_a_question_that_not_every_member_was_asked_does_not_count(run: Run) -> None:
    path = run.folder / "answers" / "other.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[1:]))
    told = members(run, Selection())
    assert (told.asked, told.unused) == (4, {"that not every member has a measured answer to": 1})


def test_without_gold_answers_there_is_nothing_to_compare(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no question to compare: 5 without a gold answer"):
        members(write(tmp_path / "run", gold=[]), Selection())


def test_one_strategy_cannot_be_compared(run: Run) -> None:
    results = [
        result if result.name == "one" else type(result)("other", state="failed") for result in run.figures.strategies
    ]
    figures = type(run.figures)(format=1, metric="accuracy", metrics=run.figures.metrics, strategies=results, groups=[])
    with pytest.raises(InputError, match="only one member, one") as told:
        members(replace(run, figures=figures), Selection())
    assert "--pool" in told.value.hint


def test_an_unknown_metric_is_an_error(run: Run) -> None:
    with pytest.raises(InputError, match=r"no metric 'bem'\. It has: accuracy, f1"):
        members(run, Selection(metric="bem"))


# -- the retrievers of one strategy as members


def account(*told: dict[str, Any]) -> dict[str, Any]:
    """Details as the strategy eor gives them; its passages are GOOD and POOR, numbered 1 and 2."""
    return {"retrievers": [{"error": "", **one} for one in told], "passages": GOOD + POOR}


@pytest.fixture
def ensemble(run: Run) -> Run:
    """other tells of wiki and web in the first two rows: wiki reads GOOD, and web reads POOR."""
    path = run.folder / "answers" / "other.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    wiki, web = {"retriever": "wiki", "passages": [1]}, {"retriever": "web", "passages": [2]}
    lines[0]["details"] = account(wiki | {"answer": "Paris"}, web | {"answer": "Lyon"})
    lines[1]["details"] = account(wiki | {"answer": "Lyon"}, web | {"answer": "paris"})
    lines[2]["details"] = account(wiki | {"answer": None})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return run


def test_the_retrievers_of_a_strategy_are_members_with_their_own_passages(ensemble: Run) -> None:
    told = members(ensemble, Selection(pool="other"))
    assert (told.names[: told.pool], told.asked) == (("wiki", "web"), 2)
    assert told.correct[: told.pool] == (0b01, 0b10)
    wiki, web, _ = (found(ensemble, Selection(pool="other"))).decompositions
    assert (wiki.retriever_error, wiki.extraction) == (0, 1)
    assert (web.retriever_error, web.lucky_guess) == (2, 1)


def test_an_ensemble_has_a_row_of_its_own_that_does_not_change_those_of_its_retrievers(ensemble: Run) -> None:
    told = json.loads(found(ensemble, Selection(pool="other")).as_json())
    # other answers Lyon and Paris: it has the second question right, which wiki misses, and misses the first.
    assert told["members"] == ["wiki", "web", "other"]
    assert told["accuracy"] == [0.5, 0.5, 0.5]
    assert told["rwr"] == [[0, 1, 1], [1, 0, 0], [1, 0, 0]]
    assert told["mrwr"] == [1, 1, 0.5]
    assert told["mrlr"] == [1, 1, 0.5]
    assert [bound["mean"] for bound in told["perfect_voter"]] == [0.5, 1]  # pools of retrievers


def test_rows_without_a_retriever_are_not_used(ensemble: Run) -> None:
    told = members(ensemble, Selection(pool="other"))
    assert told.unused == {"that not every member has a measured answer to": 3}


@pytest.mark.parametrize("retrievers", ["wiki", [1, {"retriever": 7}], {"retriever": "wiki"}])
def test_details_of_another_shape_have_no_retrievers(retrievers: Any, run: Run) -> None:
    path = run.folder / "answers" / "one.jsonl"
    lines = [json.loads(line) | {"details": {"retrievers": retrievers}} for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(InputError, match="do not list retrievers"):
        members(run, Selection(pool="one"))


def test_a_strategy_without_retrievers_is_not_a_pool(run: Run) -> None:
    with pytest.raises(InputError, match="do not list retrievers"):
        members(run, Selection(pool="one"))


def test_an_unknown_pool_is_an_error(run: Run) -> None:
    with pytest.raises(InputError, match=r"no strategy 'eor'\. It has: one, other"):
        members(run, Selection(pool="eor"))


# -- tables


def test_the_tables_have_a_row_for_each_member(run: Run) -> None:
    summary, rwr, parts, *_ = found(run).tables()
    assert [keys for keys, _ in summary.rows] == [("1", "one"), ("2", "other")]
    assert [cell.text for cell in summary.rows[0][1]] == ["40.0", "66.7", "66.7"]
    assert [cell.text for cell in rwr.rows[0][1]] == ["·", "66.7"]
    assert [cell.text for cell in parts.rows[0][1]] == ["50.0", "25.0", "25.0", "25.0", "0.0", "25.0"]
    assert "Not used in Eq. 4: questions on which a member failed (1)." in summary.notes
