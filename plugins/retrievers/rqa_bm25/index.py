"""The index: a folder with a tantivy index, for many readers and one writer.

    rqa-index.json   marks the folder as an index of rqa, with its format and language
    lock             held by the process that writes
    tantivy/         the index itself; a commit replaces its meta.json atomically
    vectors          the vectors of the passages, if the retriever `hybrid` indexed them

The table of the files is stored in the tantivy index, as a document of its own that is replaced in the same commit, so
it always agrees with the passages.
"""

from __future__ import annotations

import fcntl
import hashlib
import heapq
import json
import math
import re
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from unicodedata import normalize

import msgspec
import tantivy

from robust_qa import BusyError, ConfigError, MissingError, Passage, RqaError
from robust_qa.kit import atomic_write, content_terms, tidy, warn, with_title
from rqa_bm25.analysis import LANGUAGES, analysed, compounds, joined
from rqa_bm25.copies import without_copies
from rqa_bm25.english import is_english, is_slip
from rqa_files import MARKER, FileReader, FileTable

FORMAT = 10
_DRAFT = f".{MARKER}.new"  # of `atomic_write`
_LOCK = "lock"
_META = "meta.json"
_TABLE = "\0"  # stands for the name of a file in the document with the table of the files
_LONGEST_QUERY = 200_000  # characters; the rest is ignored
_MOST_TERMS = 64  # distinct words in one search
_LONGEST_CHECKED = 1000  # characters of a query whose words may be unknown
_QUERIED = re.compile(r"[^\W_]{3,}(?:[-'’/][^\W_]+)*")
_SPOKEN = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_FEW = 1  # words of a query that are all told; a question has words that answer nothing
_LONG = 7  # letters of a stem that may have two mistakes
_LOOKED_AT = 20  # passages that may have a similar word
_SPELT = 5  # characters of a word from which another spelling is looked for
_CLOSE = 0.8  # similarity of a word to suggest, by difflib
_SPARE = 8  # extra hits in the first search, to replace duplicates
_PAGE = 10_000  # passages read at once
_LAST_DAY = 99999999
_MOST_HITS = 10_000  # the search for more distinct passages stops here


