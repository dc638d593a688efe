"""The engine: marks, cache and checks of the model's files."""

from __future__ import annotations

import json
from itertools import cycle, islice
from pathlib import Path

import numpy as np
import pytest
from standins.tiny_bert import WORDS

from robust_qa import MissingError
from rqa_embedded import engine as engine_module
from rqa_embedded.engine import CHECKSUMS, CachingEngine, Engine, Marks


def windows(*lengths: int) -> list[tuple[list[int], list[int]]]:
    """Windows of these lengths in tokens."""
    some = range(4, len(WORDS))
    return [([2, *islice(cycle(some), n), 3], [0] * (n + 2)) for n in lengths]


def test_marks_do_not_depend_on_the_batch(engine):
    together = engine.mark(windows(3, 14, 7))
    for one, marks in zip(windows(3, 14, 7), together, strict=True):
        single = engine.mark([one])[0]
        assert len(marks.start) == len(one[0])
        np.testing.assert_allclose(marks.start, single.start, atol=1e-4)
        np.testing.assert_allclose(marks.end, single.end, atol=1e-4)
        assert marks.answered == pytest.approx(single.answered, abs=1e-4)


def test_token_types_count(engine):
    ids, types = windows(8)[0]
    first, second = engine.mark([(ids, types), (ids, [0] * 4 + [1] * 6)])
    assert not np.allclose(first.start, second.start, atol=1e-3)


def test_no_windows_give_no_marks(engine):
    assert engine.mark([]) == []


def test_recent_windows_are_cached(folder: Path, monkeypatch: pytest.MonkeyPatch):
    read: list[list[int]] = []

    def mark(self: Engine, some: list[tuple[list[int], list[int]]]) -> list[Marks]:
        read.append([len(ids) for ids, _ in some])
        return plain(self, some)

    plain = Engine.mark
    monkeypatch.setattr(Engine, "mark", mark)
    monkeypatch.setattr(engine_module, "_CACHE_SIZE", 2)
    engine = CachingEngine(folder, 1)
    three, nine, five = windows(3, 9, 5)
    first = engine.mark([three, nine, three])
    assert engine.mark([nine, three]) == [first[1], first[0]]
    assert first[0] is first[2]
    engine.mark([(three[0], [0, 0, 1, 1, 1])])  # other types, another window
    engine.mark([five, three])
    assert read == [[5, 11], [], [5], [7, 5]]


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


@pytest.mark.parametrize("name", ["model.bin", "heads.npz", "tokenizer.json", "reader.json", CHECKSUMS])
def test_missing_file_is_an_error_with_a_hint(folder: Path, name: str):
    (folder / name).unlink()
    with pytest.raises(MissingError, match="incomplete") as caught:
        Engine(folder, 1)
    assert "rqa train reader" in caught.value.hint


@pytest.mark.parametrize("name", ["model.bin", "heads.npz", "tokenizer.json", "reader.json"])
def test_a_damaged_file_is_named(folder: Path, name: str):
    damaged = bytearray((folder / name).read_bytes())
    damaged[len(damaged) // 2] ^= 0xFF
    (folder / name).write_bytes(damaged)
    with pytest.raises(MissingError, match=f"{name} is damaged"):
        Engine(folder, 1)


def test_invalid_checksums_are_an_error(folder: Path):
    (folder / CHECKSUMS).write_text(json.dumps([1, 2]))
    with pytest.raises(MissingError, match="incomplete"):
        Engine(folder, 1)


def test_invalid_settings_are_an_error(folder: Path):
    from rqa_embedded.engine import file_digest

    (folder / "reader.json").write_text("{}")
    listing = json.loads((folder / CHECKSUMS).read_text())
    (folder / CHECKSUMS).write_text(json.dumps({**listing, "reader.json": file_digest(folder / "reader.json")}))
    with pytest.raises(MissingError, match="Cannot load"):
        Engine(folder, 1)
