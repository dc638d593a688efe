"""The autorater's reply: whether the passages suffice, and how sure the answer is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from robust_qa.kit import NUMBER, Form, Labels, object_of, one_line, parse_object

RATING = Form(
    "rating", object_of(missing={"type": "string", "maxLength": 200}, sufficient={"type": "boolean"}, confidence=NUMBER)
)
_LABELS = Labels(
    lines=("sufficient", "confidence"), texts=("missing",), inside=(), outside=("missing", "sufficient", "confidence")
)
_YES_OR_NO = re.compile(r"\W*(?:(yes|true)|(no|false|not))\b", re.IGNORECASE)
_SHARE = re.compile(r"\W*(\d+(?:[.,]\d+)?)\s*(%)?")


@dataclass(frozen=True, slots=True)
class Rating:
    """Whether the passages suffice (None if unknown), the probability that the answer is right, and what is missing."""

    sufficient: bool | None = None
    confidence: float | None = None
    missing: str = ""


def parse_rating(reply: str) -> Rating:
    """Return the rating in a reply in either form. It never raises, and leaves out what it cannot read."""
    fields: Mapping[str, Any] = parse_object(reply, "sufficient") or _LABELS.parse(reply)[1]
    word = _YES_OR_NO.match(str(fields.get("sufficient", "")))
    return Rating(bool(word[1]) if word else None, _share(fields.get("confidence")), one_line(fields.get("missing")))


def _share(value: object) -> float | None:
    found = _SHARE.match(str(value))
    if not found:
        return None
    number = float(found[1].replace(",", "."))
    share = number / 100 if found[2] or number > 1 else number
    return share if share <= 1 else None
