"""The file of vectors: what is written is found again, also after an interruption."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rqa_bm25.vectors import FILE, Vectors


def units(*rows: tuple[float, ...]) -> NDArray[np.float32]:
    found = np.array(rows, np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def key(number: int) -> bytes:
    return number.to_bytes(16, "big")


def write(folder: Path, keys: list[int], vectors: NDArray[np.float32], embedder: str = "a") -> None:
    writer = Vectors(folder)
    writer.begin(embedder, vectors.shape[1])
    writer.append([key(number) for number in keys], vectors)


def test_the_nearest_vectors_come_first(tmp_path: Path) -> None:
    write(tmp_path, [1, 2, 3], units((1, 0), (0, 1), (1, 1)))
    assert Vectors(tmp_path).nearest(units((1, 0.1))[0], 2) == [key(1), key(3)]


def test_a_scan_in_several_steps_finds_the_same_as_an_exact_sort(tmp_path: Path) -> None:
    vectors = np.random.default_rng(0).normal(size=(70_000, 4)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    write(tmp_path, list(range(len(vectors))), vectors)
    best = np.argsort(-(vectors @ vectors[69_999]))[:5]
    found = Vectors(tmp_path).nearest(vectors[69_999], 20)
    assert {key(int(number)) for number in best} <= set(found)


def test_a_later_run_appends(tmp_path: Path) -> None:
    write(tmp_path, [1], units((1, 0)))
    write(tmp_path, [2], units((0, 1)))
    assert Vectors(tmp_path).keys() == {key(1), key(2)}


def test_half_a_record_of_an_interrupted_run_is_overwritten(tmp_path: Path) -> None:
    write(tmp_path, [1, 2], units((1, 0), (0, 1)))
    whole = (tmp_path / FILE).read_bytes()
    (tmp_path / FILE).write_bytes(whole[:-5])
    assert Vectors(tmp_path).keys() == {key(1)}
    write(tmp_path, [3], units((0, 1)))
    assert Vectors(tmp_path).nearest(units((0, 1))[0], 2) == [key(3), key(1)]


def test_vectors_of_another_embedder_are_removed(tmp_path: Path) -> None:
    write(tmp_path, [1], units((1, 0)))
    write(tmp_path, [2], units((1, 0, 0)), embedder="b")
    assert Vectors(tmp_path).keys() == {key(2)}


def test_vectors_of_removed_passages_are_dropped_once_they_are_many(tmp_path: Path) -> None:
    write(tmp_path, [1, 2, 3], units((1, 0), (0, 1), (1, 1)))
    Vectors(tmp_path).finish({key(2)}, "later")
    found = Vectors(tmp_path)
    assert found.keys() == {key(2)}
    assert found.header is not None
    assert found.header.complete == "later"


def test_a_damaged_file_counts_as_none(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"not a header")
    assert Vectors(tmp_path).header is None


def test_the_file_is_its_owners_alone(tmp_path: Path) -> None:
    write(tmp_path, [1], units((1, 0)))
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
