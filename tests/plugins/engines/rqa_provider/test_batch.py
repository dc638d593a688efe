"""`rqa batch --engine provider` over a stand-in for OpenAI's Batch API: waves, cost, resuming, unanswered requests."""

import signal
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
from standins.batch_api import EXPIRED, BatchServer, serve
from standins.openai import Fault, error, running, unsupported
from standins.openai import serve as serve_ordinary
from standins.process import BatchRun, endpoint, until

ROWS = 6
WAVES = [ROWS, ROWS - 1]  # the first call is an ordinary one, so the first question is a step ahead
STEPS_ASKED = [("first", ""), ("second", " first")]
ARGUMENTS = ("-o", "out.jsonl", "-s", "two-steps", "--no-cache", "--engine", "provider")
STEPS = '''
from robust_qa import Answer, hookimpl

class TwoSteps:
    """Asks twice, the second time about the first reply."""

    needs = frozenset({"generate"})

    async def answer(self, question, toolbox):
        first = await toolbox.generate(f"first: {question}")
        second = await toolbox.generate(f"second: {question} {first.text}")
        return Answer(second.text)

@hookimpl
def rqa_register(registry):
    registry.strategy("two-steps", TwoSteps)
'''


def asked(request: dict[str, Any]) -> str:
    return str(request["messages"][-1]["content"])


def echo(request: dict[str, Any], n: int) -> str:
    return asked(request).partition(":")[0]


class Run(BatchRun):
    """A batch by a strategy of two steps, with an endpoint that has prices."""

    def start(self, url: str, *arguments: str, **pipes: Any) -> subprocess.Popen[bytes]:  # type: ignore[override]
        return super().start(*arguments, env=endpoint(url, PROMPT_PRICE="1000", COMPLETION_PRICE="10000"), **pipes)

    @property
    def journal(self) -> Path:
        return self.folder / "out.jsonl.batches"


@pytest.fixture
def run(tmp_path: Path, installed: str) -> Run:
    (tmp_path / "steps.py").write_text(STEPS)
    return Run(tmp_path, [installed, "--plugin", "steps.py", "batch", "in.txt", *ARGUMENTS], ROWS)


def sizes(server: BatchServer) -> list[int]:
    return [len(batch.requests) for batch in server.batches]


def test_each_step_of_the_strategy_is_a_wave(run: Run) -> None:
    with serve(echo) as server:
        code, err = run.finish(server.url)
    assert code == 0, err
    assert [row["answer"] for row in run.rows] == ["second"] * ROWS
    assert sizes(server) == WAVES and server.ordinary == 1


def test_calls_in_batches_cost_half(run: Run) -> None:
    with serve(echo) as server:
        err = run.finish(server.url)[1]
    assert f"wave 1: {ROWS} calls, about" in err and "prompt tokens, at most" in err
    # 7 tokens at 1000 and 3 at 10000 a million, halved: 0.0185 a call
    assert "wave 1: done with 42 + 18 tokens for 0.11" in err
    assert "wave 2: done with 35 + 15 tokens for 0.092 (all waves: 0.20)" in err
    usage = run.rows[-1]["usage"]
    assert usage == {"calls": 2, "prompt_tokens": 14, "completion_tokens": 6, "cached": 0, "batched": 2}


@pytest.mark.parametrize(("number", "sent"), [(0, signal.SIGKILL), (1, signal.SIGKILL), (1, signal.SIGINT)])
def test_a_run_that_ends_during_a_wave_pays_for_nothing_twice(run: Run, number: int, sent: signal.Signals) -> None:
    with serve(echo) as server:
        server.held.add(number)
        process = run.start(server.url)
        until(lambda: len(server.batches) > number and server.batches[number].asked > 1)
        process.send_signal(sent)
        err = process.communicate()[1].decode()
        assert sent == signal.SIGKILL or "--engine provider --resume" in err
        assert "wave 2: done" not in err
        server.held.clear()
        code, err = run.finish(server.url, "--resume")
        assert code == 0, err
    assert sizes(server) == WAVES and "in batches of an earlier run, already paid" in err
    assert [row["answer"] for row in run.rows] == ["second"] * ROWS
    paid = {f"{step}: question {n}{reply}": 1 for step, reply in STEPS_ASKED for n in range(ROWS)}
    # The first, ordinary call is in no batch. The cache, which is off here, would have it.
    assert server.paid == paid | {"first: question 0": 2 - number}


def test_a_run_that_is_killed_before_its_batch_begins_uses_the_file(run: Run) -> None:
    with serve(echo) as server:
        server.held.add(0)
        process = run.start(server.url)
        until(lambda: run.journal.exists() and b"batch_1" in run.journal.read_bytes())
        process.send_signal(signal.SIGKILL)
        process.communicate()
        run.journal.write_bytes(run.journal.read_bytes().splitlines()[0] + b'\n{"file":"fi')  # without the batch
        server.held.clear()
        code, err = run.finish(server.url, "--resume")
    assert code == 0, err
    assert sizes(server) == WAVES and server.uploads == 2


