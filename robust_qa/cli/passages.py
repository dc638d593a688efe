"""Passages that people bring on the command line."""

from __future__ import annotations

import sys
from pathlib import Path

from ..errors import InputError
from ..types import Passage


def passages_in(path: Path) -> tuple[Passage, ...]:
    """The passages in a file, which is stdin where it is named "-". InputError when there are none to be read."""
    try:
        raw = sys.stdin.buffer.read() if path == Path("-") else path.read_bytes()
    except OSError as error:
        raise InputError(
            f"Cannot read passages from {path}: {error.strerror}.", hint="Name a file, or - for standard input."
        ) from error
    from ..batch.rows import read_passages

    return tuple(read_passages(raw, "standard input" if path == Path("-") else str(path)))
