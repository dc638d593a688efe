"""The nearest valid name, for errors."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str], *, likeness: float = 0.6) -> str:
    """ "Did you mean 'x'?", or nothing when no known name is near. `likeness` is from 0 to 1: how near."""
    folded = {each.casefold(): each for each in known}
    close = difflib.get_close_matches(name.casefold(), folded, 1, likeness)
    return f"Did you mean {folded[close[0]]!r}?" if close else ""
