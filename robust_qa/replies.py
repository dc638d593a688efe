"""Placeholder until the strategies' branch lands."""

from __future__ import annotations

import json
from typing import Any


def parse_object(text: str) -> dict[str, Any] | None:
    try:
        parsed = json.loads(text[text.index("{") : text.rindex("}") + 1])
    except ValueError:
        return None
    return parsed if isinstance(parsed, dict) else None
