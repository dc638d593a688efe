"""Search in a file of results, ranked by the words they share with the query."""

from __future__ import annotations

import asyncio
import hashlib
import math
from codecs import BOM_UTF8
from collections import defaultdict
from pathlib import Path

import msgspec

from robust_qa import InputError, MissingError
from robust_qa.kit import words

from .providers import Result, is_web


class _Line(msgspec.Struct):
    title: str | None = None
    url: str | None = None
    text: str | None = None
    snippet: str | None = None


class Static:
    """The results in a JSON Lines file. Lines without `text` are fetched from their `url`."""

    def __init__(self, path: Path) -> None:
        """Raises MissingError if the file cannot be read, InputError if a line is invalid."""
        try:
            content = path.read_bytes()
        except OSError as error:
            raise MissingError(
                f"Cannot read the search results {path}: {error.strerror}.",
                hint="Correct `file` in the retriever's table.",
            ) from error
        self.digest = hashlib.sha256(content).hexdigest()
        self._results = [
            _result(line, path, number)
            for number, line in enumerate(content.removeprefix(BOM_UTF8).splitlines(), start=1)
            if line.strip()
        ]
        self._places: defaultdict[str, list[int]] = defaultdict(list)
        for place, result in enumerate(self._results):
            for word in set(words(f"{result.title} {result.snippet} {result.text}")):
                self._places[word].append(place)

    async def search(self, query: str, results: int) -> list[Result]:
        """Return the results that share words with the query. Rare words count more."""
        return await asyncio.to_thread(self._best, query, results)

    def _best(self, query: str, results: int) -> list[Result]:
        shared: defaultdict[int, float] = defaultdict(float)
        for word in dict.fromkeys(words(query)):
            places = self._places.get(word, [])
            for place in places:
                shared[place] += math.log(1 + len(self._results) / len(places))
        best = sorted(shared, key=lambda place: (-shared[place], place))
        return [self._results[place] for place in best[:results]]

    async def close(self) -> None:
        """Do nothing."""


def _result(line: bytes, path: Path, number: int) -> Result:
    where = f"Line {number} of the search results {path}"
    try:
        found = msgspec.json.decode(line, type=_Line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(
            f"{where} is not valid: {error}.",
            hint='Write {"title": "...", "url": "https://...", "text": "..."}.',
        ) from error
    if not found.text and not is_web(found.url):
        raise InputError(f"{where} has neither `text` nor an http or https `url`.")
    return Result(found.url or f"{path.name}:{number}", found.title or "", found.snippet or "", found.text or "")
