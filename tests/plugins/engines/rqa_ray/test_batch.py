"""`rqa batch --engine ray` on a cluster of two nodes."""

import hashlib
import json
import signal
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from standins.ray_batch import MEMORY, Batch

Rqa = Callable[..., Any]


def numbers(batch: Batch) -> list[int]:
    return [row["row"] for row in batch.rows]


def untimed(path: Path) -> list[dict[str, Any]]:
    return [{**json.loads(line), "seconds": 0} for line in path.read_bytes().splitlines()]


def test_the_shards_have_every_row_once_and_in_order(finished: Batch) -> None:
    assert finished.shards == ["part-000000.jsonl", "part-000001.jsonl", "part-000002.jsonl"]
    assert numbers(finished) == list(range(1, 51))
    assert finished.rows[49]["answer"].endswith("met 49") and finished.rows[29]["error"]


def test_both_nodes_work_and_each_worker_keeps_one_session(finished: Batch) -> None:
    assert len({row["details"]["pid"] for row in finished.rows if "details" in row}) == 2


def test_the_manifest_identifies_input_configuration_and_shards(finished: Batch) -> None:
    state, shards = finished.manifest["state"], finished.manifest["shards"].values()
    assert state["input"] == hashlib.sha256((finished.folder / "in.jsonl").read_bytes()).hexdigest()
    assert state["configuration"] == {"defaults.strategy": "mortal"}
    assert [(shard["rows"], shard["failed"]) for shard in shards] == [(20, 0), (20, 1), (10, 0)]
    for shard in shards:
        assert shard["sha256"] == hashlib.sha256((finished.folder / "out" / shard["name"]).read_bytes()).hexdigest()


def test_a_killed_worker_loses_no_row_and_no_row_is_there_twice(batch: Batch) -> None:
    batch.write([f"die {batch.folder}/grave" if n == 60 else f"q {n}" for n in range(120)])
    code, err = batch.run()
    assert (code, (batch.folder / "grave").exists()) == (0, True), err
    assert "was lost" in err
    assert numbers(batch) == list(range(1, 121))


def test_a_row_that_ends_every_worker_stops_the_run(batch: Batch) -> None:
    batch.write([*(f"q {n}" for n in range(40)), "perish"])
    code, err = batch.run()
    assert code == 5
    assert "3 workers ended while they answered rows" in err and "--resume" in err
    assert set(numbers(batch)) <= set(range(1, 41))


def test_a_removed_node_loses_no_row_and_no_row_is_there_twice(cluster: Any, batch: Batch) -> None:
    node = cluster.add_node(num_cpus=2, object_store_memory=MEMORY)
    batch.write([f"sleep 0.1 {n}" for n in range(400)])
    with batch.start("-j", "24", "-O", "engine.ray.workers=4") as process:
        batch.wait_for_shards(process, 5)
        cluster.remove_node(node, allow_graceful=False)
        _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "was lost" in err
    assert numbers(batch) == list(range(1, 401))


def test_a_killed_command_continues_with_the_unfinished_shards(batch: Batch) -> None:
    log = ("-O", f"strategy.mortal.log={batch.folder}/asked")
    batch.write([f"sleep 0.05 {n}" for n in range(160)])
    with batch.start(*log) as process:
        batch.wait_for_shards(process, 3)
        process.kill()
    kept = {row["question"] for row in batch.rows}
    time.sleep(1)  # until the workers of the killed command have ended
    (batch.folder / "asked").unlink()
    code, err = batch.run(*log, "--resume")
    assert code == 0, err
    assert f"{len(kept)} were done before" in err
    assert kept.isdisjoint(batch.asked)
    assert numbers(batch) == list(range(1, 161))


def test_ctrl_c_keeps_the_finished_shards(batch: Batch) -> None:
    batch.write([f"sleep 0.05 {n}" for n in range(400)])
    with batch.start() as process:
        batch.wait_for_shards(process, 2)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "continue with: rqa" in err and "--resume" in err
    assert len(batch.shards) >= 2


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ("strategy.mortal.tone=warm", "`strategy.mortal.tone` was"),
        ("engine.ray.shard_rows=10", "`shard_rows` was"),
        ("engine.ray.format=parquet", "`format` was"),
    ],
)
def test_a_resume_under_other_settings_is_refused(finished: Batch, rqa: Rqa, changed: str, named: str) -> None:
    ended = rqa(*finished.command("-O", changed, "--resume"))
    assert ended.code == 2
    assert "cannot be continued" in ended.err and named in ended.err


def test_a_resume_with_another_input_is_refused(finished: Batch, rqa: Rqa) -> None:
    finished.write(["other"])
    ended = rqa(*finished.command("--resume"))
    assert ended.code == 2 and "the input has changed" in ended.err


