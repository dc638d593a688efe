from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest

collect_ignore_glob = [] if find_spec("rqa_train") else ["*"]  # pip install -e plugins/lab/train


@pytest.fixture(scope="session", autouse=True)
def torch_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Set the variable that torch would set in its first model."""
    with pytest.MonkeyPatch.context() as patch:
        if "TORCHINDUCTOR_CACHE_DIR" not in os.environ:
            patch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path_factory.mktemp("inductor")))
        yield


@pytest.fixture(scope="session")
def torch() -> Any:
    """torch, if transformers is installed too."""
    pytest.importorskip("transformers", reason="needs the extra [train]")
    return pytest.importorskip("torch", reason="needs the extra [train]")