def test_the_journal_has_neither_prompts_nor_keys_and_is_private(run: Run) -> None:
    with serve(echo) as server:
        run.finish(server.url, "-O", "reader.s.headers.X-Key=secret-of-mine")
        assert all(request.headers["x-key"] == "secret-of-mine" for request in server.requests)
    assert stat.S_IMODE(run.journal.stat().st_mode) == 0o600
    assert not {"question", "secret"} & set(run.journal.read_text().replace('"', " ").split())
    assert "batch_2" in run.journal.read_text()


def test_a_new_run_over_the_old_one_forgets_its_batches(run: Run) -> None:
    with serve(echo) as server:
        run.finish(server.url)
        code, err = run.finish(server.url, "--force")
    assert code == 0, err
    assert sizes(server) == WAVES * 2


def test_requests_that_expire_or_fail_become_ordinary_calls(run: Run) -> None:
    def in_batch(request: dict[str, Any], n: int) -> str | Fault:
        if asked(request) == "first: question 2":
            return EXPIRED
        return error(500, "The server had an error.") if asked(request) == "first: question 3" else echo(request, n)

    with serve(echo, in_batch, fate=lambda n, batch: "completed" if n else "expired") as server:
        code, err = run.finish(server.url)
    assert code == 0, err
    assert [row["answer"] for row in run.rows] == ["second"] * ROWS
    assert server.ordinary == 3 and sizes(server) == WAVES
    assert "batch_1 (expired): 2 of 6 calls have no reply: This request could not be executed" in err
    assert "ordinary calls follow for 2" in err
    assert sorted(row["usage"]["batched"] for row in run.rows) == [1, 1, 1, 2, 2, 2]


def test_a_batch_that_fails_becomes_ordinary_calls(run: Run) -> None:
    failure = {"code": "model_not_found", "message": "The model has no batches.", "line": None, "param": None}
    with serve(echo, fate=lambda n, batch: "completed" if n else failure) as server:
        code, err = run.finish(server.url)
    assert code == 0, err
    assert "batch_1 (failed): 6 of 6 calls have no reply: The model has no batches." in err
    assert server.ordinary == ROWS + 1 and sizes(server) == WAVES


def test_a_full_queue_gets_the_wave_in_halves(run: Run) -> None:
    full = {"code": "token_limit_exceeded", "message": "Enqueued token limit reached.", "line": None, "param": None}
    with serve(echo, fate=lambda n, batch: full if len(batch.requests) > 3 else "completed") as server:
        code, err = run.finish(server.url)
    assert code == 0, err
    assert server.ordinary == 1 and sizes(server)[:3] == [6, 3, 3]
    assert sum(size for size in sizes(server) if size <= 3) == sum(WAVES)


def test_an_endpoint_without_a_batch_api_is_an_error_before_the_first_call(run: Run) -> None:
    with serve_ordinary(echo) as server:
        code, err = run.finish(server.url)
        assert server.count == 1  # the question whether it has one
    assert code == 5 and not run.out.exists()
    assert "has no batch API: its page /batches returned status 404" in err and "Leave out --engine provider" in err


def test_a_reader_without_batches_is_an_error(run: Run) -> None:
    with serve(echo) as server:
        code, err = run.finish(server.url, "--reader", "lexical")
    assert code == 2
    assert "reader.lexical cannot use a provider's batch API" in err and "--reader NAME" in err


@pytest.mark.parametrize("out", ["-", "/dev/null"])
def test_batches_need_an_output_file(run: Run, out: str) -> None:
    code, err = run.finish("http://127.0.0.1:1/v1", "-o", out)
    assert code == 2 and "Add -o FILE" in err


def test_an_upload_that_is_refused_ends_the_run_and_leaves_the_rows(run: Run) -> None:
    class NoFiles(BatchServer):
        def _upload(self, request: Any) -> Fault:
            return error(403, "You have insufficient permissions for this operation.")

    with running(NoFiles(echo, None, lambda n, batch: "completed", 0.0)) as server:
        code, err = run.finish(server.url)
    assert code == 5 and run.rows == []
    assert "insufficient permissions" in err and "continue with" in err and err.rstrip().endswith("--resume")


def test_the_dialect_is_learnt_before_the_first_wave(run: Run) -> None:
    def script(request: dict[str, Any], n: int) -> str | Fault:
        return unsupported("max_tokens", "max_completion_tokens") if "max_tokens" in request else echo(request, n)

    with serve(script) as server:
        code, err = run.finish(server.url)
    assert code == 0, err
    assert server.ordinary == 2 and sizes(server) == WAVES


def test_a_lost_connection_is_waited_out(run: Run) -> None:
    def fate(n: int, batch: Any) -> str:
        failures.append(n)
        if len(failures) == 1:
            raise ConnectionError
        return "completed"

    failures: list[int] = []

    class Flaky(BatchServer):
        def _asked(self, batch: Any) -> Fault:
            try:
                return super()._asked(batch)
            except ConnectionError:
                return error(503, "Overloaded.")

    with running(Flaky(echo, None, fate, 0.0)) as server:
        code, err = run.finish(server.url)
    assert code == 0 and "Overloaded. Trying again until it works." in err
    assert server.ordinary == 1
