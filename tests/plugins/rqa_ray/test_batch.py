"""`rqa batch --engine ray` on a cluster of two nodes."""

import hashlib
import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from standins.ray_batch import MEMORY, Batch

SHARDS = ("-O", "engine.ray.shard_rows=20")


def questions(count: int, work: str = "q") -> list[str]:
    return [f"{work} {n}" for n in range(count)]


def test_the_shards_have_every_row_once_and_in_order(batch: Batch) -> None:
    batch.write(questions(50))
    code, err = batch.run(*SHARDS)
    assert code == 0, err
    assert "50 rows in" in err and "rows/s" in err
    assert batch.finished == ["part-000000.jsonl", "part-000001.jsonl", "part-000002.jsonl"]
    assert [(row["row"], row["answer"]) for row in batch.rows] == [(n + 1, f"q {n}") for n in range(50)]


def test_the_manifest_identifies_input_configuration_and_shards(batch: Batch) -> None:
    batch.write(questions(30))
    assert batch.run(*SHARDS)[0] == 0
    manifest = batch.manifest
    assert manifest["state"]["input"] == hashlib.sha256((batch.folder / "in.jsonl").read_bytes()).hexdigest()
    assert manifest["state"]["configuration"] == {"defaults.strategy": "scripted"}
    assert [shard["rows"] for shard in manifest["shards"].values()] == [20, 10]
    for shard in manifest["shards"].values():
        assert shard["sha256"] == hashlib.sha256((batch.folder / "out" / shard["name"]).read_bytes()).hexdigest()


def test_both_nodes_work_and_each_worker_keeps_one_session(mortal: Batch) -> None:
    mortal.write(questions(300))
    assert mortal.run("--details")[0] == 0
    pids = [row["details"]["pid"] for row in mortal.rows]
    assert len(set(pids)) == 2


def test_a_killed_worker_loses_no_row_and_no_row_is_there_twice(mortal: Batch) -> None:
    mortal.write([f"die {mortal.folder}/grave" if n == 150 else f"q {n}" for n in range(300)])
    code, err = mortal.run(*SHARDS)
    assert (code, (mortal.folder / "grave").exists()) == (0, True), err
    assert "was lost" in err
    assert [row["row"] for row in mortal.rows] == list(range(1, 301))


def test_a_row_that_kills_every_worker_stops_the_run(mortal: Batch) -> None:
    mortal.write([*questions(60), "perish"])
    code, err = mortal.run(*SHARDS)
    assert code == 5
    assert "3 workers ended while they answered rows" in err and "--resume" in err
    assert {row["row"] for row in mortal.rows} <= set(range(1, 61))


def test_a_removed_node_loses_no_row_and_no_row_is_there_twice(cluster: Any, batch: Batch) -> None:
    node = cluster.add_node(num_cpus=4, object_store_memory=MEMORY)
    batch.write(questions(600, "sleep 0.1"))
    with batch.start(*SHARDS, "-j", "48", "--workers", "6") as process:
        batch.wait_for_shards(process, 5)
        cluster.remove_node(node, allow_graceful=False)
        _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "was lost" in err
    assert [row["row"] for row in batch.rows] == list(range(1, 601))


def test_a_killed_command_continues_with_the_unfinished_shards(batch: Batch) -> None:
    log = ("-O", f"strategy.scripted.log={batch.folder}/asked")
    batch.write(questions(200, "sleep 0.05"))
    with batch.start(*SHARDS, *log) as process:
        batch.wait_for_shards(process, 3)
        process.kill()
    kept = {row["question"] for row in batch.rows}
    time.sleep(1)  # until the workers of the killed command have ended
    (batch.folder / "asked").unlink()
    code, err = batch.run(*SHARDS, *log, "--resume")
    assert code == 0, err
    assert f"{len(kept)} were done before" in err
    assert kept.isdisjoint(batch.asked)
    assert [row["row"] for row in batch.rows] == list(range(1, 201))


def test_ctrl_c_keeps_the_finished_shards(batch: Batch) -> None:
    batch.write(questions(400, "sleep 0.05"))
    with batch.start(*SHARDS) as process:
        batch.wait_for_shards(process, 2)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "continue with: rqa" in err and "--resume" in err
    assert len(batch.finished) >= 2
    code, err = batch.run(*SHARDS, "--resume")
    assert code == 0, err
    assert [row["row"] for row in batch.rows] == list(range(1, 401))


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        (["-O", "strategy.scripted.tone=warm"], "strategy.scripted.tone"),
        (["-O", "engine.ray.shard_rows=10"], "shard_rows"),
        (["-O", "engine.ray.format=parquet"], "format"),
    ],
)
def test_a_resume_under_other_settings_is_refused(batch: Batch, changed: list[str], named: str) -> None:
    batch.write(questions(5))
    assert batch.run(*SHARDS)[0] == 0
    code, err = batch.run(*SHARDS, *changed, "--resume")
    assert code == 2
    assert "cannot be continued" in err and f"`{named}` was" in err


