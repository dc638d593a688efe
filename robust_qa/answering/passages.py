"""Read passages that somebody wrote: JSON Lines, a JSON array, or plain text."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from msgspec import Raw

from ..errors import InputError
from ..kit.dates import iso_date
from ..types import Passage

BOM = b"\xef\xbb\xbf"
_STRING_OR_NAN = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|-?\b(?:NaN|Infinity)\b', re.DOTALL)
_ESCAPE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.", re.DOTALL
)


class _InputPassage(msgspec.Struct):
    """A passage in a row. It cannot set its `origin`, which is always external."""

    text: str
    title: str | None = None
    id: Any = None
    source: str | None = None
    url: str | None = None
    score: Any = None
    date: Any = None


_decode_passages = msgspec.json.Decoder(list[str | _InputPassage] | None).decode


def read_passages(raw: bytes, name: str) -> list[Passage]:
    """The passages in a file's content: JSON Lines, a JSON array, or plain text with a passage per paragraph.

    `name`: the file's name, for messages and as the source of plain text. Raises InputError.
    """
    try:
        text = raw.removeprefix(BOM).decode()
    except UnicodeDecodeError as error:
        raise InputError(f"The passages in {name} are not UTF-8 text.", hint="Convert them with iconv.") from error
    if not text.strip():
        raise InputError(f"There are no passages in {name}.", hint="`rqa help ask` describes the format.")
    opening = text.lstrip()[0]
    if opening == "[":
        return [_read_passage(item, f"{name}, item {n}") for n, item in enumerate(_read_array(raw, name), start=1)]
    if opening == "{":
        lines = enumerate(text.split("\n"), start=1)
        return [_read_passage(line.encode(), f"{name}, line {n}") for n, line in lines if line.strip()]
    paragraphs = filter(str.strip, re.split(r"\n\s*\n", text))
    return [Passage(p.strip(), id=str(n), source=name) for n, p in enumerate(paragraphs, start=1)]


def _read_array(raw: bytes, name: str) -> list[Raw]:
    try:
        return msgspec.json.decode(portable(raw.removeprefix(BOM)), type=list[Raw])
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError(f"{name} is not a JSON array of passages: {plain(error)}.") from error


def _read_passage(raw: bytes | Raw, where: str) -> Passage:
    try:
        return _passage(msgspec.json.decode(portable(bytes(raw)), type=str | _InputPassage))
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError(
            f"{where} is not a passage: {plain(error)}.",
            hint='Write each passage as an object: {"text": ..., "title": ..., "source": ...}.',
        ) from error


def _passage(passage: str | _InputPassage) -> Passage:
    if isinstance(passage, str):
        return Passage(passage)
    return Passage(
        passage.text,
        "" if passage.id is None else str(passage.id),
        passage.title or "",
        passage.source or passage.url or "",
        _number(passage.score),
        date=iso_date(str(passage.date)),
    )


def _number(score: Any) -> float:
    """A score as a number. Files in the format of DPR write it as text. 0 if it is not a number."""
    try:
        return float(score)
    except (TypeError, ValueError, OverflowError):
        return 0.0


def passages_of(raw: bytes | Raw) -> tuple[Passage, ...] | None:
    """The passages in a JSON array, None for null. Raises InputError."""
    try:
        passages = _decode_passages(raw)
    except msgspec.ValidationError as error:
        raise InputError(
            f"`passages` is invalid: {plain(error, 'passages')}.",
            hint='Write a list of texts, or of objects like {"text": ..., "title": ..., "source": ...}.',
        ) from error
    return None if passages is None else tuple(map(_passage, passages))


def plain(error: Exception, root: str = "it") -> str:
    """The message of a msgspec error, with `passages[0].title` for `$[0].title`."""
    return str(error).removeprefix("JSON is malformed: ").replace("`$", f"`{root}").rstrip(".")


def portable(json: bytes) -> bytes:
    """Valid JSON from Python's and pandas' JSON: null for NaN and infinity, U+FFFD for lone surrogates."""

    def repair(match: re.Match[bytes]) -> bytes:
        token = match.group()
        if token[:1] != b'"':
            return b"null"
        return _ESCAPE.sub(lambda m: b"\\ufffd" if m.group(1) else m.group(), token)

    return _STRING_OR_NAN.sub(repair, json)
