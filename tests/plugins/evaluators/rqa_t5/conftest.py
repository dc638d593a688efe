from __future__ import annotations

from pathlib import Path

import pytest
from standins.tiny_t5 import write_model


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a model with random weights. Do not change it."""
    return write_model(tmp_path_factory.mktemp("t5") / "model")


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A model folder that a test may change."""
    return write_model(tmp_path / "model")
