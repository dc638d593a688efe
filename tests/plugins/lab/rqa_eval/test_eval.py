"""`rqa eval` on the command line, with the scripted model of standins/mind.py."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from standins.evaluated import RUN, figures, lines, table
from standins.mind import ATTACKED, ROWS, WORLD, Mind, row
from standins.openai import error


def test_every_strategy_is_asked_every_question_and_scored(evaluate: Any) -> None:
    ended = evaluate("-s", "norag,rag,self_route")
    assert ended.code == 0
    assert figures("accuracy") == {"norag": 4 / 8, "rag": 4 / 8, "self_route": 5 / 8}
    assert figures("em") == figures("accuracy")
    assert figures("refusal") == {"norag": 3 / 8, "rag": 2 / 8, "self_route": 1 / 8}
    assert figures("calls") == {"norag": 1, "rag": 1, "self_route": 10 / 8}
    assert figures("tokens") == {"norag": 10, "rag": 10, "self_route": 12.5}  # a call of the stand-in takes 7 + 3


KEEPER = "Who was the keeper of the north light?"


@pytest.mark.parametrize(
    ("name", "content", "column"),
    [
        ("a.csv", f"question;answer\n{KEEPER};Ada Voss\n", "answer"),
        ("a.csv", f"question,ground_truth\n{KEEPER},Eva | Ada Voss\n", "ground_truth"),
        ("a.csv", f"Prompt,Expected Answer\n{KEEPER},Ada Voss\n", "Expected Answer"),
        ("a.csv", f"query,__expected\n{KEEPER},contains: Ada Voss\n", None),
        ("a.jsonl", json.dumps({"question": KEEPER, "Ground-Truths": ["Ada Voss"]}), "Ground-Truths"),
        ("a.jsonl", json.dumps({"question": KEEPER, "answer": {"value": "Ada Voss", "aliases": ["Eva"]}}), "answer"),
    ],
)
def test_gold_answers_have_the_names_of_other_tools(
    name: str, content: str, column: str | None, rqa: Any, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(content)
    (tmp_path / "light.md").write_text("The keeper of the north light was Ada Voss.")
    notes = tmp_path / "light.md"
    ended = rqa("eval", tmp_path / name, "-s", "rag", "--reader", "lexical", "-d", notes, "-o", RUN)
    assert (ended.code, figures("accuracy")) == (0, {"rag": 1.0}), ended.err
    said = [line for line in ended.err.splitlines() if "gold answers are in" in line]
    assert said == ([f"rqa: a: the gold answers are in `{column}`"] if column else [])


def test_a_set_without_gold_answers_is_an_error(rqa: Any, question_set: Any) -> None:
    ended = rqa("eval", question_set([{"question": "Who?", "solution": "Ada"}]), "-s", "rag", "-o", RUN)
    assert ended.code == 2 and not RUN.exists()
    assert "has a gold answer, so nothing can be measured. Other fields are `solution`." in ended.err


def test_pandas_output_is_scored(rqa: Any, question_set: Any) -> None:
    passage = {"text": "The capital of Arda is Aa.", "score": float("nan")}
    odd = ROWS[0] | {"passages": [passage, passage | {"score": "nan"}], "popularity": float("nan"), "note": "\ud800"}
    assert rqa("eval", question_set([odd]), "-s", "rag", "-o", RUN).code == 0
    (asked,) = lines("questions.jsonl")
    assert asked["fields"] == {"popularity": None, "note": "\ufffd"}
    assert [sorted(passage) for passage in asked["passages"]] == [["text"], ["text"]]  # and no score


def test_the_table_shows_the_chosen_metrics_or_those_that_most_people_read(evaluate: Any) -> None:
    shown = table(evaluate("-s", "norag,self_route").out, "Strategies (shares in %)")
    assert [shown[name][0] for name in ("norag", "self_route")] == ["50.0", "62.5"]
    assert "wrong" in shown["strategy"] and "rouge-" not in str(shown)
    chosen = table(evaluate("-s", "norag", "--metrics", "recall", "--force").out, "Strategies (shares in %)")
    assert chosen["strategy"] == ["recall"]


def test_refusing_an_unanswerable_question_is_right(evaluate: Any) -> None:
    rows = [
        row("Arda", "Aa", gold="Aa"),
        row("Dune", None, gold="Dd"),
        row("Erewhon", None, gold="Ee") | {"answers": []},
    ]
    out = evaluate("-s", "rag", rows=rows).out
    assert [asked.get("unanswerable") for asked in lines("questions.jsonl")] == [None, None, True]
    measured = ("accuracy", "risk-100", "refusal-precision", "refusal-recall")
    assert [figures(name)["rag"] for name in measured] == [2 / 3, 0, 1 / 2, 1]
    assert "without a gold answer" not in out


def test_poison_succeeds_if_most_passages_are_planted(evaluate: Any) -> None:
    ended = evaluate("-s", "rag,norag", "--attack", "poison", "--rate", "0,0.2,0.6", rows=ATTACKED)
    success = [figures("attack-success", condition=f"poison {rate}") for rate in ("0", "0.2", "0.6")]
    assert success == [{"rag": None, "norag": None}, {"rag": 1 / 2, "norag": 0}, {"rag": 1, "norag": 0}]
    accuracy = [figures("accuracy", condition=f"poison {rate}")["rag"] for rate in ("0", "0.2", "0.6")]
    assert accuracy == [1 / 2, 1 / 2, 0]
    lines = [line.split() for line in ended.out.splitlines()]
    rag = [line for line in lines if line[:1] == ["poison"] and line[2] == "rag"]
    assert [line[1:2] + line[3:7] for line in rag[:3]] == [
        ["0", "50.0", "0.0", "50.0", "–"],
        ["0.2", "50.0", "50.0", "0.0", "50.0"],
        ["0.6", "0.0", "100.0", "0.0", "100.0"],
    ]


def test_fake_answers_come_from_other_questions(evaluate: Any) -> None:
    evaluate("-s", "rag", "--attack", "poison", "--rate", "1")
    for asked in lines("questions.jsonl"):
        assert asked["fake_answer"] in {"Aa", "Bb", "Cc", "Dd", "Ee", "Ff", "Gg", "Hh"} - {asked["gold"][0][0]}
        assert asked["fake_source"] == "alike"
    assert figures("attack-success") == {"rag": 7 / 8}  # but Florin's, which is copied wrongly


def test_worst_case_keeps_passages_without_the_answer(evaluate: Any) -> None:
    evaluate("-s", "rag,norag", "--worst-case")
    assert [len(asked["passages"]) for asked in lines("questions.jsonl")] == [0, 3, 5, 5, 4, 0, 2, 1]
    assert figures("accuracy") == {"rag": 0, "norag": 4 / 8}
    assert figures("has-answer") == {"rag": 0, "norag": 0}


def test_drop_removes_the_share_of_relevant_passages(evaluate: Any) -> None:
    evaluate("-s", "rag", "--drop", "0,0.5,1")
    asked = lines("questions.jsonl")
    counts = [sum(len(one["passages"]) for one in asked if one["condition"] == f"drop {p}") for p in ("0", "0.5", "1")]
    assert counts[0] == 40 and counts[2] == 40 - 20 and counts[0] > counts[1] > counts[2]
    assert [figures("accuracy", condition=f"drop {p}")["rag"] for p in ("0", "1")] == [4 / 8, 0]


def test_the_order_of_passages_decides_for_a_model_that_trusts_the_first(evaluate: Any) -> None:
    rows = [row("Arda", "Aa", "Zz", gold="Aa"), row("Dune", "Dd", "Dd", gold="Dd")]
    evaluate("-s", "rag", "--order", "descending,ascending", rows=rows, model=Mind(trusts="first"))
    assert [figures("accuracy", condition=name)["rag"] for name in ("descending", "ascending")] == [1, 1 / 2]


def test_significant_differences_are_marked(evaluate: Any) -> None:
    rows = [row(f"Land{n}", f"City{n}", gold=f"City{n}") for n in range(12)]
    ended = evaluate("-s", "rag,self_route", "--baseline", "norag", rows=rows)
    shown = table(ended.out, "Strategies (shares in %)")
    assert (shown["rag"][0], shown["norag"][0]) == ("100.0▲", "0.0")
    assert "75.8–100.0" in ended.out
    assert "▲ ▼: significantly above or below norag (p < 0.05, one comparison)." in ended.out


def test_a_sample_is_drawn_by_its_seed(evaluate: Any) -> None:
    def sampled(*options: str) -> list[str]:
        evaluate("-s", "norag", "--sample", "3", "--force", *options)
        return [asked["id"] for asked in lines("questions.jsonl")]

    assert len(sampled()) == 3
    assert sampled() == sampled("--seed", "0")
    assert len({tuple(sampled("--seed", str(seed))) for seed in range(5)}) > 1
    assert sampled() == sorted(sampled())  # in the order of the set


# -- as the papers count


def hedging(request: Any, number: int) -> str:
    """Names the right capital on the way to a wrong answer."""
    return '{"note": "Some say Aa.", "documents": [1], "answer": "Bb"}'


def test_metrics_may_read_the_whole_reply(rqa: Any, reader: Any, question_set: Any) -> None:
    command = ("eval", question_set(ROWS[:1]), "-o", RUN, "-s", "rag")
    with reader(hedging):
        assert "whole last reply" not in rqa(*command).out
        assert figures("accuracy") == {"rag": 0}
        ended = rqa(*command, "--over", "reply", "--resume")
        assert (figures("accuracy"), figures("em")) == ({"rag": 1}, {"rag": 0})
        assert "The whole last reply of the model counts as the answer." in ended.out
        rqa(*command, "--resume")  # it stays so
        assert figures("accuracy") == {"rag": 1}


def test_questions_are_repeated_with_other_samples_and_their_spread_is_shown(evaluate: Any) -> None:
    right = [True, True, True, False, False, False, True, False]  # four repetitions of two questions

    def model(request: Any, number: int) -> str:
        assert request["temperature"] == 0.7
        return f"<<<ANSWER>>> {('Aa' if right[number] else 'Wrong')} <<</ANSWER>>>"

    rows = [row("Arda", "Aa", gold="Aa"), row("Amber", "Aa", gold="Aa")]
    ended = evaluate(
        "-s", "norag", "--repeat", "4", "-j", "1", "-O", "reader.mind.temperature=0.7", rows=rows, model=model
    )
    assert ended.code == 0, ended.err
    # The means of the repetitions are 1, 0.5, 0 and 0.5; those of the questions are 0.75 and 0.25.
    shown = table(ended.out, "accuracy over 4 repetitions, run (%)")["norag"]
    assert shown == ["50.0", "40.8", "37.5", "50.0", "62.5"]
    assert "Deviation: standard deviation of the means of the repetitions." in ended.out


# -- what goes wrong


def fails_on(*subjects: str) -> Callable[[Any, int], Any]:
    def script(request: Any, number: int) -> Any:
        prompt = request["messages"][-1]["content"]
        return error(400, "no such luck") if any(subject in prompt for subject in subjects) else WORLD(request, number)

    return script


def test_failed_rows_count_as_wrong_and_exit_with_3(evaluate: Any) -> None:
    ended = evaluate("-s", "norag", model=fails_on("Arda"))
    assert ended.code == 3
    assert "norag failed on 1 of 8 questions. Failures count as wrong. First error: " in ended.out
    assert (figures("accuracy")["norag"], figures("failure")["norag"]) == (3 / 8, 1 / 8)


def test_a_strategy_that_cannot_run_is_left_out(rqa: Any, question_set: Any) -> None:
    ended = rqa("eval", question_set(ROWS), "-s", "norag,cot,rag", "-o", RUN)  # the offline reader does not write
    assert ended.code == 3
    assert ended.err.count("`rqa models pull qwen3-4b-2507`") == 1  # what to do, once for both
    assert "norag was left out: Strategy 'norag' needs a language model" in " ".join(ended.out.split())
    assert list(figures("accuracy")) == ["rag"]


@pytest.mark.parametrize("place", [0, len(ROWS)])
def test_a_row_without_passages_fails_alone(evaluate: Any, place: int) -> None:
    bare = {"question": "What is the capital of Ithaca?", "answers": ["Ii"]}
    ended = evaluate("-s", "rag,norag", rows=[*ROWS[:place], bare, *ROWS[place:]])
    assert ended.code == 3
    assert "rag failed on 1 of 9 questions. Failures count as wrong. First error: " in ended.out
    assert "norag failed" not in ended.out
    assert figures("accuracy") == {"rag": 4 / 9, "norag": 4 / 9}


def test_no_strategy_can_run(rqa: Any, question_set: Any) -> None:
    ended = rqa("eval", question_set(ROWS), "-s", "norag", "-o", RUN)
    assert ended.code == 4
    assert "needs a language model" in ended.err
    assert not RUN.exists()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--rate", "0.5"), "needs --attack"),
        (("--attack", "poison", "--rate", "2"), "from 0 to 1"),
        (("--drop", "0.5", "--worst-case"), "Use only one of"),
        (("--metrics", "elegance"), "Unknown metric 'elegance'"),
        (("-o", "run.csv"), "To write run.csv: rqa report RUN -o run.csv"),
    ],
)
def test_invalid_options_are_usage_errors(evaluate: Any, options: Any, complaint: str) -> None:
    ended = evaluate("-s", "norag", *options)
    assert (ended.code, complaint in ended.err) == (2, True)


# -- the folder


def test_a_folder_that_is_not_a_run_is_not_changed(evaluate: Any) -> None:
    RUN.mkdir()
    (RUN / "diary.txt").write_text("mine")
    for option in ((), ("--force",), ("--resume",)):
        assert evaluate("-s", "norag", *option).code == 2
    assert [file.name for file in RUN.iterdir()] == ["diary.txt"]


def test_retry_failed_asks_failed_questions_again(rqa: Any, reader: Any, question_set: Any) -> None:
    with reader(WORLD) as server:
        command = ("eval", question_set(ROWS), "-s", "norag", "-o", RUN, "--no-cache")
        rqa(*command)
        answers = RUN / "answers" / "norag.jsonl"
        whole = answers.read_text("utf-8").splitlines(keepends=True)
        failure = (
            json.dumps({"row": 2, "question": "?", "error": {"type": "call", "message": "Down.", "row": 2}}) + "\n"
        )
        answers.write_text("".join([whole[0], failure, *whole[2:]]), "utf-8")
        asked = server.count
        assert rqa(*command, "--resume").code == 3
        assert server.count == asked
        assert rqa(*command, "--retry-failed").code == 0
    assert server.count - asked == 1
    told = [json.loads(line) for line in answers.read_text("utf-8").splitlines()]
    assert [line["answer"] for line in told] == [json.loads(line)["answer"] for line in whole]


def test_resume_asks_only_missing_questions(rqa: Any, reader: Any, question_set: Any) -> None:
    with reader(WORLD) as server:
        command = ("eval", question_set(ROWS), "-s", "norag", "-o", RUN, "--no-cache")
        rqa(*command)
        answers = RUN / "answers" / "norag.jsonl"
        whole = answers.read_text("utf-8")
        first = figures("accuracy")
        answers.write_text("".join(whole.splitlines(keepends=True)[:5]) + whole[:20], "utf-8")  # killed, a line torn
        (RUN / "metrics.json").unlink()
        asked = server.count
        assert rqa(*command, "--resume").code == 0
    assert server.count - asked == 3
    assert figures("accuracy") == first
    assert [line["row"] for line in lines("answers/norag.jsonl")] == list(range(1, 9))


def test_the_strategies_of_a_run_stay_in_it_when_others_are_added(rqa: Any, reader: Any, question_set: Any) -> None:
    command = ("eval", question_set(ROWS), "-o", RUN, "--no-cache", "--resume")
    with reader(WORLD) as server:
        rqa(*command, "-s", "rag,norag")
        rag = figures("accuracy")["rag"]
        answers = RUN / "answers" / "norag.jsonl"
        answers.write_bytes(answers.read_bytes().splitlines(keepends=True)[0])
        ended = rqa(*command, "-s", "cot")
        assert server.count == 24  # what is not named is not asked
    assert ended.code == 0
    assert "norag answered 1 of 8 questions. Add it to -s to run the others." in ended.err
    assert "\nnorag (1 of 8)      100.0" in ended.out
    assert "norag answered 1 of 8 questions. It is not compared" in ended.out
    assert list(figures("accuracy")) == ["rag", "norag", "cot"]
    assert figures("accuracy")["rag"] == rag
    described = json.loads((RUN / "run.json").read_text("utf-8"))
    assert [one["name"] for one in described["strategies"]] == ["rag", "norag", "cot"]


def incomplete(strategy: str, rows: int) -> None:
    """Leave the first answers of a strategy alone."""
    answers = RUN / "answers" / f"{strategy}.jsonl"
    answers.write_bytes(b"".join(answers.read_bytes().splitlines(keepends=True)[:rows]))


def test_incomplete_strategies_are_not_compared(rqa: Any, reader: Any, question_set: Any) -> None:
    rows = [row(f"Land{n}", f"City{n}", gold=f"City{n}") for n in range(12)]
    command = ("eval", question_set(rows), "-o", RUN, "--baseline", "norag", "--resume")
    with reader(WORLD):
        rqa(*command, "-s", "rag,norag")
        incomplete("rag", 11)
        ended = rqa(*command, "-s", "cot")
        assert "100.0▲" not in ended.out
        incomplete("norag", 11)
        rqa("eval", question_set(rows), "-o", RUN, "--resume", "-s", "rag")
    metrics = json.loads((RUN / "metrics.json").read_text("utf-8"))
    assert metrics["baseline"] is None
    assert not any("difference" in one["accuracy"] for one in metrics["groups"][0]["strategies"].values())


def test_resume_keeps_views_baseline_and_metric(rqa: Any, reader: Any, question_set: Any) -> None:
    command = ("eval", question_set(ROWS), "-o", RUN)
    views = ("--by", "conflict", "--by", "knowledge")

    def shown() -> tuple[Any, ...]:
        metrics = json.loads((RUN / "metrics.json").read_text("utf-8"))
        return metrics["metric"], metrics["baseline"], {one["view"] for one in metrics["groups"] if one["view"]}

    with reader(WORLD):
        rqa(*command, "-s", "rag,norag", *views, "--baseline", "rag", "--metrics", "f1")
        before = shown()
        assert before == ("f1", "rag", {"conflict", "knowledge"})
        ended = rqa(*command, "-s", "cot", "--resume")
        assert shown() == before
        assert "f1 (%) by conflict" in ended.out
        given = ("--metrics", "em", "--baseline", "norag", "--by", "retrieval-precision")
        rqa(*command, "-s", "cot", "--resume", *given)
        assert shown() == ("em", "norag", {"conflict", "knowledge", "retrieval-precision"})


def test_changed_retrieval_cannot_be_resumed(rqa: Any, tmp_path: Path, question_set: Any) -> None:
    for name in ("docs", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text(f"The capital of Arda is in {name}.")
    source = question_set([{"question": "What is the capital of Arda?", "answers": "docs"}])
    command = ("eval", source, "-s", "rag", "-o", RUN, "-d", tmp_path / "docs")
    assert rqa(*command).code == 0
    assert rqa(*command, "--resume").code == 0
    for options in (("-k", "3"), ("-d", tmp_path / "other"), ("-r", "bm25@2"), ("-r", "bm25 & none")):
        ended = rqa(*command, "-s", "crag", "--resume", *options)
        assert (ended.code, "the retrieval" in ended.err) == (2, True)
    (tmp_path / "docs" / "b.txt").write_text("More is told of Arda.")
    ended = rqa(*command, "-s", "crag", "--resume")
    assert (ended.code, "the retrieval" in ended.err) == (2, True)


@pytest.mark.parametrize(
    ("options", "change"),
    [
        ((), "`reader options` was"),
        (("--reader", "lexical"), "`reader` was reader.mind and is reader.lexical."),
        (("-O", "defaults.evaluator=length"), " and is evaluator.length."),
    ],
)
def test_a_changed_reader_or_evaluator_cannot_be_resumed(
    rqa: Any, reader: Any, question_set: Any, options: Any, change: str
) -> None:
    plugin = Path(__file__).parents[3] / "standins" / "plugin.py"
    command = ("--plugin", plugin, "eval", question_set(ROWS), "-o", RUN)
    with reader(WORLD) as server:
        rqa(*command, "-s", "rag")
        configured = Path("rqa.toml").read_text("utf-8")
        if not options:
            Path("rqa.toml").write_text(configured.replace('model = "mind"', 'model = "other"'), "utf-8")
        ended = rqa(*command, "-s", "eor", "--resume", *options)
        assert ended.code == 2 and change in ended.err and "Choose another folder with -o" in ended.err, ended.err
        assert server.count == 8
        Path("rqa.toml").write_text(f"{configured}timeout = 30.0\n", "utf-8")
        assert rqa(*command, "-s", "norag", "--resume").code == 0  # answers do not depend on limits
    described = json.loads((RUN / "run.json").read_text("utf-8"))
    assert [one["name"] for one in described["strategies"]] == ["rag", "norag"]
    assert described["answering"]["reader"] == "reader.mind"
    assert "reader options" in described["answering"]


def test_changed_questions_cannot_be_resumed(evaluate: Any) -> None:
    evaluate("-s", "norag")
    for options, rows in ((("--seed", "1"), ROWS), (("--worst-case",), ROWS), ((), ROWS[:3])):
        ended = evaluate("-s", "norag", "--resume", *options, rows=rows)
        assert (ended.code, "cannot be continued" in ended.err) == (2, True)


def test_slices_by_a_field_of_the_rows(evaluate: Any, rqa: Any, question_set: Any) -> None:
    rows = [one | {"hops": hops, "kinds": kinds} for one, hops, kinds in zip(
        ROWS, [2, 10, 2, 2, 10, 10, 2, 10], [["a"], ["a", "b"], ["b"], [], [], [], [], []], strict=True
    )]  # fmt: skip
    out = evaluate("-s", "norag", "--by", "hops", "--by", "kinds", rows=rows).out
    assert figures("accuracy", slice="2") == {"norag": 2 / 4}  # Arda and Cimmeria, not Dune and Gondal
    assert figures("accuracy", slice="10") == {"norag": 2 / 4}  # Earthsea and Hyrule
    assert figures("accuracy", slice="a") == {"norag": 1 / 2}
    shown = table(out, "accuracy (%) by hops")
    assert [name for name in shown if name.isdigit()] == ["2", "10"] and shown["2"][:2] == ["4", "50.0"]
    again = rqa("eval", question_set(rows), "-s", "norag", "-o", RUN, "--force", "--by", "hop")
    assert again.code == 2 and "--by hop: no row has this field. Choose from: " in again.err and "hops" in again.err


def test_a_field_with_a_value_for_each_question_is_no_view(evaluate: Any) -> None:
    rows = [row("Arda", "Aa", gold="Aa", number=number) for number in range(60)]
    ended = evaluate("-s", "norag", "--by", "number", rows=rows)
    assert ended.code == 2 and "has 60 values" in ended.err


def test_fewer_passages_in_one_run(evaluate: Any) -> None:
    evaluate("-s", "rag", "--top", "1,2,5")
    asked = lines("questions.jsonl")
    assert [len(one["passages"]) for one in asked if one["id"] == "Earthsea"] == [1, 2, 5]
    right = [figures("accuracy", condition=f"top {number}")["rag"] for number in (1, 2, 5)]
    assert right == [5 / 8, 5 / 8, 4 / 8]  # Earthsea is right until a second false passage comes
    for wrong, said in (("0", "is 1 or more"), ("1,x", "is 1 or more")):
        assert said in evaluate("-s", "rag", "--top", wrong, "--force").err


@pytest.mark.parametrize("order", ["rag,corroborate", "corroborate,rag"])
def test_the_time_of_a_strategy_includes_what_another_one_left_in_the_cache(
    order: str, rqa: Any, question_set: Any
) -> None:
    passages = [f"The keeper of light {n} was Bo Renn, a former pilot of the harbour of Arnholm." for n in range(8)]
    rows = [
        {"question": f"Who was the keeper of light {n}?", "answers": ["Bo Renn"], "passages": passages} for n in "12"
    ]
    assert rqa("eval", question_set(rows), "-s", order, "-j", 1, "-o", RUN).code == 0
    seconds, (first, second) = figures("seconds"), order.split(",")
    measured = {name: sum(row["seconds"] for row in lines(f"answers/{name}.jsonl")) / 2 for name in (first, second)}
    assert any(step["cached"] for row in lines(f"answers/{second}.jsonl") for step in row["trace"])
    assert seconds[first] == pytest.approx(measured[first], abs=1e-3) and seconds[second] > measured[second]
