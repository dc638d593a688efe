"""`rqa batch` over an endpoint that refuses: what ends the run, what it leaves and cost, and how it is continued."""

import re
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ..standins.openai import Fault, completion, error, rate_limited, serve
from ..standins.process import RQA, BatchRun, endpoint

BATCH = [*RQA, "batch", "in.txt", "-o", "out.jsonl", "-s", "norag", "--no-cache", "-j", "4"]
UNAUTHORISED = error(401, "Incorrect API key provided.", code="invalid_api_key")


class Run(BatchRun):
    """A batch of questions to an endpoint."""

    def start(self, url: str, *arguments: str, **pipes: Any) -> subprocess.Popen[bytes]:  # type: ignore[override]
        return super().start(*arguments, env=endpoint(url), **pipes)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path, BATCH, questions=60)


def when(mended: list[bool], fault: Fault) -> Callable[[dict[str, Any], int], str | Fault]:
    return lambda request, n: "yes" if mended else fault


def test_a_wrong_key_ends_the_run_and_the_rows_are_answered_once_it_is_right(run: Run) -> None:
    mended: list[bool] = []
    with serve(when(mended, UNAUTHORISED)) as server:
        code, err = run.finish(server.url)
        assert code == 5 and 20 <= server.count <= 28 and 20 <= len(run.rows) <= 28
        assert "every further row would fail" in err and "status 401" in err
        assert "continue with: rqa batch in.txt -o out.jsonl -s norag --no-cache -j 4 --retry-failed" in err
        mended.append(True)
        assert run.finish(server.url, "--retry-failed")[0] == 0
    assert [(row["row"], row["answer"]) for row in run.rows] == [(n, "yes") for n in range(1, 61)]


def test_credit_that_runs_out_on_the_way_ends_the_run(run: Run) -> None:
    with serve(lambda request, n: "yes" if n < 20 else error(402, "Insufficient balance.")) as server:
        assert run.finish(server.url)[0] == 5
        assert server.count < 50


def test_a_server_that_is_not_there_ends_the_run(run: Run) -> None:
    with socket.socket() as taken:  # bound and not listening: nobody else can be there
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        code, err = run.finish(url, "-O", "reader.s.retries=0")
    assert code == 5 and len(run.rows) < 60 and "No connection to 'm'" in err


def test_rows_that_fail_for_reasons_of_their_own_never_end_a_run(run: Run) -> None:
    flagged = error(403, "Your input was flagged.")
    with serve(lambda request, n: flagged if n % 2 else error(400, "The prompt is filtered.")) as server:
        assert run.finish(server.url)[0] == 3
    assert len(run.rows) == 60


def test_answers_in_between_keep_general_failures_from_ending_a_run(run: Run) -> None:
    with serve(lambda request, n: "yes" if n % 2 else UNAUTHORISED) as server:
        assert run.finish(server.url, "-j", "1")[0] == 3
    assert len(run.rows) == 60


def test_a_long_retry_after_ends_the_run_and_keeps_its_rows_for_resume(run: Run) -> None:
    mended: list[bool] = []
    with serve(lambda request, n: "yes" if n < 10 or mended else rate_limited("7200")) as server:
        code, err = run.finish(server.url)
        assert code == 5 and server.count <= 14
        assert "reader.s asks for a pause of 7,200 s" in err and err.rstrip().endswith("--resume")
        assert [row["answer"] for row in run.rows] == ["yes"] * 10
        mended.append(True)
        assert run.finish(server.url, "--resume")[0] == 0
        assert server.count <= 14 + 50
    assert [(row["row"], row["answer"]) for row in run.rows] == [(n, "yes") for n in range(1, 61)]


def test_replies_that_are_billed_and_of_no_use_are_in_the_totals(tmp_path: Path) -> None:
    run = Run(tmp_path, BATCH, questions=2)
    with serve(lambda request, n: completion(None)) as server:
        code, err = run.finish(server.url)
        assert server.count == 2
    assert code == 3 and "2 failed; 2 calls, 14 + 6 tokens" in err
    assert [row["usage"]["calls"] for row in run.rows] == [1, 1]


@pytest.mark.parametrize(
    ("limits", "told", "calls"),
    [
        ({"most_calls": 20}, "limit `most_calls` of 20", 20),
        # A call costs 0.000013.
        ({"most_cost": 0.00028, "prompt_price": 1.0, "completion_price": 2.0}, "limit `most_cost` of 0.00028", 21),
    ],
)
def test_a_run_tells_its_cost_early_and_never_exceeds_its_limit(
    run: Run, limits: dict[str, float], told: str, calls: int
) -> None:
    options = [part for name, value in limits.items() for part in ("-O", f"reader.s.{name}={value}")]
    with serve(lambda request, n: time.sleep(0.05) or "yes") as server:
        code, err = run.finish(server.url, "-j", "8", *options)
        assert code == 5 and told in err and err.rstrip().endswith("--resume")
        assert server.count == calls  # although eight are in flight
        assert re.search(r"60 rows will take about 60 calls and 420 \+ 180 tokens", err)
        assert run.finish(server.url, "--resume")[0] == 0
        assert server.count == 60
