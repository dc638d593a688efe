"""Rows of a batch: a line to a question, an answer to a line; and passages that people bring.

A row is a JSON object with `question` and, if it likes, `id` and `passages`; a line that begins with neither { nor [
is a question as it stands. What the object holds besides is passed through as it was written, byte for byte, in its
order, except for what is no JSON.
"""

from __future__ import annotations

import re
from collections.abc import Container
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import Raw

from ..calls.trace import outline
from ..documents.lines import LONGEST
from ..errors import InputError, RqaError
from ..types import Answer, Passage, Question

# The fields of an output line that are not the row's own. A row's field of such a name moves into `input`.
OWN_FIELDS = frozenset(
    """row answer abstained confidence citations conflicts reason usage seconds strategy details trace error
    input""".split()
)
_BOM = b"\xef\xbb\xbf"
# How files begin that are no UTF-8 text, with what each is and how it becomes such text.
_SIGNATURES = {
    b"\x1f\x8b": ("compressed", "gzip -dc FILE"),
    b"\x28\xb5\x2f\xfd": ("compressed", "zstd -dc FILE"),
    b"\xfd7zXZ\0": ("compressed", "xz -dc FILE"),
    b"BZh": ("compressed", "bzip2 -dc FILE"),
    b"\xff\xfe": ("UTF-16 text", "iconv -f UTF-16 -t UTF-8 FILE"),
    b"\xfe\xff": ("UTF-16 text", "iconv -f UTF-16 -t UTF-8 FILE"),
}

_ARRAY = re.compile(rb"\[\s*\{")
_EACH = "Write one object a line: jq -c '.[]' FILE"
_LONGEST_HEADER = 10_000  # bytes; no table has so many columns
_NAME = re.compile(r"[\w-]+")
# What other tools call the passages of a row.
_ELSEWHERE = "ctxs contexts context positive_ctxs paragraphs docs documents".split()

# What `portable` mends. Strings are matched whole, so that nothing inside one is taken for a number; also one that
# does not end, so that the time stays linear.
_STRING_OR_NAN = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|-?\b(?:NaN|Infinity)\b', re.DOTALL)
_ESCAPE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.", re.DOTALL
)


class _Given(msgspec.Struct):
    """A passage as rows bring it. `origin` is not theirs to set: what is brought is external."""

    text: str
    title: str | None = None
    id: Any = None
    source: str | None = None
    url: str | None = None
    score: Any = None