def test_answers_are_replaced_only_with_force(finished: Batch, rqa: Rqa) -> None:
    finished.write(["other"])
    ended = rqa(*finished.command())
    assert ended.code == 2 and "already has answers" in ended.err
    assert finished.run("--force")[0] == 0
    assert [row["answer"] for row in finished.rows] == ["other"]
    assert sorted(path.name for path in (finished.folder / "out").glob("*.jsonl")) == ["part-000000.jsonl"]


def test_only_failed_rows_are_retried(finished: Batch) -> None:
    code, err = finished.run("--retry-failed", "--details")
    assert code == 3 and "1 row in" in err and "49 were done before" in err and "failed rows: 1" in err
    assert numbers(finished) == list(range(1, 51))


def test_one_file_has_the_rows_of_the_local_engine_and_each_continues_the_other(batch: Batch, rqa: Rqa) -> None:
    rows = [f'{{"question": "q {n}", "big": 12345678901234567890123, "one": 1.0}}\n' for n in range(40)]
    (batch.folder / "in.jsonl").write_text("".join(rows))
    local, ray = batch.folder / "local.jsonl", batch.folder / "ray.jsonl"
    assert rqa(*batch.command(engine="local", out=local)).code == 0
    ray.write_bytes(b"".join(local.read_bytes().splitlines(keepends=True)[5:20]))
    (batch.folder / "ray.jsonl.state.json").write_bytes((batch.folder / "local.jsonl.state.json").read_bytes())
    code, err = batch.run("--resume", out=ray)
    assert code == 0 and "25 rows in" in err and "15 were done before" in err
    assert untimed(ray) == untimed(local)
    assert "nothing to do" in rqa(*batch.command("--resume", engine="local", out=ray)).err


def test_parquet_in_and_out(batch: Batch) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow

    table = pyarrow.table({"id": [7, 8, 9], "question": ["a", "b", "crash"], "kind": ["x", None, "y"]})
    parquet.write_table(table, batch.folder / "in.parquet")
    assert batch.run("-O", "engine.ray.format=parquet", source="in.parquet")[0] == 3
    found = parquet.read_table(batch.folder / "out" / "part-000000.parquet").to_pylist()
    assert [(row["row"], row["id"], row["answer"], row["error"]) for row in found] == [
        (1, "7", "a", None),
        (2, "8", "b", None),
        (3, "9", None, "PluginError"),
    ]
    assert json.loads(found[0]["line"])["kind"] == "x"


def test_the_files_of_a_folder_are_read_in_the_order_of_names(batch: Batch) -> None:
    (batch.folder / "in").mkdir()
    (batch.folder / "in" / "b.jsonl").write_text('{"question": "third"}\n\n{"question": "fourth"}\n')
    (batch.folder / "in" / "a.jsonl").write_text('{"question": "first"}\n{"question": "second"}\n')
    (batch.folder / "in" / "notes.md").write_text("not a row\n")
    code, err = batch.run(source="in", out=f"file://{batch.folder}/out")
    assert code == 0, err
    answers = [(row["row"], row["answer"]) for row in batch.rows]
    assert answers == [(1, "first"), (2, "second"), (3, "third"), (5, "fourth")]


def test_an_object_store_is_read_and_written(batch: Batch) -> None:
    store = """
import atexit, fsspec, sys
store = fsspec.filesystem("memory")
store.pipe("/bucket/in/a.jsonl", b'{"question": "first"}\\n{"question": "second"}\\n')
atexit.register(lambda: sys.stderr.buffer.write(store.cat("/bucket/out/part-000000.jsonl")))
"""
    code, err = batch.run(source="memory://bucket/in/*.jsonl", out="memory://bucket/out", before=store)
    assert code == 0, err
    assert [json.loads(line)["answer"] for line in err.splitlines()[-2:]] == ["first", "second"]


@pytest.mark.parametrize(("source", "out", "named"), [("-", "", "standard input"), ("", "-", "-o FILE")])
def test_streams_are_refused(batch: Batch, rqa: Rqa, source: str, out: str, named: str) -> None:
    batch.write(["q"])
    ended = rqa(*batch.command(source=source, out=out), stdin="q\n")
    assert ended.code == 2 and named in ended.err


def test_two_commands_cannot_write_one_folder(batch: Batch, rqa: Rqa) -> None:
    batch.write([f"sleep 0.2 {n}" for n in range(100)])
    with batch.start() as process:
        while not (batch.folder / "out" / "manifest.json").exists():
            time.sleep(0.02)
        ended = rqa(*batch.command("--resume"))
        process.kill()
    assert ended.code == 1 and "Another process is writing" in ended.err


@pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed: pip install -e '.[ray]'")
def test_without_an_address_the_run_has_a_cluster_of_its_own(tmp_path: Path) -> None:
    batch = Batch(tmp_path, address="")
    batch.write([f"q {n}" for n in range(20)])
    code, err = batch.run("-O", "engine.ray.workers=2")
    assert code == 0, err
    assert [line.partition(" in ")[0] for line in err.splitlines()[1:]] == ["rqa: 20 rows"]
    assert len(batch.rows) == 20
