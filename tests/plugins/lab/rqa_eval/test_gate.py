"""`rqa eval --gate`: the exit code tells whether a run is significantly worse than an earlier one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from standins.mind import Mind, row

ROWS = [row(f"Land{letter}", f"City{letter}", gold=f"City{letter}") for letter in "ABCDEFGHIJKLMNOP"]
WRONG = Mind(miscopies={asked["id"]: "Wrong" for asked in ROWS})
BEFORE, NOW = Path("before"), Path("now")


@pytest.fixture
def gated(rqa: Any, reader: Any, question_set: Any) -> Callable[..., Any]:
    """Runs `rqa eval` with one model into BEFORE, and with another one into NOW with BEFORE as the gate."""

    def run(before: Mind, now: Mind, *options: str, rows: Any = ROWS) -> Any:
        with reader(before):
            assert rqa("eval", question_set(ROWS), "-s", "rag", "-o", BEFORE).code == 0
        with reader(now):
            return rqa("eval", question_set(rows), "-o", NOW, "--gate", BEFORE, *options)

    return run


def test_a_significantly_worse_run_exits_with_6_and_names_metric_and_test(gated: Any) -> None:
    ended = gated(Mind(), WRONG, "-s", "rag")
    assert ended.code == 6
    assert "Gate: significantly worse than in before" in ended.out
    assert "rag, accuracy, as given: 100.0 -> 0.0, p = " in ended.out
    assert "by McNemar's exact test" in ended.out


@pytest.mark.parametrize("before", [Mind(), WRONG])
def test_an_equal_or_a_better_run_passes(gated: Any, before: Mind) -> None:
    ended = gated(before, Mind(), "-s", "rag")
    assert ended.code == 0
    assert "Gate: no metric is significantly worse than in before" in ended.out


def test_a_few_worse_answers_are_no_significant_difference(gated: Any) -> None:
    wrong = Mind(miscopies={asked["id"]: "Wrong" for asked in ROWS[:4]})
    assert gated(Mind(), wrong, "-s", "rag").code == 0


@pytest.mark.parametrize(("metrics", "code"), [("accuracy", 6), ("accuracy,em,contains", 0)])
def test_more_metrics_need_a_smaller_p(gated: Any, metrics: str, code: int) -> None:
    wrong = Mind(miscopies={asked["id"]: "Wrong" for asked in ROWS[:6]})  # p = 0.03 for each metric
    assert gated(Mind(), wrong, "-s", "rag", "--metrics", metrics).code == code


@pytest.mark.parametrize(
    ("options", "rows", "complaint"),
    [
        (("-s", "norag"), ROWS, "no strategy and condition in common"),
        (("-s", "rag"), [row("Elsewhere", "Aa", gold="Aa")], "before has none of the questions"),
        (("-s", "rag", "--gate", "absent"), ROWS, "There is no run absent"),
    ],
)
def test_a_run_that_cannot_be_compared_is_an_error(gated: Any, options: Any, rows: Any, complaint: str) -> None:
    ended = gated(Mind(), Mind(), *options, rows=rows)
    assert (ended.code, complaint in ended.err) == (2, True), ended.err
