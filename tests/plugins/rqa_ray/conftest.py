"""A cluster of two nodes."""

import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from standins.ray_batch import MEMORY, MORTAL, Batch

INSTALL = "Ray is not installed: pip install -e '.[ray]'"


@pytest.fixture(scope="module")
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
        try:
            yield started
        finally:
            started.shutdown()


@pytest.fixture
def batch(cluster: Any, tmp_path: Path) -> Batch:
    return Batch(tmp_path, cluster.address)


@pytest.fixture
def mortal(cluster: Any, tmp_path: Path) -> Batch:
    """The same with a strategy that can end its worker."""
    (tmp_path / "mortal.py").write_text(MORTAL)
    return Batch(tmp_path, cluster.address, tmp_path / "mortal.py", "mortal")
