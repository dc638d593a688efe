"""The index: a folder with a tantivy index in it, read by many and written by one.

    rqa-index.json   says that the folder is ours, in which format, and for which language
    lock             held by the process that writes
    tantivy/         the index itself; a commit is one atomic replacement of its meta.json

Nothing about the indexed files is kept beside the index. The first passage of each file carries the file's
stamp, so passages and file table cannot disagree, whenever the process is killed.
"""

from __future__ import annotations

import fcntl
import hashlib
import heapq
import json
import math
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import tantivy

from robust_qa import BusyError, ConfigError, MissingError, Passage, RqaError
from robust_qa.documents import MARKER, tidy
from robust_qa.kit import visible
from rqa_bm25.analysis import LANGUAGES, analyzer, searchable
from rqa_bm25.opening import lockable

FORMAT = 4
_DRAFT = "rqa-index.json.new"
_LOCK = "lock"
_LONGEST_QUERY = 200_000  # characters that are looked at
_MOST_TERMS = 64  # distinct words that are searched for
_SPARE = 8  # hits beyond k that are asked for at once
_MOST_HITS = 10_000  # after which a search for further distinct passages ends


def schema() -> tantivy.Schema:
    """`words` holds the title twice and the text once.

    One bag of words in which the title's weigh double: BM25F (Robertson, Zaragoza and Taylor 2004).
    """
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("words", stored=False, tokenizer_name="words", index_option="freq")
    builder.add_bytes_field("title", stored=True)
    builder.add_bytes_field("text", stored=True)
    builder.add_text_field("file", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_bytes_field("id", stored=True)
    builder.add_bytes_field("source", stored=True)
    builder.add_bytes_field("stamp", stored=True)  # of the file, on its first passage
    builder.add_boolean_field("first", indexed=True)
    return builder.build()


@dataclass(frozen=True, slots=True)
class _Generation:
    """One commit, open for search."""

    name: str
    schema: tantivy.Schema
    searcher: tantivy.Searcher
    analyzer: tantivy.TextAnalyzer

    def heaviest(self, counts: Counter[str]) -> dict[str, int]:
        """The words of a query that are in the index, by count; of very many, those that can score most."""
        weights: dict[str, float] = {}
        for word, count in counts.items():
            if having := self.searcher.doc_freq("words", word):
                weights[word] = count * math.log((self.searcher.num_docs + 1) / (having + 0.5))
        return {word: counts[word] for word in heapq.nlargest(_MOST_TERMS, weights, key=weights.__getitem__)}

    def hits(self, terms: dict[str, int], k: int) -> Iterator[tuple[float, tantivy.DocAddress]]:
        """Scores and places, best first: some more than `k` at once, then more, as equal ones count once."""
        query = tantivy.Query.boolean_query(
            [
                (tantivy.Occur.Should, tantivy.Query.boost_query(self._having(word), float(count)))
                for word, count in terms.items()
            ]
        )
        offset, limit = 0, min(k, self.searcher.num_docs) + _SPARE
        while offset < _MOST_HITS:
            page = self.searcher.search(query, limit, count=False, offset=offset).hits
            yield from page
            if len(page) < limit:
                return
            offset, limit = offset + limit, limit * 4

    def _having(self, word: str) -> tantivy.Query:
        return tantivy.Query.term_query(self.schema, "words", word, "freq")


class Index:
    """The index in `folder`, whether it exists yet or not."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._generation: _Generation | None = None
        self._opening = threading.Lock()

    # -- searching

    def search(self, query: str, k: int) -> list[Passage]:
        """The `k` best passages, distinct in title or text, best first. Raises MissingError."""
        commit = self._newest()
        found: dict[tuple[str, str], Passage] = {}  # by title and text: both are ranked, judged and read
        with self.guarded("Searching"):
            terms = commit.heaviest(Counter(commit.analyzer.analyze(searchable(tidy(query[:_LONGEST_QUERY])))))
            for score, address in commit.hits(terms, k) if terms and k > 0 else ():
                passage = _passage(score, commit.searcher.doc(address))
                found.setdefault((visible(_own_title(passage)), visible(passage.text)), passage)
                if len(found) == k:
                    break
        return list(found.values())

    def generation(self) -> str:
        """A name for the newest commit. Raises MissingError."""
        return self._newest().name

    def _newest(self) -> _Generation:
        try:
            meta = (self.folder / "tantivy" / "meta.json").read_bytes()
        except FileNotFoundError:
            self.language()  # which has more to say when the folder is something else
            raise self._missing() from None
        except OSError as error:
            raise self._failed("Opening", error) from error
        name = hashlib.sha256(meta).hexdigest()[:16]
        with self._opening:
            if self._generation is None or self._generation.name != name:
                self._generation = self._open(name)
            commit = self._generation
        if not commit.searcher.num_docs:
            raise MissingError(f"The index at {self.folder} is empty.", hint="Run `rqa index PATH...`.")
        return commit

    def _open(self, name: str) -> _Generation:
        language = self.language()
        if language is None:
            raise self._missing()
        with self.guarded("Opening"), lockable(self.folder / "tantivy") as folder:
            index = tantivy.Index.open(str(folder))
            index.config_reader("manual")  # no thread of its own: meta.json is looked at on every search
            return _Generation(name, index.schema, index.searcher(), analyzer(language))

    # -- the folder

    def language(self) -> str | None:
        """The language of the index, None when there is none yet. Raises ConfigError when it is not ours."""
        try:
            marker = json.loads((self.folder / MARKER).read_bytes())
            if marker["format"] != FORMAT:
                raise ConfigError(
                    f"The index at {self.folder} has format {marker['format']}, and this rqa reads {FORMAT}.",
                    hint="Name another folder, or remove that one and run `rqa index PATH...` again.",
                )
            if marker["language"] not in LANGUAGES:
                raise ValueError(f"{MARKER} names no language")
            return str(marker["language"])
        except FileNotFoundError:
            if self.folder.is_dir() and any(entry.name not in (_LOCK, _DRAFT) for entry in self.folder.iterdir()):
                raise ConfigError(
                    f"{self.folder} is not empty, and is not an index of rqa's.",
                    hint="Name a new or an empty folder as `index`.",
                ) from None
            return None
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise self._failed("Opening", error) from error

    @contextmanager
    def writing(self, language: str) -> Iterator[tantivy.Index]:
        """The index for its one writer, made first where there is none. Raises BusyError, ConfigError."""
        self.language()  # before a file of ours is put into a folder that is not ours
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)  # it holds the text of private files
            lock = (self.folder / _LOCK).open("a")
        except OSError as error:
            raise ConfigError(
                f"The index's folder {self.folder} cannot be written to: {error.strerror}.",
                hint="Name another as `index`.",
            ) from error
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise BusyError(
                    f"Another process is writing the index at {self.folder}.",
                    hint="Run it again when that one is done.",
                ) from None
            self._make(language)
            with self.guarded("Opening"):
                (self.folder / "tantivy").mkdir(exist_ok=True)
                index = tantivy.Index(schema(), str(self.folder / "tantivy"))
                index.register_tokenizer("words", analyzer(language))
            yield index
            with suppress(OSError):  # tantivy makes it for its owner alone, whoever may read the rest
                (self.folder / "tantivy" / "meta.json").chmod((self.folder / MARKER).stat().st_mode & 0o777)

    def _make(self, language: str) -> None:
        existing = self.language()
        if existing is None:  # the marker first: a folder that is not empty and has none is not ours
            draft = self.folder / _DRAFT
            draft.write_text(json.dumps({"format": FORMAT, "language": language}) + "\n")
            draft.replace(self.folder / MARKER)
        elif existing != language:
            raise ConfigError(
                f"The index at {self.folder} is made for language {existing!r}, not {language!r}.",
                hint="Name another folder as `index`, or remove that one and index all files again.",
            )

    def stamps(self, engine: tantivy.Index) -> dict[str, str]:
        """The stamp of each file in the index, by the file's name."""
        with self.guarded("Reading"):
            searcher = engine.searcher()
            query = tantivy.Query.term_query(engine.schema, "first", True)
            hits = searcher.search(query, max(1, searcher.num_docs), count=False).hits
            passages = (searcher.doc(address) for _, address in hits)
            return {str(found.get_first("file")): decoded(found, "stamp") for found in passages}

    @contextmanager
    def guarded(self, doing: str) -> Iterator[None]:
        """Turn tantivy's exceptions into one that says what to do; `doing` begins its message."""
        try:
            yield
        except BaseException as error:
            # Over damaged files its compiled code panics, which is no Exception, and of no class that can be imported.
            if not isinstance(error, ValueError | OSError) and type(error).__name__ != "PanicException":
                raise
            raise self._failed(doing, error) from error

    def _failed(self, doing: str, error: BaseException) -> RqaError:
        hint = "If it is damaged, remove that folder and run `rqa index PATH...` again."
        if doing == "Writing":
            hint = "It holds what it held before. Is the disk full?"
        elif isinstance(error, PermissionError) or "PermissionDenied" in str(error):
            hint = "Whoever made it can let you read its files."
        return RqaError(f"{doing} the index at {self.folder} failed: {str(error)[:300]}", hint=hint)

    def _missing(self) -> MissingError:
        return MissingError(f"There is no index at {self.folder}.", hint="Run `rqa index PATH...`.")


def _passage(score: float, document: tantivy.Document) -> Passage:
    return Passage(
        text=decoded(document, "text"),
        id=decoded(document, "id"),
        title=decoded(document, "title"),
        source=decoded(document, "source") or str(document.get_first("file")),
        score=score,
    )


def searched(title: str, text: str) -> list[str]:
    """What the field `words` of a passage holds, which is not stored."""
    return [*[searchable(title)] * 2, searchable(text)]


def _own_title(passage: Passage) -> str:
    """The title, unless it is the file's name alone: a copy of a file under another name tells nothing more."""
    return "" if passage.title == Path(passage.source).stem else passage.title


def decoded(document: tantivy.Document, field: str) -> str:
    """What is stored in a field of bytes, empty where there is nothing."""
    return bytes(document.get_first(field) or b"").decode()
