"""`rqa train cascade`: bounds from a run of `rqa eval`, and what they reach on held-out questions."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli

# private: a run with 400 answers of known confidence would have to be written as files
from rqa_train.cascade.fitting import Record, Target, cross_validate, fit, fit_calibration, measure

RNG = np.random.default_rng(0)
SURE = RNG.random(400)
# The cheap step is right as often as it says; the dear one is right on nine of ten questions, and costs ten times more.
RECORD = Record(
    confidence=np.array([SURE, np.full(400, 0.9)]),
    right=np.array([RNG.random(400) < SURE, RNG.random(400) < 0.9], dtype=float),
    cost=np.array([np.full(400, 1.0), np.full(400, 10.0)]),
)


def test_calibration_pools_what_does_not_rise() -> None:
    assert fit_calibration([0.1, 0.2, 0.3, 0.4], [0, 1, 0, 1]) == [[0.1, 0.0], [0.25, 0.5], [0.4, 1.0]]
    assert fit_calibration([1.0, 1.0, 1.0, 1.0], [1, 0, 1, 1]) == [[1.0, 0.75]]


def test_by_default_a_cascade_keeps_95_percent_of_the_best_accuracy_for_less() -> None:
    found = measure(RECORD, fit(RECORD, Target()))
    best = RECORD.right.mean(axis=1).max()
    assert found.accuracy >= 0.95 * best
    assert found.cost < 10
    assert sum(found.shares) == pytest.approx(1)


@pytest.mark.parametrize("budget", [1.0, 4.0, 11.0])
def test_a_budget_is_kept(budget: float) -> None:
    assert measure(RECORD, fit(RECORD, Target(budget=budget))).cost <= budget


def test_a_target_accuracy_is_reached_at_the_least_cost() -> None:
    low, high = (measure(RECORD, fit(RECORD, Target(accuracy=accuracy))) for accuracy in (0.7, 0.85))
    assert low.accuracy >= 0.7 and high.accuracy >= 0.85
    assert low.cost < high.cost


def test_cross_validation_measures_questions_that_it_was_not_fitted_on() -> None:
    noise = Record(RECORD.confidence, RNG.permuted(RECORD.right, axis=1), RECORD.cost)
    target = Target(budget=6.0)
    fitted, held_out = measure(noise, fit(noise, target)), cross_validate(noise, target)
    assert held_out.accuracy < fitted.accuracy


# -- the command

TOWERS = [
    {
        "question": f"Who built the tower of {place}?",
        "answers": ["Ada Quill" if number % 2 else "Bo Renn"],
        "passages": [f"The tower of {place} was built by {'Ada Quill' if number % 3 else 'Bo Renn'}.", "It is old."],
    }
    for number, place in enumerate("Arda Dune Oz Utopia Narnia Gondal Hyrule Florin Cimmeria Ithaca".split())
]


@pytest.fixture
def trained(rqa: Any, tmp_path: Path) -> Callable[..., Any]:
    """Runs `rqa eval` with two steps, and `rqa train cascade` on the run."""
    source = tmp_path / "towers.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in TOWERS))
    steps = "rag:lexical,rag:embedded"
    assert rqa("eval", source, "-s", steps, "-o", "run").code == 0

    def train(*options: str) -> Any:
        return rqa("train", "cascade", "run", "-o", "cascade.toml", *options)

    return train


def test_the_command_writes_a_configuration_that_works(trained: Any, rqa: Any, tmp_path: Path) -> None:
    ended = trained("--costs", "1,10")
    assert ended.code == 0, ended.err
    shown = {line.split("  ")[0]: line.split() for line in ended.out.splitlines() if line}
    assert {"rag:lexical", "rag:embedded", "cascade, held out"} <= set(shown)
    written = tomli.loads(Path("cascade.toml").read_text())["strategy"]["cascade"]
    assert written["steps"] == ["rag:lexical", "rag:embedded"]
    assert (len(written["bounds"]), len(written["calibration"])) == (1, 2)
    command = ("--config", "cascade.toml", "eval", tmp_path / "towers.jsonl", "-s", "cascade", "-o", "again")
    assert rqa(*command).code == 0
    answers = [json.loads(line) for line in Path("again/answers/cascade.jsonl").read_text().splitlines()]
    assert {answer["details"]["step"] for answer in answers} <= set(written["steps"])


def test_steps_without_cost_need_costs(trained: Any) -> None:
    ended = trained()
    assert (ended.code, "The steps in run cost nothing." in ended.err) == (2, True)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--costs", "1"), "--costs needs 2 numbers"),
        (("--accuracy", "0.9", "--budget", "1"), "Use either --accuracy or --budget"),
        (("--costs", "1,2", "--metric", "charm"), "no question with the metric 'charm'"),
    ],
)
def test_settings_that_cannot_be_are_errors(trained: Any, options: Any, complaint: str) -> None:
    ended = trained(*options)
    assert (ended.code, complaint in ended.err) == (2, True), ended.err


def test_a_folder_that_is_no_run_is_an_error(rqa: Any, tmp_path: Path) -> None:
    ended = rqa("train", "cascade", tmp_path, "-o", "cascade.toml")
    assert (ended.code, "is not a run of `rqa eval`" in ended.err) == (2, True)
