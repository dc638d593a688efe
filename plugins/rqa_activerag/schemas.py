"""The JSON schemas of the replies. Fields stand in the order in which a model should think: the answer last."""

from __future__ import annotations

from typing import Any

_TEXT = {"type": "string"}
_MOST_CORRECTIONS = 10


def revision(size: int) -> dict[str, Any]:
    """A thought about `size` documents, corrected."""
    correction = _object(before=_TEXT, after=_TEXT, documents=_numbers(size))
    corrections = {"type": "array", "items": correction, "maxItems": _MOST_CORRECTIONS}
    return _object(corrections=corrections, thought=_TEXT, documents=_numbers(size), answer=_TEXT)


def conclusion(size: int) -> dict[str, Any]:
    """A thought about `size` documents, and the answer it leads to."""
    return _object(thought=_TEXT, documents=_numbers(size), answer=_TEXT)


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _numbers(size: int) -> dict[str, Any]:
    # Bounded, because a small model under constraint can go on listing until its tokens run out.
    return {"type": "array", "items": {"type": "integer"}, "maxItems": size}
