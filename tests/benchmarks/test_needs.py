"""What a benchmark needs beside `.[dev]` is told before any of them is run."""

import re
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
MORE = re.compile(r"^ *(import|from) (torch|bm25s|rqa_eor\.search)", re.MULTILINE)  # the last one imports SciPy


@pytest.mark.parametrize("script", sorted(BENCHMARKS.glob("*.py")), ids=lambda script: script.name)
def test_a_benchmark_that_needs_more_is_named_first_of_all(script: Path) -> None:
    first = (BENCHMARKS / "README.md").read_text("utf-8").split("\n## ")[0]
    assert (f"`{script.name}`" in first) == bool(MORE.search(script.read_text("utf-8")))
