"""The tiny real model, in a folder of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from standins.tiny_bert import write_model

from rqa_embedded.engine import Engine


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_model(tmp_path / "model")


@pytest.fixture
def engine(folder: Path) -> Engine:
    return Engine(folder, 1)
