"""Rows of a batch: read questions and passages, and write answers.

A row is a JSON object with `question` and optionally `id` and `passages`. A line that does not begin with { or [ is
a question. A table, such as CSV, has its fields in cells. Other fields are copied to the output byte for byte, in their
order, unless they are not valid JSON.
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
from ..kit.dates import iso_date
from ..types import Answer, Passage, Question
from .tables import table_delimiter, table_fields

# The fields that rqa adds to an output line. An input field of the same name moves into `input`.
OWN_FIELDS = frozenset(
    """row answer abstained confidence citations conflicts closest withstands reason usage seconds strategy details
    trace error input""".split()
)
_BOM = b"\xef\xbb\xbf"
# The first bytes of files that are not UTF-8 text: what they are, and how to convert them.
_SIGNATURES = {
    b"\x1f\x8b": ("compressed", "gzip -dc FILE"),
    b"\x28\xb5\x2f\xfd": ("compressed", "zstd -dc FILE"),
    b"\xfd7zXZ\0": ("compressed", "xz -dc FILE"),
    b"BZh": ("compressed", "bzip2 -dc FILE"),
    b"\xff\xfe": ("UTF-16 text", "iconv -f UTF-16 -t UTF-8 FILE"),
    b"\xfe\xff": ("UTF-16 text", "iconv -f UTF-16 -t UTF-8 FILE"),
}

_ARRAY = re.compile(rb"\[\s*\{")
_EACH = "Write one object per line: jq -c '.[]' FILE"
_OTHER_NAMES = "ctxs contexts context positive_ctxs paragraphs docs documents".split()  # of passages, in other tools

# Matches whole strings, so that `portable` changes no text in them. Unclosed strings too: that keeps the time linear.
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


_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_passages = msgspec.json.Decoder(list[str | _InputPassage] | None).decode
_decode_any = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the input: its number, from 1, and its fields as raw JSON."""

    number: int
    fields: dict[str, Raw]

    def question(self) -> Question:
        """The row's question. Raises InputError if a field is invalid."""
        if "question" not in self.fields:
            names = ", ".join(list(self.fields)[:8]) or "none"
            raise InputError(
                f"The row has no `question`; its fields are {names}.",
                hint="Rename the field of the question. Example: jq -c '.question = .query' FILE",
            )
        text = _decode_any(self.fields["question"])
        if not isinstance(text, str) or not text.strip():
            raise InputError(f"`question` must be text, but it is {_type_name(text)}.")
        repetition = _decode_any(self.fields.get("repetition", Raw(b"0")))
        return Question(text.strip(), self._id(), self._passages(), repetition if isinstance(repetition, int) else 0)

    def answered(self, answer: Answer, *, details: bool = False, trace: bool = False, passages: bool = True) -> bytes:
        """The output line for an answer or an abstention, with an outline of the trace."""
        line = self._echo(passages)
        line["answer"] = answer.text
        line["abstained"] = answer.text is None
        line["confidence"] = answer.confidence
        line["citations"] = answer.citations
        if answer.conflicts:
            line["conflicts"] = answer.conflicts
        if answer.closest:
            line["closest"] = answer.closest
        if answer.withstands is not None:
            line["withstands"] = answer.withstands
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
        """The output line for a row that failed."""
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
        text = "" if raw is None else bytes(raw).decode()
        if text.startswith('"'):
            return str(_decode_any(text))
        return "" if text == "null" else text  # a number keeps its digits

    def _passages(self) -> tuple[Passage, ...] | None:
        raw = self.fields.get("passages")
        if raw is None:
            return None
        try:
            passages = _decode_passages(raw)
        except msgspec.ValidationError as error:
            raise InputError(
                f"`passages` is invalid: {_plain(error, 'passages')}.",
                hint='Write a list of texts, or of objects like {"text": ..., "title": ..., "source": ...}.',
            ) from error
        return None if passages is None else tuple(map(_passage, passages))


def bare(line: bytes) -> bytes:
    """`line` without white space and byte order mark at its ends."""
    return line.strip().removeprefix(_BOM).strip()


