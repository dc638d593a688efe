"""The record of a run: what a reader of a paper needs to repeat it."""

import hashlib
import json
import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from standins.mind import ROWS, WORLD

RUN = Path("run")


def recorded() -> Any:
    return json.loads((RUN / "run.json").read_text())


@pytest.fixture
def evaluate(rqa: Any, reader: Any, question_set: Any) -> Any:
    with reader(WORLD):
        with Path("rqa.toml").open("a") as file:
            file.write("[reader.mind.headers]\nx-token = 'very-secret'\n")

        def run(*options: str) -> Any:
            ended = rqa("eval", question_set(ROWS[:2]), "-o", RUN, *options)
            assert ended.code == 0, ended.err
            return recorded()["record"]

        yield run


def test_the_record_has_machine_model_and_options(evaluate: Any) -> None:
    record = evaluate("-s", "norag,crag", "-O", "strategy.norag.seed=7")
    (session,) = record["sessions"]
    machine = session["machine"]
    assert (machine["platform"], machine["cpus"]) == (platform.platform(), os.cpu_count())
    assert machine["python"] == platform.python_version() and machine["memory"] > 1e8
    assert session["libraries"]["numpy"] == version("numpy") and "ctranslate2" in session["libraries"]
    assert session["command"][1] == "eval" and session["command"][-1] == "strategy.norag.seed=7"
    options = record["readers"]["reader.mind"]["options"]
    assert (options["model"], options["temperature"], options["max_tokens"]) == ("mind", 0.0, 1024)
    assert record["served"] == {"reader.mind": ["stand-in"]}  # the name in the replies
    assert record["strategies"]["norag"]["options"]["seed"] == 7
    assert set(record["strategies"]) == {"norag", "crag", "rag"}  # crag hands its questions to rag
    (evaluator,) = record["evaluators"].values()
    assert len(evaluator["thresholds"]) == 2
    assert "very-secret" not in (RUN / "run.json").read_text()
    assert recorded()["sets"][0]["sha256"] and recorded()["rqa"] and recorded()["seed"] == 0


def test_the_record_has_each_prompt_once_and_names_the_set_of_the_paper(evaluate: Any) -> None:
    record = evaluate("-s", "astute,rag,genread", "-O", "strategy.astute.prompts=paper")
    named = {name: strategy["prompts"] for name, strategy in record["strategies"].items()}
    assert [named[name]["set"] for name in ("astute", "rag", "genread")] == ["paper", "rqa", "rqa"]
    assert recorded()["recipe"] == ""
    assert named["rag"]["read"] == named["genread"]["read"]
    assert "Step 2: Propose answers" in record["prompts"][named["astute"]["finalise"]]
    digests = {digest for prompts in named.values() for name, digest in prompts.items() if name != "set"}
    assert digests == record["prompts"].keys()
    assert all(hashlib.sha256(text.encode()).hexdigest().startswith(key) for key, text in record["prompts"].items())


def test_a_continued_run_keeps_the_record_of_its_earlier_strategies(evaluate: Any) -> None:
    evaluate("-s", "norag")
    record = evaluate("-s", "rag", "--resume")
    assert set(record["strategies"]) == {"norag", "rag"} and record["served"] == {"reader.mind": ["stand-in"]}
    assert ["--resume" in one["command"] for one in record["sessions"]] == [False, True]


def test_the_record_names_every_reader(evaluate: Any) -> None:
    tables = "[reader.other]\nplugin='openai'\nmodel='second'\nbase_url='{}'\n[strategy.crag]\nrewrite_reader='third'\n"
    url = Path("rqa.toml").read_text().partition('base_url = "')[2].partition('"')[0]
    with Path("rqa.toml").open("a") as file:
        file.write(
            tables.format(url)
            + tables.replace("other", "third").replace("second", "last").format(url).partition("[s")[0]
        )
    record = evaluate("-s", "rag,rag:other,crag")
    models = {name: one["options"]["model"] for name, one in record["readers"].items()}
    assert models == {"reader.mind": "mind", "reader.other": "second", "reader.third": "last"}
    assert record["strategies"].keys() == {"rag", "rag:other", "crag"}
    assert record["served"]["reader.other"] == ["stand-in"]


def test_the_record_has_the_commit_and_whether_it_is_clean(evaluate: Any) -> None:
    git = ("git", "-c", "user.name=n", "-c", "user.email=n@example.org")
    Path("paper.tex").write_text("one")
    for command in (("init", "-q"), ("add", "paper.tex"), ("commit", "-qm", "one")):
        subprocess.run([*git, *command], check=True)
    clean = evaluate("-s", "norag")["sessions"][0]["git"]["folder"]
    Path("paper.tex").write_text("two")
    changed = evaluate("-s", "norag", "--resume")["sessions"][1]["git"]["folder"]
    assert (clean["clean"], changed["clean"]) == (True, False)
    assert len(clean["commit"]) == 40 and clean["commit"] == changed["commit"]


def test_no_secret_of_the_command_line_is_in_the_record(evaluate: Any) -> None:
    options = [
        "-O",
        "retriever.web.provider=static",
        "-O",
        "retriever.web.file=//me:secret@host/x",
        "-O",
        "reader.mind.seed=1",
    ]
    (session,) = evaluate("-s", "norag", *options)["sessions"]
    assert session["command"][-4:] == ["-O", "retriever.web.file=//********@host/x", "-O", "reader.mind.seed=1"]


def test_the_answers_hold_the_prompts_as_they_were_sent(evaluate: Any) -> None:
    evaluate("-s", "norag", "--prompts")
    trace = json.loads((RUN / "answers/norag.jsonl").read_text().splitlines()[0])["trace"]
    assert "What is the capital of Arda?" in trace[0]["data"]["prompt"][-1]["content"]


def test_strategies_that_hand_questions_to_each_other_end_the_record(reader: Any, rqa: Any, question_set: Any) -> None:
    tables = "[strategy.one]\nplugin = 'crag'\nthen = 'two'\n[strategy.two]\nplugin = 'crag'\nthen = 'one'\n"
    with reader(WORLD):
        with Path("rqa.toml").open("a") as file:
            file.write(tables)
        ended = rqa("eval", question_set(ROWS[:1]), "-o", RUN, "-s", "norag,one")
    assert ended.code == 3 and "one is left out" in ended.err, ended.err
    assert recorded()["record"]["strategies"].keys() >= {"norag"}
