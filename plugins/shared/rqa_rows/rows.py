"""Rows of a batch: read questions and passages, and write answers.

A row is a JSON object with `question` and optionally `id` and `passages`, a question alone, or a row of a table, which
has its fields in cells. Other fields are copied to the output byte for byte, in their order, unless they are not valid
JSON.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Container, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
from msgspec import Raw

from robust_qa import Answer, InputError, Passage, Question, RqaError, Step
from robust_qa.answering import passages_of, plain, portable
from robust_qa.cli import fields_of

from .input import EACH, PASSAGES, bare, question_column, split_row, table_fields
from .lines import LONGEST

# The fields that rqa adds to an output line. An input field of the same name moves into `input`.
OWN_FIELDS = frozenset(("row", "details", "trace", "error", "input", *fields_of(Answer(None))))
_OTHER_NAMES = "ctxs contexts context positive_ctxs paragraphs docs documents".split()  # of passages, in other tools


_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_any = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class ParsedRow:
    """A row of the input: the number of its line, from 1, and its fields as raw JSON.

    `chosen`: the field with the question, "" to recognise it.
    """

    number: int
    fields: dict[str, Raw]
    chosen: str = ""

    @property
    def column(self) -> str:
        """The field that holds the question. "" if no field or more than one fits."""
        with suppress(InputError):
            return question_column(self.fields, self.chosen)
        return ""

    def question(self) -> Question:
        """The row's question. Raises InputError if a field is invalid."""
        column = question_column(self.fields, self.chosen)
        if not column:
            names = ", ".join(list(self.fields)[:8]) or "none"
            raise InputError(
                f"The row has no `{self.chosen or 'question'}`; its fields are {names}.",
                hint="Choose the field of the question with --column NAME.",
            )
        text = _decode_any(self.fields[column])
        if not isinstance(text, str) or not text.strip():
            raise InputError(f"`{column}` must be text, but it is {_type_name(text)}.")
        repetition = _decode_any(self.fields.get("repetition", Raw(b"0")))
        return Question(text.strip(), self._id(), self._passages(), repetition if isinstance(repetition, int) else 0)

    def answered(
        self, answer: Answer, *, details: bool = False, trace: bool | Literal["whole"] = False, passages: bool = True
    ) -> bytes:
        """The output line for an answer or an abstention, with an outline of the trace or the whole of it."""
        line = self._line(answer, passages)
        if details:
            line["details"] = answer.details
        if trace:
            line["trace"] = list(answer.trace if trace == "whole" else map(_outline, answer.trace))
        return _encode(line) + b"\n"

    def failed(self, error: RqaError, *, passages: bool = True) -> bytes:
        """The output line for a row that failed."""
        line = self._line(Answer(None, usage=error.usage), passages) | {"abstained": None}
        line["error"] = {"type": error.kind, "message": _writable(error.message), "row": self.number}
        if error.hint:
            line["error"]["hint"] = _writable(error.hint)
        return _encode(line) + b"\n"

    def _line(self, answer: Answer, passages: bool) -> dict[str, Any]:
        """The fields that every row has, so that programs need not ask which ones are there."""
        told = fields_of(answer)
        return self._echo(passages) | told | {"seconds": round(answer.seconds, 4), "error": None}

    def _echo(self, passages: bool) -> dict[str, Any]:
        line: dict[str, Any] = dict(self.fields)
        if not passages:
            for name in PASSAGES:
                line.pop(name, None)
        column = self.column
        moved = OWN_FIELDS if column == "question" else OWN_FIELDS | {"question"}
        if not moved.isdisjoint(line):
            line["input"] = {name: line.pop(name) for name in self.fields if name in moved and name in line}
        line["row"] = self.number
        if column:
            line.setdefault("question", self.fields[column])
        return line

    def _id(self) -> str:
        raw = self.fields.get("id")
        text = "" if raw is None else bytes(raw).decode()
        if text.startswith('"'):
            return str(_decode_any(text))
        return "" if text == "null" else text  # a number keeps its digits

    def _passages(self) -> tuple[Passage, ...] | None:
        raw = given_passages(self.fields)
        return None if raw is None else passages_of(raw)


def given_passages(fields: Mapping[str, Raw]) -> Raw | None:
    """The field with a row's passages, None without one."""
    return next((fields[name] for name in PASSAGES if name in fields), None)


def unread_passages(fields: Container[str]) -> str:
    """A warning for a row whose passages seem to be in another field than `passages`, else ""."""
    found = [name for name in _OTHER_NAMES if name in fields and "passages" not in fields]
    return f"`{found[0]}` is not read: passages are in `passages`, see rqa-batch(1)" if found else ""


def parse_row(row: bytes, number: int) -> ParsedRow:
    """Parse the row at line `number`. Raises InputError if it is not valid."""
    if len(row) > LONGEST:
        raise InputError(f"The row is longer than {LONGEST >> 20} MiB.")
    layout, line = split_row(row)
    is_table = layout is not None and bool(layout.delimiter)
    line = line if is_table else bare(line)
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"The row is not UTF-8 text: {error.reason} at byte {error.start + 1}.",
            hint="Convert the file first: iconv -f LATIN1 -t UTF-8 FILE",
        ) from error
    if "\0" in text:
        raise InputError("The row has NUL bytes. The file is binary or UTF-16 text.")
    if layout is None and text[:1] not in ("{", "["):
        return ParsedRow(number, {"question": Raw(_encode(text))})
    fields = {name: Raw(_encode(value)) for name, value in table_fields(row).items()} if is_table else _fields(line)
    return ParsedRow(number, fields, "" if layout is None else layout.column)


def _fields(line: bytes) -> dict[str, Raw]:
    with suppress(msgspec.DecodeError, RecursionError):
        return _decode_fields(line)
    line = portable(line)
    try:
        _decode_any(line)
        return _decode_fields(line)
    except msgspec.ValidationError as error:
        raise InputError("The row is JSON, but not an object.", hint=EACH) from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError(
            f"The row is not JSON: {plain(error)}.",
            hint='Write one JSON object per line: `jq -c . FILE`. Write a plain question as {"question": "..."}.',
        ) from error


def _writable(text: str) -> str:
    """`text` without lone surrogates, which UTF-8 cannot encode."""
    return text.encode("utf-8", "replace").decode()


def _type_name(value: Any) -> str:
    kinds = {str: "empty", bool: "true or false", list: "a list", dict: "an object", type(None): "null"}
    return kinds.get(type(value), "a number")


def _outline(step: Step) -> Step:
    """`step` without the prompt and the texts of passages, which many steps would repeat."""
    if step.kind == "note":
        return step
    data = {key: value for key, value in step.data.items() if key != "prompt"}
    passages = data.get("passages")
    if passages and isinstance(passages[0], dict):
        data["passages"] = [{key: passage[key] for key in ("id", "title", "score")} for passage in passages]
    return dataclasses.replace(step, data=data)
