"""The retriever `hybrid`, with the packaged embedder."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from standins.embedder import CAR, PANDA, Handle, write_documents
from standins.reading import FORMATS

from robust_qa import IndexReport
from rqa_bm25 import Hybrid
from rqa_bm25.vectors import Vectors


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write_documents(tmp_path / "docs")


@pytest.fixture
def hybrid(tmp_path: Path) -> Callable[..., Hybrid]:
    def build(handle: Handle | None = None, **options: object) -> Hybrid:
        return Hybrid(Hybrid.Options(index=tmp_path / "index", **options), embedder=handle or Handle(), formats=FORMATS)  # type: ignore[arg-type]

    return build


def index(retriever: Hybrid, *paths: Path) -> IndexReport:
    report = retriever.index(paths)
    return report if isinstance(report, IndexReport) else asyncio.run(awaited(report))


async def awaited(report: object) -> IndexReport:
    found: IndexReport = await report  # type: ignore[misc]
    return found


def ask(retriever: Hybrid, query: str, k: int = 3) -> list[str]:
    return [passage.text for passage in asyncio.run(retriever.retrieve(query, k))]


def test_a_passage_is_found_by_other_words(docs: Path, hybrid: Callable[..., Hybrid]) -> None:
    index(hybrid(), docs)
    assert ask(hybrid(mode="bm25"), "vehicle trouble") == []
    assert ask(hybrid(), "vehicle trouble", 1) == [CAR]
    assert ask(hybrid(mode="dense"), "vehicle trouble", 1) == [CAR]


def test_the_score_is_the_sum_of_reciprocal_ranks(docs: Path, hybrid: Callable[..., Hybrid]) -> None:
    index(hybrid(), docs)
    [best, *_] = asyncio.run(hybrid().retrieve("How long does a panda eat bamboo?", 3))
    assert best.text == PANDA
    assert best.score == pytest.approx(2 / 6)


def test_only_new_passages_are_embedded(docs: Path, hybrid: Callable[..., Hybrid]) -> None:
    index(hybrid(), docs)
    (docs / "tea.txt").write_text("Green tea needs water below boiling.")
    handle = Handle()
    index(hybrid(handle), docs)
    assert [text.rpartition(": ")[2] for text in handle.embedded] == ["Green tea needs water below boiling."]


def test_a_removed_file_is_not_found_by_its_vector(docs: Path, hybrid: Callable[..., Hybrid]) -> None:
    index(hybrid(), docs)
    (docs / "car.txt").unlink()
    index(hybrid(), docs)
    assert CAR not in ask(hybrid(), "vehicle trouble")


def test_an_interrupted_run_keeps_its_vectors_and_says_how_many_are_missing(
    docs: Path, hybrid: Callable[..., Hybrid], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rqa_bm25.hybrid._BATCH", 1)

    class Failing(Handle):
        async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            if len(self.embedded) == 2:
                raise OSError("no more")
            return await super().embed(texts)

    with pytest.raises(OSError, match="no more"):
        index(hybrid(Failing()), docs)
    assert hybrid().unembedded() == 1
    handle = Handle()
    index(hybrid(handle), docs)
    assert len(handle.embedded) == 1 and hybrid().unembedded() == 0
    assert ask(hybrid(), "vehicle trouble", 1) == [CAR]


def test_vectors_of_another_embedder_are_not_searched_but_replaced(docs: Path, hybrid: Callable[..., Hybrid]) -> None:
    index(hybrid(), docs)
    other = Handle("b")
    assert ask(hybrid(other, mode="dense"), "vehicle trouble") == []
    assert "Make them again with `rqa index`" in hybrid(other).refresh().advice  # type: ignore[union-attr]
    index(hybrid(other), docs)
    assert not hybrid(other).refresh().advice  # type: ignore[union-attr]
    assert len(other.embedded) == 1 + 3
    assert ask(hybrid(other, mode="dense"), "vehicle trouble", 1) == [CAR]


def test_quick_embeds_only_what_bm25_finds(docs: Path, tmp_path: Path, hybrid: Callable[..., Hybrid]) -> None:
    handle = Handle()
    index(hybrid(handle, quick=True), docs)
    assert not handle.embedded
    assert not len(Vectors(tmp_path / "index"))
    assert ask(hybrid(handle, quick=True), "panda", 1) == [PANDA]
    assert len(handle.embedded) == 2
    assert ask(hybrid(handle, quick=True), "panda", 1) == [PANDA]
    assert len(handle.embedded) == 3  # the question alone


def test_the_fingerprint_changes_with_the_vectors(docs: Path, hybrid: Callable[..., Hybrid]) -> None:
    index(hybrid(mode="bm25"), docs)
    without = hybrid().fingerprint()
    index(hybrid(), docs)
    ours = hybrid().fingerprint()
    index(hybrid(Handle("b")), docs)
    assert len({without, ours, hybrid().fingerprint()}) == 3


def test_the_index_of_bm25_works_without_vectors(docs: Path, hybrid: Callable[..., Hybrid]) -> None:
    index(hybrid(mode="bm25"), docs)
    assert ask(hybrid(), "panda", 1) == [PANDA]


def test_words_alone_rank_for_a_question_in_a_language_that_the_embedder_does_not_know(tmp_path, hybrid):
    text = "Der Leuchtturm wurde im Jahr 1910 von Ada Quill gebaut."
    (tmp_path / "turm.txt").write_text(text)
    (tmp_path / "haus.txt").write_text("Das alte Haus am Hafen steht seit vielen Jahren leer.")
    handle = Handle()
    retriever = hybrid(handle)
    index(retriever, tmp_path / "turm.txt", tmp_path / "haus.txt")
    handle.embedded.clear()
    found = asyncio.run(retriever.retrieve("In welchem Jahr wurde der Leuchtturm gebaut?", 5))
    assert (found[0].text, handle.embedded) == (text, [])
    asyncio.run(retriever.retrieve("In which year was the lighthouse built?", 5))
    assert handle.embedded
