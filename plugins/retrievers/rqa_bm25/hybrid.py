"""Retriever `hybrid`: your own files, ranked by BM25 and by vectors, fused by rank."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from robust_qa import EmbedderName
from robust_qa.kit import fused, language_of_question, warn, with_title
from rqa_bm25.copies import without_copies
from rqa_bm25.retriever import Bm25

if TYPE_CHECKING:
    from robust_qa import EmbedderHandle, IndexProgress, IndexReport, Passage
    from rqa_bm25.index import Filter
    from rqa_bm25.vectors import Floats, Vectors
    from rqa_files import Formats

_DEPTH = 100  # passages of each ranking that are fused
_QUICK_DEPTH = 30  # with `quick`: passages that are embedded for a query
_BATCH = 256  # passages embedded at once, and then written
_QUICK_EMBEDDED = 512  # passages that `refresh` embeds
_QUICK_INDEX = 50_000  # passages in an index whose vectors `refresh` updates
_OTHER_EMBEDDER = (
    "Another embedder, or another version of it, made the vectors of your index, so only words are searched. Make them "
    "again with `rqa index`."
)


class Hybrid(Bm25):
    """Searches an index of files on disk with BM25 and with vectors, and fuses the two rankings.

    `Passage.score` is the sum over both rankings of 1 / (5 + rank), with ranks from 1. BM25 alone ranks if the
    embedder does not know the language of the question.
    """

    @dataclass
    class Options(Bm25.Options):
        """The options of `bm25`, and how vectors are used."""

        mode: Literal["hybrid", "bm25", "dense"] = "hybrid"  # fuse both rankings, or use one alone
        embedder: EmbedderName | None = None  # default: the one in [defaults]
        # do not embed the files when they are indexed, but for each query the passages that BM25 finds first
        quick: bool = False

    def __init__(self, options: Options, *, embedder: EmbedderHandle, formats: Formats = ()) -> None:
        super().__init__(options, formats=formats)
        self._mode, self._quick, self._embedder = options.mode, options.quick, embedder
        self._vectors: tuple[str, Vectors] | None = None  # of a generation of the index
        self._left: tuple[str, set[bytes]] | None = None  # by the filter, of a generation of the index

    async def retrieve(self, query: str, k: int) -> list[Passage]:  # type: ignore[override]
        """Return the `k` best passages. Raises MissingError if there is no index or it is empty."""
        if self._mode == "bm25" or k <= 0:
            return await asyncio.to_thread(super().retrieve, query, k)
        depth = _QUICK_DEPTH if self._quick else max(k, _DEPTH)
        by_words = await asyncio.to_thread(self._index.search, query, depth, self._only)
        if self._quick and not by_words:
            return []
        if self._mode == "hybrid" and not await asyncio.to_thread(self._embedder_knows, query):
            return await asyncio.to_thread(self._marked, fused([by_words], k))
        if self._quick:
            by_meaning = await self._ranked(query, by_words)
        else:
            vector = await self._embedder.embed_query(query)
            by_meaning = await asyncio.to_thread(self._nearest, vector, max(k, _DEPTH))
        found = fused([by_words, by_meaning] if self._mode == "hybrid" else [by_meaning], 2 * depth)
        return await asyncio.to_thread(lambda: self._marked(without_copies(found, query, k)))

    def fingerprint(self) -> str:
        """Return the name of the newest commit, and which vectors are searched with it."""
        generation = super().fingerprint()
        if self._quick or self._mode == "bm25":
            return generation
        from rqa_bm25.vectors import Vectors

        header = Vectors(self._index.folder).header
        return f"{generation} {header.embedder} {header.complete == generation}" if header else generation

    async def _ranked(self, query: str, passages: list[Passage]) -> list[Passage]:
        """Return `passages` by their cosine to `query`. Their vectors stay in the index, for the next questions."""
        from rqa_bm25.index import key_of
        from rqa_bm25.vectors import Vectors

        by_key = {key_of(each.title, each.text): each for each in passages}
        vectors = Vectors(self._index.folder)
        known = vectors.keys_of(self._embedder.identity)
        new = [key for key in by_key if key not in known]
        vector = await self._embedder.embed_query(query)
        if new:
            texts = [with_title(by_key[key].title, by_key[key].text) for key in new]
            vectors = await asyncio.to_thread(self._keep, new, await self._embedder.embed(texts))
        return [by_key[key] for key in await asyncio.to_thread(vectors.nearest, vector, len(by_key), by_key.keys())]

    def _keep(self, keys: Sequence[bytes], found: Floats) -> Vectors:
        """Write vectors, and return all that are there. Waits while another process writes."""
        from rqa_bm25.vectors import Vectors

        with self._index.locked(wait=True), self._index.guarded("Writing"):
            vectors = Vectors(self._index.folder)
            vectors.begin(self._embedder.identity, found.shape[1])
            known = vectors.keys()
            rows = [n for n, key in enumerate(keys) if key not in known]
            vectors.append([keys[n] for n in rows], found[rows])
            return Vectors(self._index.folder)

    def _embedder_knows(self, query: str) -> bool:
        """Return whether the embedder knows the language of the query."""
        known = self._embedder.languages
        return known is None or language_of_question(query) in known

    def _nearest(self, vector: Floats, n: int) -> list[Passage]:
        """Return the `n` passages that are nearest to `vector`, none if the index has no vectors of this embedder."""
        from rqa_bm25.vectors import Vectors

        generation = self._index.generation()
        if self._vectors is None or self._vectors[0] != generation:
            vectors = Vectors(self._index.folder)
            if vectors.header is None or vectors.header.complete != generation:
                return self._with(vectors, vector, n)  # still being written: read it again for the next query
            self._vectors = generation, vectors
        return self._with(self._vectors[1], vector, n)

    def _with(self, vectors: Vectors, vector: Floats, n: int) -> list[Passage]:
        from rqa_bm25.index import Filter

        if vectors.header is None:
            return []
        if vectors.header.embedder != self._embedder.identity:
            warn(_OTHER_EMBEDDER)
            return []
        only = self._only
        among = self._keys(only) if only != Filter() else None
        return self._index.with_keys(vectors.nearest(vector, n, among), only)

    def _keys(self, only: Filter) -> set[bytes]:
        """Return the keys of the passages that the filter leaves."""
        generation = self._index.generation()
        if self._left is None or self._left[0] != generation:
            self._left = generation, {key for batch in self._index.batches(_BATCH, only) for key in batch}
        return self._left[1]

    def index(  # type: ignore[override]
        self, paths: Sequence[Path], progress: IndexProgress | None = None
    ) -> IndexReport | Awaitable[IndexReport]:
        """Update the index as `bm25` does, then embed the passages that have no vector yet.

        An interrupted run keeps the vectors that it has written. Vectors of another embedder are replaced.
        """
        report = super().index(paths, progress)
        return report if self._quick or self._mode == "bm25" or not report.passages else self._embed(report, progress)

    def unembedded(self) -> int:
        """Return how many passages have no vector, because indexing was interrupted."""
        from rqa_bm25.vectors import Vectors

        header = None if self._quick or self._mode == "bm25" else (vectors := Vectors(self._index.folder)).header
        if header is None or header.complete == self._index.generation():
            return 0
        return max(self._index.passages() - len(vectors), 0)

    def refresh(self) -> IndexReport | Awaitable[IndexReport]:  # type: ignore[override]
        """Update the index as `bm25` does, and its vectors if there are any and few are missing."""
        from rqa_bm25.vectors import Vectors

        report = super().refresh()
        header = None if self._quick or self._mode == "bm25" else Vectors(self._index.folder).header
        if header is None:
            return report
        if header.embedder != self._embedder.identity:
            return replace(report, advice="\n".join(filter(None, (report.advice, _OTHER_EMBEDDER))))
        if header.complete == self._index.generation():
            return report
        return self._embed(replace(report, passages=self._index.passages()), None, quick=True)

    async def _embed(self, report: IndexReport, progress: IndexProgress | None, *, quick: bool = False) -> IndexReport:
        from rqa_bm25.vectors import Vectors

        generation, embedder = self._index.generation(), self._embedder.identity
        files = report.added + report.changed + report.unchanged
        with self._index.locked():
            vectors = Vectors(self._index.folder)
            header = vectors.header
            if header and (header.embedder, header.complete) == (embedder, generation):
                return report
            known = vectors.keys_of(embedder)
            if quick and report.passages > min(_QUICK_INDEX, len(known) + _QUICK_EMBEDDED):
                return replace(report, pending=report.pending + report.added + report.changed)
            live: set[bytes] = set()
            for passages in self._index.batches(_BATCH):
                live.update(passages)
                new = [key for key in passages if key not in known]
                if new:
                    found = await self._embedder.embed([passages[key] for key in new])
                    with self._index.guarded("Writing"):
                        vectors.begin(embedder, found.shape[1])
                        vectors.append(new, found)
                    known.update(new)
                if progress:
                    progress(files, files, report.passages, len(live))
            with self._index.guarded("Writing"):
                vectors.finish(live, generation)
        return report