def test_a_resume_with_another_input_is_refused(batch: Batch) -> None:
    batch.write(questions(5))
    assert batch.run()[0] == 0
    batch.write(questions(6))
    code, err = batch.run("--resume")
    assert code == 2 and "the input has changed" in err


def test_answers_are_replaced_only_with_force(batch: Batch) -> None:
    batch.write(questions(50))
    assert batch.run(*SHARDS)[0] == 0
    batch.write(["other"])
    code, err = batch.run(*SHARDS)
    assert code == 2 and "already has answers" in err
    assert batch.run(*SHARDS, "--force")[0] == 0
    assert [row["answer"] for row in batch.rows] == ["other"]
    assert sorted(path.name for path in (batch.folder / "out").glob("*.jsonl")) == ["part-000000.jsonl"]


def test_failed_rows_are_retried_alone(batch: Batch) -> None:
    log = ("-O", f"strategy.scripted.log={batch.folder}/asked")
    batch.write(["good", "crash", "better"])
    code, err = batch.run(*log)
    assert code == 3 and "failed rows: 1" in err
    (batch.folder / "asked").unlink()
    assert batch.run(*log, "--retry-failed")[0] == 3
    assert batch.asked == {"crash": 1}
    assert [row["row"] for row in batch.rows] == [1, 2, 3]


def test_one_file_has_the_same_rows_as_the_local_engine_and_each_continues_the_other(batch: Batch) -> None:
    batch.write(questions(40))
    assert batch.run(engine="local", out="local.jsonl")[0] == 0
    lines = (batch.folder / "local.jsonl").read_bytes().splitlines(keepends=True)
    assert batch.run(out="ray.jsonl")[0] == 0

    def untimed(name: str) -> list[dict[str, Any]]:
        rows = [json.loads(line) for line in (batch.folder / name).read_bytes().splitlines()]
        return [{**row, "seconds": 0} for row in rows]

    assert untimed("ray.jsonl") == untimed("local.jsonl")
    (batch.folder / "local.jsonl").write_bytes(b"".join(lines[5:20]))
    code, err = batch.run("--resume", out="local.jsonl")
    assert code == 0 and "15 were done before" in err
    assert untimed("local.jsonl") == untimed("ray.jsonl")


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


def test_a_folder_and_a_url_are_read_in_the_order_of_names(batch: Batch) -> None:
    (batch.folder / "in").mkdir()
    (batch.folder / "in" / "b.jsonl").write_text("third\n\nfourth\n")
    (batch.folder / "in" / "a.jsonl").write_text("first\nsecond\n")
    (batch.folder / "in" / "notes.md").write_text("not a row\n")
    url = f"file://{batch.folder}"
    code, err = batch.run(source=f"{url}/in", out=f"{url}/out")
    assert code == 0, err
    assert [(row["row"], row["answer"]) for row in batch.rows] == [
        (1, "first"),
        (2, "second"),
        (3, "third"),
        (5, "fourth"),
    ]


def test_fields_are_copied_byte_for_byte(batch: Batch) -> None:
    (batch.folder / "in.jsonl").write_text('{"question": "q", "big": 12345678901234567890123, "one": 1.0}\n')
    assert batch.run()[0] == 0
    (line,) = (batch.folder / "out" / "part-000000.jsonl").read_text().splitlines()
    assert '"big":12345678901234567890123' in line and '"one":1.0' in line


@pytest.mark.parametrize(("source", "out", "named"), [("-", "out/", "standard input"), ("in.jsonl", "-", "-o FILE")])
def test_streams_are_refused(batch: Batch, source: str, out: str, named: str) -> None:
    batch.write(["q"])
    code, err = batch.run(source=source, out=out)
    assert code == 2 and named in err


def test_two_commands_cannot_write_one_folder(batch: Batch) -> None:
    batch.write(questions(100, "sleep 0.2"))
    with batch.start(*SHARDS) as process:
        while not (batch.folder / "out" / "manifest.json").exists():
            time.sleep(0.02)
        code, err = batch.run(*SHARDS, "--resume")
        process.kill()
    assert code == 1 and "Another process is writing" in err


def test_without_an_address_the_run_has_a_cluster_of_its_own(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="Ray is not installed: pip install -e '.[ray]'")
    batch = Batch(tmp_path, address="")
    batch.write(questions(20))
    code, err = batch.run("--workers", "2")
    assert code == 0, err
    assert [line.partition(" in ")[0] for line in err.splitlines()] == ["rqa: 20 rows"]
    assert len(batch.rows) == 20
