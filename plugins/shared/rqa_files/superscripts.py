"""Superscript text, such as powers and marks of notes, in plain form."""

from __future__ import annotations

import re

_MARK = re.compile(r"[\d\s,;–-]+|\[[^\n]{1,28}\]|\S")  # a note mark: 3, [note 4], *
_SIGNED = re.compile(r"[-+−–]?\d")
_CLOSED, _ENDED = frozenset(")]}"), frozenset('.,;:!?"’”')


def superscript(before: str, shown: str, *, refers: bool = False) -> str:
    """Return superscript text in plain form, after the character `before`: 2^32, 1925.[3], or `shown` unchanged.

    Returns "" for a mark that `refers` to a note.
    """
    if refers and _MARK.fullmatch(shown):
        return ""
    if _SIGNED.match(shown) and (before.isalnum() or before in _CLOSED):
        return f"^{shown}"
    return f"[{shown}]" if _SIGNED.match(shown) and before in _ENDED else shown