def schema() -> tantivy.Schema:
    """Return the fields of a passage.

    `words` has the words of the title twice and of the text once, analysed in `language`. So title words count double:
    BM25F (Robertson, Zaragoza and Taylor 2004).
    """
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("words", stored=False, tokenizer_name="whitespace", index_option="freq")
    builder.add_text_field("language", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("key", stored=False, tokenizer_name="raw", index_option="basic")  # see `key_of`
    builder.add_bytes_field("title", stored=True)
    builder.add_bytes_field("text", stored=True)
    builder.add_text_field("file", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_bytes_field("id", stored=True)
    builder.add_bytes_field("source", stored=True)
    builder.add_bytes_field("date", stored=True)
    builder.add_bytes_field("place", stored=True)
    builder.add_bytes_field("lines", stored=True)  # the first, then the steps to the next ones
    builder.add_bytes_field("table", stored=True)
    # For filters: the file and the folders above it, its suffix, the words of the title, and the last day that the date
    # can mean, as a number; without a date, the day of the file's last change.
    builder.add_text_field("under", stored=False, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("type", stored=False, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("titled", stored=False, tokenizer_name="whitespace", index_option="basic")
    builder.add_unsigned_field("since", stored=False, indexed=True)
    builder.add_bytes_field("day", stored=True)
    return builder.build()


@dataclass(frozen=True, slots=True)
class Filter:
    """What to search: files at or under one of `within`, with one of the suffixes `types`, since a date.

    The titles of the passages have the words of `title`. "" and () mean all.
    """

    within: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    since: str = ""
    title: str = ""


_ALL = Filter()


@dataclass(frozen=True, slots=True)
class _Generation:
    """One commit, open for search."""

    name: str
    schema: tantivy.Schema
    searcher: tantivy.Searcher
    languages: tuple[str, ...]
    table: FileTable

    @property
    def passages(self) -> int:
        """The number of passages."""
        return max(self.searcher.num_docs - 1, 0)

    def words(self, query: str) -> Counter[str]:
        """Return the words of a query, in the analysis of each language of the index.

        A compound that no passage has is in parts, because passages may write it otherwise.
        """
        for compound, parts in compounds(query).items():
            if not self.has(compound):
                query += f" {parts}"
        query = " ".join([query, *(word for word in joined(query) if self.has(word))])
        return self.words_of(query)

    def has(self, text: str) -> bool:
        """Return whether a passage has a word of the text."""
        return any(self.searcher.doc_freq("words", each) for each in self.words_of(text))

    def words_of(self, text: str) -> Counter[str]:
        """Return the words of a text, in the analysis of each language of the index."""
        counts: Counter[str] = Counter()
        for language in self.languages:
            counts |= Counter(analysed(text, language))
        return counts

    def heaviest(self, counts: Counter[str]) -> dict[str, int]:
        """Return the words of a query that are in the index, with their counts; if there are many, the rarest."""
        weights: dict[str, float] = {}
        for word, count in counts.items():
            if frequency := self.searcher.doc_freq("words", word):
                weights[word] = count * math.log((self.passages + 1) / (frequency + 0.5))
        return {word: counts[word] for word in heapq.nlargest(_MOST_TERMS, weights, key=weights.__getitem__)}

    def unknown(self, query: str) -> dict[str, str]:
        """Return the words of a query that no passage has, each with the most similar word of a passage, or ""."""
        found = {}
        for word in dict.fromkeys(_QUERIED.findall(query)):
            stems = self.words(word)
            if stems and content_terms(word) and not any(self.searcher.doc_freq("words", stem) for stem in stems):
                found[word] = self._similar(word, stems)
        return found

    def corrections(self, query: str) -> dict[str, str]:
        """Return the misspelt words of a query, each with the word of the passages that it stands for.

        None of them is a name, a number or an English word, and each has one near neighbour.
        """
        found = {}
        for word in self.unknown(query):
            if (word.islower() or query.startswith(word)) and not is_english(word.lower()):
                near = self._near(word, self.words(word))
                close = [
                    each for each in get_close_matches(word.lower(), near, 4, _CLOSE) if is_slip(word.lower(), each)
                ]
                if close and near[close[0]] and {*content_terms(close[0])}.issuperset(content_terms(" ".join(close))):
                    found[word] = close[0]
        return found

    def _similar(self, word: str, stems: Iterable[str]) -> str:
        return next(iter(get_close_matches(word.lower(), self._near(word, stems), n=1, cutoff=_CLOSE)), "")

    def _near(self, word: str, stems: Iterable[str]) -> dict[str, bool]:
        """Return the words of passages that are like a word, in lower case, and whether each is no name."""
        near: dict[str, bool] = {}
        if len(word) < _SPELT or any(map(str.isdigit, word)):  # a short word or a number is near others by chance
            return near
        for stem in stems:
            query = tantivy.Query.fuzzy_term_query(self.schema, "words", stem, 1 + (len(stem) >= _LONG))
            for _, address in self.searcher.search(query, _LOOKED_AT, count=False).hits:
                passage = self.searcher.doc(address)
                for each in _SPOKEN.findall(f"{decoded(passage, 'title')} {decoded(passage, 'text')}"):
                    near[each.lower()] = near.get(each.lower(), False) or each.islower()
        return near

    def hits(self, terms: dict[str, int], k: int, only: Filter) -> Iterator[tuple[float, tantivy.DocAddress]]:
        """Yield scores and addresses, best first, beyond `k` because duplicates are dropped."""
        query = self.filtered(
            tantivy.Query.boolean_query(
                [
                    (tantivy.Occur.Should, tantivy.Query.boost_query(self._term(word), float(count)))
                    for word, count in terms.items()
                ]
            ),
            only,
        )
        offset, limit = 0, min(k, self.searcher.num_docs) + _SPARE
        while offset < _MOST_HITS:
            page = self.searcher.search(query, limit, count=False, offset=offset).hits
            yield from page
            if len(page) < limit:
                return
            offset, limit = offset + limit, limit * 4

    def filtered(self, query: tantivy.Query, only: Filter) -> tantivy.Query:
        """Return `query` for what `only` leaves. Its scores stay."""
        found = []
        if titles := {tuple(analysed(tidy(only.title), language)) for language in self.languages} - {()}:
            found.append(tantivy.Query.boolean_query([(tantivy.Occur.Should, self._all_of(words)) for words in titles]))
        if only.within:
            found.append(tantivy.Query.term_set_query(self.schema, "under", [*map(self._spelt, only.within)]))
        if only.types:
            found.append(tantivy.Query.term_set_query(self.schema, "type", list(only.types)))
        if only.since:
            first, kind = int(only.since.replace("-", "").ljust(8, "0")), tantivy.FieldType.Unsigned
            found.append(tantivy.Query.range_query(self.schema, "since", kind, first, _LAST_DAY))
        left = [(tantivy.Occur.Must, tantivy.Query.const_score_query(each, 0.0)) for each in found]
        return tantivy.Query.boolean_query([(tantivy.Occur.Must, query), *left]) if left else query

    def _spelt(self, path: str) -> str:
        """Return a path as the index spells it, which may be in another Unicode form."""
        if self.searcher.doc_freq("under", path):
            return path
        form = normalize("NFC", path)
        names = (str(place) for file in self.table.files for place in (Path(file), *Path(file).parents))
        return next((name for name in names if normalize("NFC", name) == form), path)

    def unfit(self, only: Filter) -> list[str]:
        """Return a message for each part of a filter that no passage fits."""
        everything = tantivy.Query.all_query()
        parts = (
            (Filter(within=only.within), f"at or under {', '.join(only.within)}"),
            (Filter(types=only.types), f"of the type {', '.join(only.types)}"),
            (Filter(since=only.since), f"of {only.since} or later"),
            (Filter(title=only.title), f"with the title {only.title!r}"),
        )
        return [
            f"There is nothing to search {what}."
            for part, what in parts
            if part != _ALL and not self.searcher.search(self.filtered(everything, part), 1, count=False).hits
        ]

    def _all_of(self, words: Iterable[str]) -> tantivy.Query:
        terms = [tantivy.Query.term_query(self.schema, "titled", word) for word in words]
        return tantivy.Query.boolean_query([(tantivy.Occur.Must, term) for term in terms])

    def _term(self, word: str) -> tantivy.Query:
        return tantivy.Query.term_query(self.schema, "words", word, "freq")


class Index:
    """The index in `folder`, which may not exist yet."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._generation: _Generation | None = None
        self._opening = threading.Lock()

    # -- searching

    def with_keys(self, keys: Iterable[bytes], only: Filter) -> list[Passage]:
        """Return a passage for each key that is in the index, in the order of the keys."""
        commit = self._newest()
        found = []
        with self.guarded("Searching"):
            for key in keys:
                query = commit.filtered(tantivy.Query.term_query(commit.schema, "key", key.hex()), only)
                for score, address in commit.searcher.search(query, 1, count=False).hits:
                    found.append(_passage(score, commit.searcher.doc(address)))
        return found

    def batches(self, size: int, only: Filter = _ALL) -> Iterator[dict[bytes, str]]:
        """Yield the keys of all passages with the texts to embed, in groups of up to `size`."""
        commit = self._newest()
        query = commit.filtered(tantivy.Query.const_score_query(tantivy.Query.all_query(), 1.0), only)
        for start in range(0, commit.searcher.num_docs, _PAGE):
            with self.guarded("Reading"):
                hits = commit.searcher.search(query, _PAGE, count=False, offset=start).hits
                found = [commit.searcher.doc(address) for _, address in hits]
            texts = [(decoded(each, "title"), decoded(each, "text")) for each in found if not each.get_first("table")]
            for first in range(0, len(texts), size):
                yield {key_of(*each): with_title(*each) for each in texts[first : first + size]}

    def search(self, query: str, k: int, only: Filter = _ALL) -> list[Passage]:
        """Return the `k` best passages without copies, best first. Raises MissingError."""
        commit = self._newest()
        with self.guarded("Searching"):
            terms = commit.heaviest(commit.words(tidy(query[:_LONGEST_QUERY])))
            hits = commit.hits(terms, k, only) if terms and k > 0 else ()
            _warn_of(commit.unknown(tidy(query[:_LONGEST_CHECKED])), query)
            for message in commit.unfit(only):
                warn(message, lasting=True, shown=True)
            return without_copies((_passage(score, commit.searcher.doc(address)) for score, address in hits), query, k)

    def corrections(self, query: str) -> dict[str, str]:
        """Return the misspelt words of a query with the right ones. Raises MissingError."""
        with self.guarded("Searching"):
            return self._newest().corrections(tidy(query[:_LONGEST_CHECKED]))

    def marked(self, passages: list[Passage], reader: FileReader) -> list[Passage]:
        """Return the passages, marked if their file is not as it was indexed."""
        files = self._newest().table.files
        stale = {name: reader.staleness(name, files[name]) for name in {each.file for each in passages} & files.keys()}
        return [replace(each, stale=stale.get(each.file, "")) for each in passages]

    def table(self) -> FileTable:
        """Return the table of the files. Raises MissingError if there is no index or it is empty."""
        return self._newest().table

    def passages(self) -> int:
        """Return the number of passages. Raises MissingError."""
        return self._newest().passages

    def generation(self) -> str:
        """Return the name of the newest commit. Raises MissingError."""
        return self._newest().name

    def _newest(self) -> _Generation:
        try:
            meta = (self.folder / "tantivy" / _META).read_bytes()
        except FileNotFoundError:
            self.language()  # raises ConfigError if the folder is something else
            raise self._missing() from None
        except OSError as error:
            raise self._failed("Opening", error) from error
        name = hashlib.sha256(meta).hexdigest()[:16]
        with self._opening:
            if self._generation is None or self._generation.name != name:
                self._generation = self._open(name)
            commit = self._generation
        if not commit.passages:
            raise MissingError(f"The index at {self.folder} is empty.", hint="Add files with `rqa index PATH...`.")
        return commit

    def _open(self, name: str) -> _Generation:
        if self.language() is None:
            raise self._missing()
        with self.guarded("Opening"):
            index = tantivy.Index.open(str(self.folder / "tantivy"))
            index.config_reader("manual")  # no watcher thread: every search checks meta.json
            searcher = index.searcher()
            languages = tuple(each for each in LANGUAGES if searcher.doc_freq("language", each))
            return _Generation(name, index.schema, searcher, languages, self.table_in(index))

    # -- the folder

    def language(self) -> str | None:
        """Return the language of the index, None if there is no index. Raises ConfigError for another folder."""
        try:
            marker = json.loads((self.folder / MARKER).read_bytes())
            if marker["format"] != FORMAT:
                raise ConfigError(
                    f"The index at {self.folder} has format {marker['format']}; this version of rqa needs {FORMAT}.",
                    hint="Remove the folder and run `rqa index PATH...` again, or use another folder.",
                )
            return str(marker["language"])
        except FileNotFoundError:
            if self.folder.is_dir() and any(entry.name not in (_LOCK, _DRAFT) for entry in self.folder.iterdir()):
                raise ConfigError(
                    f"{self.folder} is not empty and is not an index of rqa.",
                    hint="Set `index` to a new or empty folder.",
                ) from None
            return None
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise self._failed("Opening", error) from error

    @contextmanager
    def writing(self, language: str) -> Iterator[tantivy.Index]:
        """Yield the index for writing, and create it if necessary. Raises BusyError or ConfigError."""
        self.language()  # raises ConfigError before anything is written to a foreign folder
        with self.locked():
            self._make(language)
            with self.guarded("Opening"):
                (self.folder / "tantivy").mkdir(exist_ok=True)
                index = tantivy.Index(schema(), str(self.folder / "tantivy"))
            yield index

    @contextmanager
    def locked(self, *, wait: bool = False) -> Iterator[None]:
        """Hold the lock for writing. Creates the folder. Raises ConfigError, and BusyError unless it may `wait`."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)  # private: it contains the text of your files
            lock = (self.folder / _LOCK).open("a")
        except OSError as error:
            raise ConfigError(
                f"Cannot write to the index folder {self.folder}: {error.strerror}.",
                hint="Set `index` to another folder.",
            ) from error
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise BusyError(
                    f"Another process is writing the index at {self.folder}.",
                    hint="Run the command again when that process has finished.",
                ) from None
            yield

    def _make(self, language: str) -> None:
        existing = self.language()
        if existing is None:  # the marker first: a folder without one is foreign
            with self.guarded("Writing"), atomic_write(self.folder / MARKER) as file:
                file.write(json.dumps({"format": FORMAT, "language": language}).encode() + b"\n")
        elif existing != language:
            raise ConfigError(
                f"The index at {self.folder} has the language {existing!r}, not {language!r}.",
                hint="Set `index` to another folder, or remove this one and index all files again.",
            )

    def table_in(self, engine: tantivy.Index) -> FileTable:
        """Return the table of the files in the newest commit."""
        with self.guarded("Reading"):
            searcher = engine.searcher()
            query = tantivy.Query.term_query(engine.schema, "file", _TABLE)
            for _, address in searcher.search(query, 1, count=False).hits:
                return msgspec.json.decode(bytes(searcher.doc(address).get_first("table") or b""), type=FileTable)
        return FileTable()

    def put_table(self, writer: tantivy.IndexWriter, table: FileTable) -> None:
        """Replace the table of the files in the next commit."""
        with self.guarded("Writing"):
            writer.delete_documents_by_term("file", _TABLE)
            entry = tantivy.Document(file=_TABLE)
            entry.add_bytes("table", msgspec.json.encode(table))
            writer.add_document(entry)

    @contextmanager
    def guarded(self, action: str) -> Iterator[None]:
        """Convert tantivy's exceptions to RqaError. `action` starts the message."""
        try:
            yield
        except BaseException as error:
            # For damaged files it raises PanicException, which is not an Exception and cannot be imported.
            if not isinstance(error, ValueError | OSError) and type(error).__name__ != "PanicException":
                raise
            raise self._failed(action, error) from error

    def _failed(self, action: str, error: BaseException | str) -> RqaError:
        hint = "If it is damaged, remove the folder and run `rqa index PATH...` again."
        if action == "Writing":
            hint = "Nothing is lost. Check that the disk is not full and is writable, then run `rqa index` again."
        elif isinstance(error, PermissionError) or "PermissionDenied" in str(error):
            hint = "Ask the owner of the folder for permission to write to it, which a search needs too."
        return RqaError(f"{action} the index at {self.folder} failed: {str(error)[:300]}", hint=hint)

    def _missing(self) -> MissingError:
        return MissingError(f"There is no index at {self.folder}.", hint="Create one with `rqa index PATH...`.")


def _warn_of(unknown: Mapping[str, str], query: str) -> None:
    """Warn of words that no passage has: in a question, only of words with digits and of misspelt ones."""
    is_short = len(content_terms(query)) <= _FEW
    told = [
        f'"{word}"' + (f': did you mean "{similar}"?' if similar else "")
        for word, similar in unknown.items()
        if similar or is_short or any(map(str.isdigit, word))
    ]
    if told:
        text = f"No passage has {', '.join(told)}"
        warn(text if text.endswith("?") else f"{text}.", lasting=True, shown=True)


def _passage(score: float, document: tantivy.Document) -> Passage:
    return Passage(
        text=decoded(document, "text"),
        id=decoded(document, "id"),
        title=decoded(document, "title"),
        source=decoded(document, "source") or str(document.get_first("file")),
        score=score,
        date=decoded(document, "date"),
        place=decoded(document, "place"),
        lines=tuple(accumulate(map(int, decoded(document, "lines").split()))),
        file=str(document.get_first("file")),
    )


def key_of(title: str, text: str) -> bytes:
    """Return the key of a passage, a hash of 16 bytes: passages with equal keys have equal vectors."""
    return hashlib.blake2b(f"{title}\0{text}".encode("utf-8", "backslashreplace"), digest_size=16).digest()


def add_searched(entry: tantivy.Document) -> None:
    """Add what is searched but not stored to `entry`, from its stored values: words, key, and what filters look at."""
    title, text, day = (decoded(entry, name) for name in ("title", "text", "day"))
    file, language = str(entry.get_first("file")), str(entry.get_first("language"))
    titled = _analysed_title(title, language)
    parts = " ".join([*compounds(f"{title} {text}").values(), *joined(f"{title} {text}")])
    entry.add_text("words", " ".join([*titled * 2, *analysed(f"{text} {parts}", language)]))
    entry.add_text("key", key_of(title, text).hex())
    for name, value in _filed(file):
        entry.add_text(name, value)
    entry.add_text("titled", " ".join(titled))
    digits = "".join(filter(str.isdecimal, day))
    entry.add_unsigned("since", int(digits[:8].ljust(8, "9")))  # the last day that YYYY or YYYY-MM can mean


@lru_cache(maxsize=1000)
def _analysed_title(title: str, language: str) -> list[str]:
    """Return the words of a title, which the passages of a document share."""
    return analysed(title, language)


@lru_cache(maxsize=1)
def _filed(file: str) -> list[tuple[str, str]]:
    """Return the fields that a file gives to each of its passages."""
    path = Path(file)
    suffixes = {path.suffix, Path(path.stem).suffix if path.suffix == ".gz" else path.suffix}
    under = [("under", str(place)) for place in (path, *path.parents)]
    return under + [("type", suffix.removeprefix(".").lower()) for suffix in suffixes]


def decoded(document: tantivy.Document, field: str) -> str:
    """Return the text in a bytes field, "" if it is not set."""
    return bytes(document.get_first(field) or b"").decode()
