"""Runs the model on CTranslate2: from token ids to marks. Checks the model's files first."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, lru_cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar

import msgspec

from robust_qa import MissingError
from robust_qa.kit import cores, even_batches, install_hint, whole_characters

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

T = TypeVar("T")
K = TypeVar("K")
Item = TypeVar("Item")

PACKAGED = Path(__file__).parent / "model"
JUDGE = Path(__file__).parent / "judge"
CHECKSUMS = "checksums.json"
BATCH = 256  # tokens in a batch, including padding; larger batches leave the CPU cache
_TINY = 1e-9  # avoids division by 0
_TOKENISED = 256  # texts whose tokens are kept, about 40 KB each
_CACHE_SIZE = 2048  # windows or vectors, about 2 KB each


class Settings(msgspec.Struct, frozen=True):
    """The content of reader.json. A probability is the logistic function of a bias and weighted features."""

    length: int  # tokens of a window, including question and special tokens
    stride: int  # tokens that neighbouring windows share
    # of a text: bias, best span's margin, score of relevance, cosine, and minus the log of its rank among the passages
    relevance: tuple[float, float, float, float, float]
    answer: tuple[float, float]  # of an answer: bias, and odds of its Choice
    sentence: tuple[float, float, float]  # of a quote's sentence: bias, and its `sentence_features`
    threshold: float  # minimum confidence of an answer
    upper: float = 0.0  # best score from which two of three questions are answerable
    lower: float = 0.0  # best score below which three of four questions are unanswerable
    identity: str = ""  # of the weights and these settings


class Marks(NamedTuple):
    """Scores of one window, as log-odds up to a constant.

    `start` and `end` are of each token as the answer's first and last. `answered`: the window holds the answer.
    `relevant`: it is the best of a question's passages.
    """

    start: Floats
    end: Floats
    answered: float
    relevant: float


class Marking(Protocol):
    """Marks windows: an Engine, or its torch version in training."""

    @property
    def settings(self) -> Settings: ...
    @property
    def ends(self) -> tuple[int, int]: ...
    def tokens(self, text: str) -> tuple[list[int], list[tuple[int, int]]]: ...
    def mark(self, windows: Sequence[tuple[list[int], list[int]]]) -> list[Marks]: ...
    def embed(self, texts: Sequence[str]) -> Floats: ...


class Encoder:
    """An encoder on CTranslate2 with linear heads, in `folder`, with `threads` workers (0: one for each core).

    Raises MissingError with `hint` if the folder is missing, incomplete or damaged.
    """

    def __init__(self, folder: Path, threads: int = 0, *, compute: str = "default", hint: str = "") -> None:
        self.folder = folder
        self._workers = threads or cores()
        self._pool = ThreadPoolExecutor(self._workers, thread_name_prefix="rqa-embedded")
        self._hint = hint or f"Install the package again: `{install_hint(again=True)}`."
        self._recent_tokens = lru_cache(maxsize=_TOKENISED)(self._tokenised)
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
            self._load()
            self._tokenizer = Tokenizer.from_file(str(self.folder / "tokenizer.json"))
            self._tokenizer.encode_special_tokens = True  # a "[SEP]" in a text is plain text
            with np.load(self.folder / "heads.npz") as heads:
                self._weight, self._bias = heads["weight"], heads["bias"]  # a row for each score
            self._encoder = ctranslate2.Encoder(
                str(self.folder), compute_type=compute, inter_threads=self._workers, intra_threads=1
            )
        except Exception as error:  # each library raises its own errors
            raise MissingError(f"Cannot load the model in {self.folder}: {error}.", hint=self._hint) from error

    def _load(self) -> None:
        """Read the settings of the model."""

    def tokens(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Return the token ids of `text` and their character offsets. Do not change the lists."""
        return self._recent_tokens(text)

    def _tokenised(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        coded = self._tokenizer.encode(whole_characters(text), add_special_tokens=False)
        return coded.ids, coded.offsets

    @cached_property
    def ends(self) -> tuple[int, int]:
        """Return the ids of [CLS] and [SEP]."""
        ids = self._tokenizer.get_vocab()
        return ids["[CLS]"], ids["[SEP]"]

    def _map(self, windows: Sequence[tuple[list[int], list[int]]], take: Callable[[Floats], T]) -> list[T]:
        """Apply `take` to the encoder's output of each window, (tokens, width)."""
        groups = even_batches([len(ids) for ids, _ in windows], BATCH, self._workers)
        taken = self._pool.map(lambda group: self._map_batch([windows[n] for n in group], take), groups)
        results: dict[int, T] = {}
        for group, found in zip(groups, taken, strict=True):
            results.update(zip(group, found, strict=True))
        return [results[n] for n in range(len(windows))]

    def _map_batch(self, windows: Sequence[tuple[list[int], list[int]]], take: Callable[[Floats], T]) -> list[T]:
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
        """Compare the files with their checksums."""
        if not self.folder.is_dir():
            raise MissingError(f"The folder {self.folder} does not exist.", hint=self._hint)
        listing = self.folder / CHECKSUMS
        try:
            expected: dict[str, str] = json.loads(listing.read_bytes())
            for name, digest in expected.items():
                if file_digest(self.folder / name) != digest:
                    raise MissingError(f"{self.folder / name} is damaged.", hint=self._hint)
        except (OSError, ValueError, AttributeError, TypeError) as error:
            raise MissingError(f"The model in {self.folder} is incomplete: {error}.", hint=self._hint) from error


class Engine(Encoder):
    """The model of the reader, in `folder` (None: the packaged one)."""

    settings: Settings

    def __init__(self, folder: Path | None = None, threads: int = 0, *, compute: str = "default") -> None:
        hint = "Set `model` to the folder `model` that `rqa train reader` wrote." if folder else ""
        super().__init__(folder or PACKAGED, threads, compute=compute, hint=hint)

    def _load(self) -> None:
        self.settings = msgspec.json.decode((self.folder / "reader.json").read_bytes(), type=Settings)

    @property
    def identity(self) -> str:
        """Return the identity of weights and settings, for the cache key."""
        return self.settings.identity

    @property
    def weights(self) -> str:
        """Return the identity of the weights alone, on which vectors depend."""
        return self.settings.identity.rpartition("-")[0] or self.settings.identity

    def mark(self, windows: Sequence[tuple[list[int], list[int]]]) -> list[Marks]:
        """Return the marks of `windows` (token ids and types)."""
        return self._map(windows, self._marks)

    def _marks(self, hidden: Floats) -> Marks:
        scores = hidden @ self._weight.T + self._bias
        return Marks(scores[:, 0], scores[:, 1], *map(float, scores[0, 2:]))

    def token_vectors(self, texts: Sequence[str]) -> list[Floats]:
        """Return unit vectors of the tokens of each text, (tokens, width). Texts are cut at the length of a window."""
        return self._map(self._text_windows(texts), self._normalise)

    def token_texts(self, texts: Sequence[str]) -> list[list[str]]:
        """Return the tokens of `token_vectors`."""
        return [[str(self._tokenizer.id_to_token(n)) for n in ids] for ids, _ in self._text_windows(texts)]

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return a unit vector of each text, (texts, width): the token mean, as in all-MiniLM-L6-v2."""
        np = self._np
        means = self._map(self._text_windows(texts), lambda hidden: hidden.mean(0))
        return self._normalise(np.stack(means)) if means else np.empty((0, self._weight.shape[1]), np.float32)

    def _normalise(self, vectors: Floats) -> Floats:
        np = self._np
        unit: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), _TINY)
        return unit

    def _text_windows(self, texts: Sequence[str]) -> list[tuple[list[int], list[int]]]:
        """Return windows of single texts, cut at the length of a window."""
        begin, end = self.ends
        found = [[begin, *self.tokens(text)[0][: self.settings.length - 2], end] for text in texts]
        return [(ids, [0] * len(ids)) for ids in found]


class CachingEngine(Engine):
    """An engine that caches recent marks and vectors, because readers and evaluators share passages."""

    def __init__(self, folder: Path | None = None, threads: int = 0) -> None:
        super().__init__(folder, threads)
        self._recent_marks: Recent[tuple[bytes, int], Marks] = Recent()
        self._recent_vectors: Recent[str, Floats] = Recent()

    def mark(self, windows: Sequence[tuple[list[int], list[int]]]) -> list[Marks]:
        """Return the marks of `windows`; see Engine.mark."""
        keys = [(self._np.array(ids, self._np.int32).tobytes(), sum(types)) for ids, types in windows]
        return self._recent_marks.get(keys, windows, super().mark)

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return a unit vector of each text; see Engine.embed."""
        if not texts or len(texts) > _CACHE_SIZE // 4:  # a batch of an index would fill the cache
            return super().embed(texts)
        vectors: Floats = self._np.stack(self._recent_vectors.get(texts, texts, super().embed))
        return vectors

    def forget(self) -> None:
        """Forget what is cached."""
        self._recent_marks, self._recent_vectors = Recent(), Recent()


class Recent(Generic[K, T]):
    """The latest results of a function. Safe for threads."""

    def __init__(self) -> None:
        self._results: dict[K, T] = {}
        self._lock = Lock()

    def get(
        self, keys: Sequence[K], items: Sequence[Item], compute: Callable[[Sequence[Item]], Iterable[T]]
    ) -> list[T]:
        """Return the result of each item. `compute` gets the items whose keys are not stored."""
        with self._lock:
            known = {key: self._results[key] for key in keys if key in self._results}
        new = {key: item for key, item in zip(keys, items, strict=True) if key not in known}
        found = dict(zip(new, compute([*new.values()]), strict=True))
        with self._lock:
            self._results |= found
            while len(self._results) > _CACHE_SIZE:
                del self._results[next(iter(self._results))]
        known |= found
        return [known[key] for key in keys]


def judge_identity() -> str:
    """Return the identity of the packaged judge, without loading it."""
    return str(json.loads((JUDGE / "judge.json").read_bytes())["identity"])


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def save_settings(folder: Path, settings: Settings) -> None:
    """Write the settings with the identity of the model in `folder`, and the checksums of all files."""
    settings = msgspec.structs.replace(settings, identity="")
    digest = hashlib.sha256(msgspec.json.encode(settings)).hexdigest()
    identity = f"{file_digest(folder / 'model.bin')[:16]}-{file_digest(folder / 'heads.npz')[:8]}-{digest[:8]}"
    named = msgspec.structs.replace(settings, identity=identity)
    (folder / "reader.json").write_bytes(msgspec.json.format(msgspec.json.encode(named), indent=2) + b"\n")
    files = sorted(
        path.name for path in folder.iterdir() if path.suffix in {".bin", ".npz", ".json"} and path.name != CHECKSUMS
    )
    (folder / CHECKSUMS).write_text(json.dumps({name: file_digest(folder / name) for name in files}, indent=2) + "\n")
