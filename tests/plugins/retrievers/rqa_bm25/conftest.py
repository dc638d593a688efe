from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from standins.reading import FORMATS

from rqa_bm25 import Bm25


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """A folder for the documents of one test."""
    folder = tmp_path / "docs"
    folder.mkdir()
    return folder


@pytest.fixture
def bm25(tmp_path: Path) -> Callable[..., Bm25]:
    """Return a function that makes retrievers for one index."""
    return lambda **options: Bm25(Bm25.Options(index=tmp_path / "index", **options), formats=FORMATS)
