"""A cluster of two nodes, and a run on it that several tests look at."""

import logging
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from standins.ray_batch import MEMORY, Batch

INSTALL = "Ray is not installed: pip install -e '.[ray]'"


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Two nodes with a CPU each. They have no configuration and no keys."""
    pytest.importorskip("ray", reason=INSTALL)
    from ray.cluster_utils import Cluster

    node = tmp_path_factory.mktemp("node")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        for name in [name for name in os.environ if name.startswith("RQA_")]:
            patch.delenv(name)
        for name in ("CONFIG", "DATA", "CACHE"):
            patch.setenv(f"RQA_{name}_DIR", str(node / name.lower()))
        logging.getLogger("ray").setLevel(logging.ERROR)
        head = {"num_cpus": 1, "include_dashboard": False, "object_store_memory": MEMORY}
        started = Cluster(initialize_head=True, head_node_args=head)
        started.add_node(num_cpus=1, object_store_memory=MEMORY)
    yield started
    started.shutdown()


@pytest.fixture
def batch(cluster: Any, tmp_path: Path) -> Batch:
    return Batch(tmp_path, cluster.address)


@pytest.fixture(scope="session")
def first_run(cluster: Any, tmp_path_factory: pytest.TempPathFactory) -> Batch:
    """A finished run over 50 rows, of which row 30 failed. The rows wait until both workers have some."""
    batch = Batch(tmp_path_factory.mktemp("run"), cluster.address)
    rows = [f"meet {batch.folder}/met {n}" for n in range(50)]
    rows[29] = "crash"
    batch.write(rows)
    with pytest.MonkeyPatch.context() as patch:  # no index or configuration of the developer's
        for name in ("CONFIG", "DATA", "CACHE"):
            patch.setenv(f"RQA_{name}_DIR", str(tmp_path_factory.mktemp("world") / name.lower()))
        code, err = batch.run("--details")
    assert code == 3, err
    return batch


@pytest.fixture
def finished(first_run: Batch, tmp_path: Path) -> Batch:
    """A copy of that run."""
    shutil.copytree(first_run.folder, tmp_path, dirs_exist_ok=True)
    return Batch(tmp_path, first_run.address)
