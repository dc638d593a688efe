"""What the correction benchmark takes away, and what it searches."""

from __future__ import annotations

import importlib.util
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def correction(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(BENCHMARKS)  # as for a script that is run
    spec = importlib.util.spec_from_file_location("correction_benchmark", BENCHMARKS / "correction.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ROWS = [
    {"question": "?", "answers": ["Paris"], "passages": [f"Paris, {n}." for n in range(4)] + ["Rome."]},
    {
        "question": "?",
        "answers": [["Ada"], ["1815"]],
        "passages": [{"title": "Ada", "text": "1815."}, {"text": "1815."}],
    },
]


def texts(rows: list[dict[str, list[object]]]) -> list[str]:
    return [str(passage) for row in rows for passage in row["passages"]]


def test_only_passages_that_hold_an_answer_are_taken_away(correction: ModuleType) -> None:
    assert texts(correction.removed(ROWS, 0)) == texts(ROWS)  # type: ignore[arg-type]
    assert texts(correction.removed(ROWS, 100)) == ["Rome.", "{'text': '1815.'}"]


def test_what_is_taken_at_a_smaller_share_is_taken_at_a_larger_one(correction: ModuleType) -> None:
    left = [set(texts(correction.removed(ROWS, share))) for share in (20, 40, 60, 80)]
    assert [len(some) for some in left] == [6, 5, 4, 3]
    assert all(more > fewer for more, fewer in pairwise(left))


def test_the_search_has_every_title_with_its_text_once(correction: ModuleType) -> None:
    found = [(row["title"], row["text"]) for row in correction.results([*ROWS, *ROWS])]
    assert found == [*(("", f"Paris, {n}.") for n in range(4)), ("", "Rome."), ("Ada", "1815."), ("", "1815.")]
