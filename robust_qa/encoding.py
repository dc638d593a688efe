"""An answer as JSON-ready data, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .types import Answer


def as_json(answer: Answer) -> dict[str, Any]:
    """Return the whole answer as JSON-ready data."""
    import msgspec

    built: dict[str, Any] = msgspec.to_builtins(answer)
    text = built.pop("text")
    if answer.withstands is None:
        del built["withstands"]
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
