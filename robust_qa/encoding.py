"""An answer as JSON-ready data, and back. The formats that the ending of a file name asks for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from .types import Answer

ROW_FORMATS = ("jsonl", "json", "csv", "tsv")
ANSWER_FORMATS = (*ROW_FORMATS, "xlsx")  # of a batch
TEXT_FORMATS = ("txt", "md", "json")


def suffix_of(path: str | PurePath | None) -> str:
    """Return the ending of a file name in lower case without its dot, "" if it has none. None: standard output."""
    suffix = PurePath(path or "").suffix.lower().removeprefix(".")
    return "jsonl" if suffix == "ndjson" else suffix


def as_json(answer: Answer) -> dict[str, Any]:
    """Return the whole answer as JSON-ready data."""
    import msgspec

    built: dict[str, Any] = msgspec.to_builtins(answer)
    text = built.pop("text")
    built["standing"] = answer.standing
    if answer.abstained:  # the quotes that a person sees without an answer
        built["citations"] = msgspec.to_builtins(answer.numbered)
    return {
        "question": built.pop("question"),
        "answer": text,
        "abstained": answer.abstained,
        **built,
    }


def from_json(data: Mapping[str, Any]) -> Answer:
    """Return the answer that `as_json` turned into `data`."""
    import msgspec

    return msgspec.convert({**data, "text": data["answer"]}, Answer)
