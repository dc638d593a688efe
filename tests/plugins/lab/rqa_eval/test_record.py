"""The record of a run: what a reader of a paper needs to repeat it."""

import hashlib
import json
import os
import platform
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
    assert record["machine"] == {
        "platform": platform.platform(),
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
    }
    assert record["reader"]["name"] == "reader.mind"
    options = record["reader"]["options"]
    assert (options["model"], options["temperature"], options["max_tokens"]) == ("mind", 0.0, 1024)
    assert record["served"] == ["stand-in"]  # the name in the replies
    assert record["strategies"]["norag"]["options"]["seed"] == 7
    assert set(record["strategies"]) == {"norag", "crag", "rag"}  # crag hands its questions to rag
    assert len(record["evaluator"]["thresholds"]) == 2
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
    assert set(record["strategies"]) == {"norag", "rag"} and record["served"] == ["stand-in"]


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
