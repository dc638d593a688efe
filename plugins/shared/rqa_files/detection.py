"""Determine the format of a file: by its first bytes, then by its suffix, then by how its text begins."""

from __future__ import annotations

import re
from pathlib import Path

from robust_qa import FileFormat

from .blocks import Unreadable
from .document import LIMIT, File, Formats
from .encodings import is_text

NOT_TEXT = "it is neither text nor a supported format"
PLAIN = FileFormat("plain", "rqa_files.reading:read_text_file", "txt|text")
"""The format of text that no other format claims."""


def format_of(file: File) -> FileFormat | None:
    """Return the format of `file`, None if it is neither text nor of a registered format.

    Raises OSError and Unreadable.
    """
    for each in file.formats:
        if each.magic and re.match(each.magic, file.head) and _opens(each, file):
            return each
    if not is_text(file.head) or file.path.name.startswith("~$"):  # Word's mark of an open file
        return None
    texts = [each for each in file.formats if not each.magic]
    suffix = file.suffix.removeprefix(".")
    by_suffix = (each for each in texts if each.has_suffix(suffix) and _opens(each, file))
    by_text = (each for each in texts if not each.suffixes and _opens(each, file))
    return next(by_suffix, None) or next(by_text, PLAIN)


def _opens(format: FileFormat, file: File) -> bool:
    return not format.opens or bool(format.loaded(format.opens)(file))


def is_readable(path: Path, formats: Formats) -> bool:
    """Return whether the file at `path` has a format, by its content or its suffix. Raises OSError."""
    file = File(path, LIMIT, formats=formats)
    try:
        return format_of(file) is not None or has_known_suffix(file)
    except Unreadable:
        return has_known_suffix(file)


def has_known_suffix(file: File) -> bool:
    """Return whether the suffix of a file is that of a format."""
    suffix = file.suffix.removeprefix(".")
    return any(each.has_suffix(suffix) for each in (PLAIN, *file.formats) if each.magic or not each.opens)
