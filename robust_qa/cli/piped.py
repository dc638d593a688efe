"""What is piped into a command, as a document that is indexed like a file."""

from __future__ import annotations

import os
import re
import stat
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import click

from ..config import environment
from ..errors import InputError
from .run import Run

STDIN = Path("-")
_NAME = "standard input"
_MOST = 200_000_000  # bytes
_PATIENCE = 5.0  # seconds until a pipe that nobody asked to read is left alone
_KEPT = 24 * 3600  # seconds, so that a citation can still be opened
_HEAD = 1 << 16  # characters that tell the format of a text
_ROWS = 20  # lines of a table that have equally many cells


def with_stdin(paths: Sequence[Path]) -> tuple[Path, ...]:
    """Return the paths of --docs, with a file in the place of `-`, which reads stdin.

    Raises InputError if stdin is closed or empty.
    """
    if STDIN not in paths:
        return tuple(paths)
    if sys.stdin is None or not (content := _read(sys.stdin.buffer)):
        raise InputError(
            "There is no document on stdin.", hint='Example: git log | rqa ask --docs - "Who fixed the tests?"'
        )
    kept = _kept(content)
    return tuple(kept if path == STDIN else path for path in paths)


def piped_document(run: Run) -> Path | None:
    """Return a file with what is piped into this process, None if nothing is.

    A terminal, /dev/null and a file that a script has begun to read are no documents. Waits a few seconds for a pipe.
    """
    import select

    if sys.stdin is None:
        return None
    try:
        number = sys.stdin.fileno()
        kind = os.fstat(number).st_mode
        if stat.S_ISREG(kind):
            if os.lseek(number, 0, os.SEEK_CUR):  # the questions of `while read`
                return None
        elif not (stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind)):
            return None
        elif not select.select([number], [], [], _PATIENCE)[0]:
            run.say("nothing came from the pipe, so it is not read. To wait for it: --docs -. To close it: </dev/null")
            return None
        content = _read(sys.stdin.buffer)
    except OSError:  # closed, or a terminal that is gone
        return None
    return _kept(content) if content.strip() else None


def _read(stream: BinaryIO) -> bytes:
    content = stream.read(_MOST + 1)
    if len(content) > _MOST:
        raise InputError(f"There are more than {_MOST // 1_000_000} MB on stdin.", hint="Write a file and name it.")
    return content


def _kept(content: bytes) -> Path:
    """Write what was read into a file, whose folder is named after it: the same text needs no new index."""
    import hashlib
    import shutil

    parent = environment.cache_dir() / "piped"
    folder = parent / hashlib.sha256(content).hexdigest()[:20]
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for other in parent.iterdir():
            if other != folder and other.stat().st_mtime < time.time() - _KEPT:
                shutil.rmtree(other, ignore_errors=True)
        file = folder / f"{_NAME}{_suffix(content[:_HEAD].decode('utf-8', 'replace'), content)}"
        if not file.exists():
            file.write_bytes(content)
            file.chmod(0o600)
        os.utime(folder)
    except OSError as error:
        raise click.FileError(str(folder), f"{error.strerror}. {environment.elsewhere(folder)}") from error
    return file


def _suffix(head: str, content: bytes) -> str:
    """Return the suffix of the formats that are not told by their first bytes: data, tables and Markdown."""
    import csv
    import io
    import json

    begin = head.lstrip("\ufeff").lstrip()
    lines = begin.splitlines()
    if begin.startswith("<?xml"):
        return ".xml"
    if begin[:1] in ("{", "["):
        with suppress(ValueError):
            json.loads(lines[0])
            return ".jsonl"
        with suppress(ValueError):
            json.loads(content)
            return ".json"
    for suffix, delimiter in ((".tsv", "\t"), (".csv", ","), (".csv", ";")):
        with suppress(csv.Error):
            rows = list(csv.reader(io.StringIO("\n".join(lines[:_ROWS])), delimiter=delimiter))
            if len(rows) > 1 and len(rows[0]) > 1 and all(rows[0]) and len({*map(len, rows)}) == 1:
                return suffix
    return ".md" if re.match(r"#{1,6} \S.*\n\s*\n|---\n", begin) else ""
