"""The JSON schemas of the replies. Fields stand in the order in which a model should think: the answer last."""

from __future__ import annotations

from typing import Any

_TEXT = {"type": "string"}


def memory(limit: int) -> dict[str, Any]:
    """At most `limit` passages."""
    return _object(passages=_list(_TEXT, limit))


def consolidation(size: int) -> dict[str, Any]:
    """New documents made from `size` documents."""
    return _object(consolidated=_list(_object(documents=_numbers(size), text=_TEXT), size))


def verdict(size: int) -> dict[str, Any]:
    """Groups of `size` documents, each with its candidate answer, and the final answer."""
    group = _object(documents=_numbers(size), summary=_TEXT, answer=_TEXT, confidence={"type": "number"})
    return _object(groups=_list(group, size), reason=_TEXT, answer=_TEXT)


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(items: dict[str, Any], longest: int) -> dict[str, Any]:
    # Bounded, because a small model under constraint can go on listing until its tokens run out.
    return {"type": "array", "items": items, "maxItems": longest}


def _numbers(size: int) -> dict[str, Any]:
    return _list({"type": "integer"}, size)