def check_rows(line: bytes, name: str = "The input") -> None:
    """Raises InputError if the first `line` of an input shows that it must be converted to rows first."""
    for signature, (what, command) in _SIGNATURES.items():
        if line.startswith(signature):
            raise InputError(f"{name} is {what}.", hint=f"Convert it to UTF-8 text: {command} > ROWS")
    line = bare(line)
    if line in (b"{", b"["):
        raise InputError(
            f"{name} is JSON over several lines, but a row must be one line.",
            hint="Write one object per line: jq -c . FILE, or jq -c '.[]' FILE for an array.",
        )
    if _ARRAY.match(line):
        raise InputError(f"{name} is a JSON array, but a row must be an object.", hint=_EACH)
    if b"\n" not in line and table_delimiter(line):
        raise InputError(f"{name} is a table, but a row must be a JSON object.", hint="Convert it to JSON lines.")


def unread_passages(fields: Container[str]) -> str:
    """A warning for a row whose passages seem to be in another field than `passages`, else ""."""
    found = [name for name in _OTHER_NAMES if name in fields and "passages" not in fields]
    return f"`{found[0]}` is not read: passages are in `passages`, see rqa-batch(1)" if found else ""


def parse_row(line: bytes, number: int) -> Row:
    """Parse the row at line `number`. Raises InputError if it is not valid."""
    if len(line) > LONGEST:
        raise InputError(f"The row is longer than {LONGEST >> 20} MiB.")
    in_table = line.find(b"\n", 0, -1) >= 0  # below its header
    line = line if in_table else bare(line)
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"The row is not UTF-8 text: {error.reason} at byte {error.start + 1}.",
            hint="Convert the file first: iconv -f LATIN1 -t UTF-8 FILE",
        ) from error
    if "\0" in text:
        raise InputError("The row has NUL bytes. The file is binary or UTF-16 text.")
    if in_table:
        return Row(number, {name: Raw(_encode(value)) for name, value in table_fields(line).items()})
    if text[:1] not in ("{", "["):
        return Row(number, {"question": Raw(_encode(text))})
    return Row(number, _fields(line))


def read_passages(raw: bytes, name: str) -> list[Passage]:
    """The passages in a file's content: JSON Lines, a JSON array, or plain text with a passage per paragraph.

    `name`: the file's name, for messages and as the source of plain text. Raises InputError.
    """
    try:
        text = raw.removeprefix(_BOM).decode()
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
        return msgspec.json.decode(portable(raw.removeprefix(_BOM)), type=list[Raw])
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError(f"{name} is not a JSON array of passages: {_plain(error)}.") from error


def _read_passage(raw: bytes | Raw, where: str) -> Passage:
    try:
        return _passage(msgspec.json.decode(portable(bytes(raw)), type=str | _InputPassage))
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError(
            f"{where} is not a passage: {_plain(error)}.",
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


def _fields(line: bytes) -> dict[str, Raw]:
    with suppress(msgspec.DecodeError, RecursionError):
        return _decode_fields(line)
    line = portable(line)
    try:
        _decode_any(line)
        return _decode_fields(line)
    except msgspec.ValidationError as error:
        raise InputError("The row is a JSON array, not an object.", hint=_EACH) from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError(
            f"The row begins with {line[:1].decode()} but is not JSON: {_plain(error)}.",
            hint='Write one JSON object per line: `jq -c . FILE`. Write a plain question as {"question": "..."}.',
        ) from error


def portable(json: bytes) -> bytes:
    """Valid JSON from Python's and pandas' JSON: null for NaN and infinity, U+FFFD for lone surrogates."""

    def repair(match: re.Match[bytes]) -> bytes:
        token = match.group()
        if token[:1] != b'"':
            return b"null"
        return _ESCAPE.sub(lambda m: b"\\ufffd" if m.group(1) else m.group(), token)

    return _STRING_OR_NAN.sub(repair, json)


def _writable(text: str) -> str:
    """`text` without lone surrogates, which UTF-8 cannot encode."""
    return text.encode("utf-8", "replace").decode()


def _plain(error: Exception, root: str = "it") -> str:
    """The message of a msgspec error, with `passages[0].title` for `$[0].title`."""
    return str(error).removeprefix("JSON is malformed: ").replace("`$", f"`{root}").rstrip(".")


def _type_name(value: Any) -> str:
    kinds = {str: "empty", bool: "true or false", list: "a list", dict: "an object", type(None): "null"}
    return kinds.get(type(value), "a number")
