"""The engine: marks, cache and checks of the model's files."""

from __future__ import annotations

import json
from itertools import cycle, islice
from pathlib import Path

import numpy as np
import pytest
from standins.tiny_bert import WORDS

from robust_qa import MissingError
from rqa_embedded.engine import CHECKSUMS, Engine


def windows(*lengths: int) -> list[tuple[list[int], list[int]]]:
    """Windows of these lengths in tokens."""
    some = range(4, len(WORDS))
    return [([2, *islice(cycle(some), n), 3], [0] * (n + 2)) for n in lengths]


def test_marks_do_not_depend_on_the_number_of_workers(folder: Path):
    some = windows(*range(1, 40))
    for one, other in zip(Engine(folder, 1).mark(some), Engine(folder, 3).mark(some), strict=True):
        np.testing.assert_allclose(one.start, other.start, atol=1e-4)
        assert one.relevant == pytest.approx(other.relevant, abs=1e-4)


def test_lone_surrogate_keeps_offsets(engine):
    assert engine.tokens("ada \ud800 born")[1] == [(0, 3), (6, 10)]


def test_special_tokens_in_a_text_are_plain_text(engine):
    ids, places = engine.tokens("[SEP] ada [CLS]")
    assert not set(ids) & set(engine.ends)
    assert places[3] == (6, 9)


@pytest.mark.parametrize("name", ["model.bin", "reader.json", CHECKSUMS])
def test_missing_file_is_an_error_with_a_hint(folder: Path, name: str):
    (folder / name).unlink()
    with pytest.raises(MissingError, match="incomplete") as caught:
        Engine(folder, 1)
    assert "rqa train reader" in caught.value.hint


@pytest.mark.parametrize("name", ["model.bin", "reader.json"])
def test_a_damaged_file_is_named(folder: Path, name: str):
    damaged = bytearray((folder / name).read_bytes())
    damaged[len(damaged) // 2] ^= 0xFF
    (folder / name).write_bytes(damaged)
    with pytest.raises(MissingError, match=f"{name} is damaged"):
        Engine(folder, 1)


def test_invalid_settings_are_an_error(folder: Path):
    from rqa_embedded.engine import file_digest

    (folder / "reader.json").write_text("{}")
    listing = json.loads((folder / CHECKSUMS).read_text())
    (folder / CHECKSUMS).write_text(json.dumps({**listing, "reader.json": file_digest(folder / "reader.json")}))
    with pytest.raises(MissingError, match="Cannot load"):
        Engine(folder, 1)
