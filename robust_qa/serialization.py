"""An answer as JSON-ready data, and back. The formats that the ending of a file name asks for."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from .types import Answer

ROW_FORMATS = ("jsonl", "json", "csv", "tsv")
ANSWER_FORMATS = (*ROW_FORMATS, "xlsx")  # of a batch
_APART = ("text", "question", "details", "trace")
TEXT_FORMATS = ("txt", "md", "json")


def suffix_of(path: str | PurePath | None) -> str:
    """Return the ending of a file name in lower case without its dot, "" if it has none. None: standard output."""
    suffix = PurePath(path or "").suffix.lower().removeprefix(".")
    return "jsonl" if suffix == "ndjson" else suffix


def fields_of(answer: Answer) -> dict[str, Any]:
    """Return the fields of an answer that every output has, in order. The values are objects, not JSON yet."""
    names = [each.name for each in dataclasses.fields(answer) if each.name not in _APART]
    return {
        "answer": answer.text,
        "abstained": answer.abstained,
        **{name: getattr(answer, name) for name in names},
        "citations": answer.numbered if answer.abstained else answer.citations,  # what a person sees without an answer
        "standing": answer.standing,
        "table_cell": answer.table_cell,
    }


def as_json(answer: Answer) -> dict[str, Any]:
    """Return the whole answer as JSON-ready data."""
    import msgspec

    apart = {"details": answer.details, "trace": answer.trace}
    built: dict[str, Any] = msgspec.to_builtins({"question": answer.question, **fields_of(answer), **apart})
    return built


def from_json(data: Mapping[str, Any]) -> Answer:
    """Return the answer that `as_json` turned into `data`."""
    import msgspec

    return msgspec.convert({**data, "text": data["answer"]}, Answer)
