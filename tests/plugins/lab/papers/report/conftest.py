from pathlib import Path

import pytest
from standins.eval_run import write_run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The folder of a finished run with six questions of each of two sets."""
    return write_run(tmp_path / "run")