_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_passages = msgspec.json.Decoder(list[str | _Given] | None).decode
_decode_any = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the input: its number, from 1, and its fields as they were written."""

    number: int
    fields: dict[str, Raw]

    def question(self) -> Question:
        """What the row asks. InputError says which field does not fit."""
        if "question" not in self.fields:
            names = ", ".join(list(self.fields)[:8]) or "none"
            raise InputError(
                f"The row has no `question`; its fields are {names}.",
                hint="Rename the field that holds it, as in: jq -c '.question = .query' FILE",
            )
        text = _decode_any(self.fields["question"])
        if not isinstance(text, str) or not text.strip():
            raise InputError(f"`question` must be text, and it is {_shown(text)}.")
        return Question(text.strip(), self._id(), self._passages())

    def answered(self, answer: Answer, *, details: bool = False, trace: bool = False, passages: bool = True) -> bytes:
        """The output line of a row that has an answer, or an abstention; its trace in outline."""
        line = self._echo(passages)
        line["answer"] = answer.text
        line["abstained"] = answer.text is None
        line["confidence"] = answer.confidence
        line["citations"] = answer.citations
        if answer.conflicts:
            line["conflicts"] = answer.conflicts
        if answer.reason:
            line["reason"] = answer.reason
        line["usage"] = answer.usage
        line["seconds"] = round(answer.seconds, 4)
        line["strategy"] = answer.strategy
        if details:
            line["details"] = answer.details
        if trace:
            line["trace"] = list(map(outline, answer.trace))
        return _encode(line) + b"\n"

    def failed(self, error: RqaError, *, passages: bool = True) -> bytes:
        """The output line of a row that has none."""
        line = self._echo(passages)
        line["error"] = {"type": error.kind, "message": _writable(error.message), "row": self.number}
        if error.hint:
            line["error"]["hint"] = _writable(error.hint)
        line["usage"] = error.usage
        return _encode(line) + b"\n"

    def _echo(self, passages: bool) -> dict[str, Any]:
        line: dict[str, Any] = dict(self.fields)
        if not passages:
            line.pop("passages", None)
        if not OWN_FIELDS.isdisjoint(line):
            line["input"] = {name: line.pop(name) for name in self.fields if name in OWN_FIELDS and name in line}
        line["row"] = self.number
        return line

    def _id(self) -> str:
        raw = self.fields.get("id")
        written = "" if raw is None else bytes(raw).decode()
        if written.startswith('"'):
            return str(_decode_any(written))
        return "" if written == "null" else written  # a number keeps its digits

    def _passages(self) -> tuple[Passage, ...] | None:
        raw = self.fields.get("passages")
        if raw is None:
            return None
        try:
            given = _decode_passages(raw)
        except msgspec.ValidationError as error:
            raise InputError(
                f"`passages` do not fit: {_plain(error, 'passages')}.",
                hint='Write a list of texts, or of objects like {"text": ..., "title": ..., "source": ...}.',
            ) from error
        return None if given is None else tuple(map(_passage, given))


def bare(line: bytes) -> bytes:
    """What stands in a line, without a byte order mark: files put together have one wherever a file began."""
    return line.strip().removeprefix(_BOM).strip()


def check_rows(line: bytes, name: str = "The input") -> None:
    """InputError where an input whose first line is this is not made of rows, but of what can be turned into them."""
    for signature, (what, remedy) in _SIGNATURES.items():
        if line.startswith(signature):
            raise InputError(f"{name} is {what}.", hint=f"Make it UTF-8 text: {remedy} > ROWS")
    line = bare(line)
    if line in (b"{", b"["):
        raise InputError(
            f"{name} is JSON over several lines, and a row is one line.",
            hint="Write one object a line: jq -c . FILE, or jq -c '.[]' FILE for an array.",
        )
    if _ARRAY.match(line):
        raise InputError(f"{name} is a JSON array, and a row is an object.", hint=_EACH)
    header = line[:_LONGEST_HEADER].decode("utf-8", "replace").lower()
    for mark, option in (("\t", ', delimiter="\\t"'), (",", "")):
        names = [cell.strip().strip('"') for cell in header.split(mark)]
        if len(names) > 1 and "question" in names and all(map(_NAME.fullmatch, names)):
            raise InputError(
                f"{name} is a table, and a row is a JSON object.",
                hint="Write one object a line: python3 -c 'import csv, json; [print(json.dumps(row)) for row in "
                f'csv.DictReader(open(0, encoding="utf-8-sig"){option})]\' < FILE',
            )


def unread_passages(fields: Container[str]) -> str:
    """What to tell of a row that has no `passages`, and seems to have them in another field; "" of any other."""
    found = [name for name in _ELSEWHERE if name in fields and "passages" not in fields]
    return f"`{found[0]}` is not read: passages are in `passages`, see rqa-batch(1)" if found else ""


def parse_row(line: bytes, number: int) -> Row:
    """Line `number` as a row. InputError says why it is none."""
    if len(line) > LONGEST:
        raise InputError(f"The row is longer than {LONGEST >> 20} MiB.")
    line = bare(line)
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"The row is not UTF-8 text: {error.reason} at byte {error.start + 1}.",
            hint="Convert the file first: iconv -f LATIN1 -t UTF-8 FILE",
        ) from error
    if "\0" in text:
        raise InputError("The row holds NUL bytes: it is binary, or UTF-16 text.")
    if text[:1] not in ("{", "["):
        return Row(number, {"question": Raw(_encode(text))})
    return Row(number, _fields(line))


def read_passages(raw: bytes, name: str) -> list[Passage]:
    """The passages in a file's content: JSON lines, a JSON array, or plain text, a passage a paragraph.

    `name` is the file's, for messages, and for the source of plain text. Raises InputError.
    """
    try:
        text = raw.removeprefix(_BOM).decode()
    except UnicodeDecodeError as error:
        raise InputError(f"The passages in {name} are not UTF-8 text.", hint="Convert them with iconv.") from error
    if not text.strip():
        raise InputError(f"There are no passages in {name}.", hint="`rqa help ask` says how a file has them.")
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
        return msgspec.json.decode(portable(raw.removeprefix(_BOM)), type=list[Raw])
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError(f"{name} is not a JSON array of passages: {_plain(error)}.") from error


def _read_passage(raw: bytes | Raw, where: str) -> Passage:
    try:
        return _passage(msgspec.json.decode(portable(bytes(raw)), type=str | _Given))
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError(
            f"{where} is no passage: {_plain(error)}.",
            hint='Write each as an object like {"text": ..., "title": ..., "source": ...}.',
        ) from error


def _passage(given: str | _Given) -> Passage:
    if isinstance(given, str):
        return Passage(given)
    return Passage(
        given.text,
        "" if given.id is None else str(given.id),
        given.title or "",
        given.source or given.url or "",
        _number(given.score),
    )


def _number(score: Any) -> float:
    """A score, also one written as text, as DPR's files have it; 0 when it is no number."""
    try:
        return float(score)
    except (TypeError, ValueError, OverflowError):
        return 0.0


def _fields(line: bytes) -> dict[str, Raw]:
    with suppress(msgspec.DecodeError, RecursionError):
        return _decode_fields(line)
    line = portable(line)  # perhaps it is JSON but for what Python puts into it
    try:
        _decode_any(line)
        return _decode_fields(line)
    except msgspec.ValidationError as error:  # JSON, and no object
        raise InputError("The row is a JSON array, and not an object.", hint=_EACH) from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError(
            f"The row begins with {line[:1].decode()} and is not JSON: {_plain(error)}.",
            hint="Write one JSON object a line, as `jq -c .` does; a bare question that begins so goes into one: "
            '{"question": "..."}.',
        ) from error


def portable(json: bytes) -> bytes:
    """JSON of Python and pandas as others read it: NaN and infinities are null, halves of surrogate pairs U+FFFD."""

    def repair(match: re.Match[bytes]) -> bytes:
        token = match.group()
        if token[:1] != b'"':
            return b"null"
        return _ESCAPE.sub(lambda m: b"\\ufffd" if m.group(1) else m.group(), token)

    return _STRING_OR_NAN.sub(repair, json)


def _writable(text: str) -> str:
    """Text without halves of surrogate pairs, which UTF-8 has no bytes for."""
    return text.encode("utf-8", "replace").decode()


def _plain(error: Exception, root: str = "it") -> str:
    """msgspec's message for people: `$[0].title` as `passages[0].title`."""
    return str(error).removeprefix("JSON is malformed: ").replace("`$", f"`{root}").rstrip(".")


def _shown(value: Any) -> str:
    kinds = {str: "empty", bool: "true or false", list: "a list", dict: "an object", type(None): "null"}
    return kinds.get(type(value), "a number")
