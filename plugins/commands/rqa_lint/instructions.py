"""Instructions that are aimed at language models."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .finding import Finding, Place

_VERBS = r"(?:ignore|disregard|forget|override)"
_WHICH = r"(?:previous|prior|earlier|above|other|all)"
_WHAT = r"(?:documents?|passages?|sources?|instructions?|prompts?|context)"
_MODEL = r"(?:AI|LLM|language model|chat ?bot|assistant)"
_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b{_VERBS}\b[^.!?\n]{{0,40}}\b{_WHICH}\b[^.!?\n]{{0,30}}\b{_WHAT}\b",
        r"\b(?:answer|reply|respond|output|say)\b (?:exactly|only|just)(?: with)?\s*[:“\"']",
        rf"\b(?:as|you are|you're) (?:now )?(?:an?|the) {_MODEL}\b[^.!?\n]{{0,40}}\b(?:must|should|will|shall)\b",
        r"\b(?:do not|don't|never) (?:tell|reveal|mention|inform)\b[^.!?\n]{0,30}\bthe user\b",
        r"\bsystem prompt\b|<\|(?:im_start|system)\|>|\[/?INST\]|<<SYS>>",
    )
)


def instructions(given: Sequence[Place]) -> list[Finding]:
    """Return the places that tell a model what to do."""
    return [
        Finding("instruction", f"“{' '.join(match[0].split())}” may be aimed at a language model", (place,))
        for place in given
        if (match := next(filter(None, (pattern.search(place.text) for pattern in _PATTERNS)), None))
    ]
