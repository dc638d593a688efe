"""The model on CTranslate2: token ids in, marks out. Its files are checked before they are used."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import msgspec

from robust_qa import MissingError
from robust_qa.kit import cores, even_batches, install_hint, whole_characters

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

T = TypeVar("T")

PACKAGED = Path(__file__).parent / "model"
CHECKSUMS = "checksums.json"
BATCH = 256  # tokens of one engine batch, padding included: it is computed, too, and larger ones fall out of the cache


_TINY = 1e-9  # so that nothing is divided by 0


class Settings(msgspec.Struct, frozen=True):
    """reader.json: how the model was trained to be used. A likelihood is the logistic function of weighted evidence."""

    length: int  # tokens of a window, question and marks included
    stride: int  # tokens that neighbouring windows share
    span: tuple[float, float, float, float]  # that a span is right: bias, margin over null, answered, relevant
    judge: tuple[float, float, float, float]  # that a passage holds the answer: bias, and what `weighed` says
    answer: tuple[float, float, float]  # that an answer is right: bias, log-odds of its best span, the others' support
    threshold: float  # confidence below which the answer counts as not there
    upper: float = 0.0  # judge's score of the best passage from which two questions in three are answered in them,
    lower: float = 0.0  # and under which three in four are not
    identity: str = ""  # of the weights and of these


class Marks(NamedTuple):
    """Scores of one window: of each token to start and to end the answer, of the answer being there, of relevance."""

    start: Floats
    end: Floats
    answered: float
    relevant: float


class Marking(Protocol):
    """What marks windows: an Engine, or in training the same in torch."""

    @property
    def settings(self) -> Settings: ...
    @property
    def ends(self) -> tuple[int, int]: ...
    def tokens(self, text: str) -> tuple[list[int], list[tuple[int, int]]]: ...
    def mark(self, windows: Sequence[tuple[list[int], list[int]]]) -> list[Marks]: ...


class Engine:
    """A model folder, loaded, with one worker a core (`threads`; 0: all that this process may use).

    Raises MissingError where the folder is not there, incomplete or damaged.
    """

    def __init__(self, folder: Path | None = None, threads: int = 0, *, compute: str = "default") -> None:
        self.folder = folder or PACKAGED
        self._workers = threads or cores()
        self._pool = ThreadPoolExecutor(self._workers, thread_name_prefix="rqa-embedded")
        self._hint = (
            "Name the folder `model` that `rqa train reader` wrote."
            if folder
            else f"Install the package again: `{install_hint(again=True)}`."
        )
        self._check()
        try:
            import ctranslate2
            import numpy as np
            from tokenizers import Tokenizer
        except ImportError as error:
            raise MissingError(
                f"The embedded reader needs {error.name}, which is not installed.",
                hint=f"Install it: `{install_hint()}`.",
            ) from error
        self._np = np
        self._ct2 = ctranslate2
        try:
            self.settings = msgspec.json.decode((self.folder / "reader.json").read_bytes(), type=Settings)
            self._tokenizer = Tokenizer.from_file(str(self.folder / "tokenizer.json"))
            self._tokenizer.encode_special_tokens = True  # "[SEP]" in a text is five characters
            with np.load(self.folder / "heads.npz") as heads:
                self._weight, self._bias = heads["weight"], heads["bias"]  # rows: the fields of Marks
            self._encoder = ctranslate2.Encoder(
                str(self.folder), compute_type=compute, inter_threads=self._workers, intra_threads=1
            )
        except Exception as error:  # each of the libraries has its own
            raise MissingError(f"The model in {self.folder} cannot be loaded: {error}.", hint=self._hint) from error

    @property
    def identity(self) -> str:
        """Of the weights and the settings; part of the cache key."""
        return self.settings.identity

    def tokens(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Token ids of `text` and the characters each stands for."""
        coded = self._tokenizer.encode(whole_characters(text), add_special_tokens=False)
        return coded.ids, coded.offsets

    @cached_property
    def ends(self) -> tuple[int, int]:
        """The ids of [CLS] and [SEP]."""
        ids = self._tokenizer.get_vocab()
        return ids["[CLS]"], ids["[SEP]"]

    def mark(self, windows: Sequence[tuple[list[int], list[int]]]) -> list[Marks]:
        """The marks of `windows` (token ids and types each), in order; read sorted by length, in small batches."""
        return self._of_each(windows, self._marks)

    def _marks(self, hidden: Floats) -> Marks:
        scores = hidden @ self._weight.T + self._bias
        return Marks(scores[:, 0], scores[:, 1], float(scores[0, 2]), float(scores[0, 3]))

    def token_vectors(self, texts: Sequence[str]) -> list[Floats]:
        """A unit vector of each token of each text: (tokens, width), in order. Cut at the length of a window."""
        return self._of_each(self._singles(texts), self._normed)

    def token_texts(self, texts: Sequence[str]) -> list[list[str]]:
        """The tokens that token_vectors gives vectors of."""
        return [[str(self._tokenizer.id_to_token(n)) for n in ids] for ids, _ in self._singles(texts)]

    def embed(self, texts: Sequence[str]) -> Floats:
        """A unit vector of each text, (texts, width): the mean of its tokens', as all-MiniLM-L6-v2 makes it."""
        np = self._np
        means = self._of_each(self._singles(texts), lambda hidden: hidden.mean(0))
        return self._normed(np.stack(means)) if means else np.empty((0, self._weight.shape[1]), np.float32)

    def _normed(self, vectors: Floats) -> Floats:
        np = self._np
        normed: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), _TINY)
        return normed

    def _singles(self, texts: Sequence[str]) -> list[tuple[list[int], list[int]]]:
        """Texts by themselves, cut at the length of a window."""
        begin, end = self.ends
        found = [[begin, *self.tokens(text)[0][: self.settings.length - 2], end] for text in texts]
        return [(ids, [0] * len(ids)) for ids in found]

    def _of_each(self, windows: Sequence[tuple[list[int], list[int]]], take: Callable[[Floats], T]) -> list[T]:
        """What `take` makes of the encoder's output for each window, (tokens, width), which is not kept."""
        groups = even_batches([len(ids) for ids, _ in windows], BATCH, self._workers)
        taken = self._pool.map(lambda group: self._of_batch([windows[n] for n in group], take), groups)
        results: dict[int, T] = {}
        for group, found in zip(groups, taken, strict=True):
            results.update(zip(group, found, strict=True))
        return [results[n] for n in range(len(windows))]

    def _of_batch(self, windows: Sequence[tuple[list[int], list[int]]], take: Callable[[Floats], T]) -> list[T]:
        np, view = self._np, self._ct2.StorageView.from_array
        longest = max(len(ids) for ids, _ in windows)
        padded = np.zeros((len(windows), longest), np.int32)
        for row, (ids, _) in enumerate(windows):
            padded[row, : len(ids)] = ids
        lengths = np.array([len(ids) for ids, _ in windows], np.int32)
        types = [types + [0] * (longest - len(types)) for _, types in windows]
        output = self._encoder.forward_batch(view(padded), view(lengths), token_type_ids=types)
        hidden = np.asarray(output.last_hidden_state)
        return [take(hidden[row, :length]) for row, length in enumerate(lengths)]

    def _check(self) -> None:
        """Compare the files with their checksums, once a process and folder."""
        if not self.folder.is_dir():
            raise MissingError(f"There is no folder {self.folder}.", hint=self._hint)
        listing = self.folder / CHECKSUMS
        try:
            wanted: dict[str, str] = json.loads(listing.read_bytes())
            stamp = tuple(
                (name, (status := (self.folder / name).stat()).st_size, status.st_mtime_ns) for name in wanted
            )
            if _checked.get(self.folder) == stamp:
                return
            for name, digest in wanted.items():
                if file_digest(self.folder / name) != digest:
                    raise MissingError(f"{self.folder / name} is damaged.", hint=self._hint)
        except (OSError, ValueError, AttributeError, TypeError) as error:
            raise MissingError(f"The model in {self.folder} is not complete: {error}.", hint=self._hint) from error
        _checked[self.folder] = stamp


_checked: dict[Path, tuple[Any, ...]] = {}


def file_digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
