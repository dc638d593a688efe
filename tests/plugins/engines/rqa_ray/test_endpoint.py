"""Workers that ask an endpoint: its faults, limits of the whole cluster, and keys."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from standins.openai import Server, error, serve
from standins.ray_batch import Batch

SECRET = "sk-only-on-the-machine-of-the-command"
Rqa = Callable[..., Any]


def asking(server: Server, *settings: str) -> list[str]:
    options = ["plugin=openai", f"base_url={server.url}", "model=m", *settings]
    return ["--reader", "far", *(part for option in options for part in ("-O", f"reader.far.{option}"))]


@pytest.fixture
def norag(cluster: Any, tmp_path: Path) -> Batch:
    """A batch of questions to a language model."""
    return Batch(tmp_path, cluster.address, strategy="norag")


def write(batch: Batch, count: int) -> None:
    batch.write([f"Who is number {n}?" for n in range(count)])


def test_an_endpoint_with_a_fifth_of_faults_loses_no_row(norag: Batch) -> None:
    write(norag, 100)
    fault = error(503, headers={"Retry-After": "0"})
    with serve(lambda _, n: fault if n % 5 == 0 else "Answer: Ada") as server:
        code, err = norag.run(*asking(server), "-j", "16")
        asked = len(server.requests)
    assert code == 0, err
    assert [(row["row"], row["answer"]) for row in norag.rows] == [(n + 1, "Ada") for n in range(100)]
    assert asked == 125


def test_the_concurrency_limit_holds_for_all_workers_together(norag: Batch) -> None:
    write(norag, 60)
    with serve(lambda *_: "Answer: Ada", latency=0.02, gather=3) as server:
        code, err = norag.run(*asking(server, "concurrency=3"), "-j", "32")
        assert (code, server.peak) == (0, 3), err


def test_jobs_are_the_questions_in_flight_of_all_workers_together(norag: Batch) -> None:
    write(norag, 60)
    with serve(lambda *_: "Answer: Ada", latency=0.02, gather=5) as server:
        code, err = norag.run(*asking(server), "-j", "5")
        assert (code, server.peak) == (0, 5), err


def test_the_rate_limit_holds_for_all_workers_together(norag: Batch) -> None:
    write(norag, 30)
    with serve(lambda *_: "Answer: Ada", gather=3) as server:
        code, err = norag.run(*asking(server, "rpm=600"), "-j", "4")
        times = sorted(request.started for request in server.requests)
    assert code == 0, err
    assert len(times) == 30
    windows = [sum(start <= time < start + 1.0 for time in times) for start in times]
    assert max(windows) <= 13  # 10 a second, and the first ones of two workers at once


def test_a_wrong_key_stops_the_run(norag: Batch) -> None:
    write(norag, 300)
    with serve(lambda *_: error(401, "Incorrect API key provided.")) as server:
        code, err = norag.run(*asking(server))
        asked = len(server.requests)
    assert code == 5 and "every further row would fail" in err
    assert asked < 300


def test_a_key_reaches_the_workers_and_no_file(cluster: Any, norag: Batch, rqa: Rqa) -> None:
    write(norag, 3)
    with serve(lambda *_: "Answer: Ada") as server:
        assert rqa("keys", "set", "work", "--host", server.url.removesuffix("/v1"), stdin=SECRET).code == 0
        code, err = norag.run(*asking(server, "key=work"))
        assert code == 0, err
        assert {request.headers["authorization"] for request in server.requests} == {f"Bearer {SECRET}"}
    folders = [norag.folder, Path(cluster.head_node.get_session_dir_path())]
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    assert any("worker" in path.name for path in files)
    assert [path for path in files if SECRET.encode() in path.read_bytes()] == []
    assert SECRET not in err


def test_an_untrusted_configuration_cannot_choose_a_cluster(rqa: Rqa) -> None:
    Path("rqa.toml").write_text('[engine.ray]\naddress = "203.0.113.9:6379"\n')
    Path("in.jsonl").write_text('{"question": "Who?"}\n')
    ended = rqa("batch", "in.jsonl", "-o", "out/", "--engine", "ray")
    assert ended.code == 2 and "`engine.ray.address`" in ended.err and "rqa config trust" in ended.err
