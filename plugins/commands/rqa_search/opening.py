"""Open the file of a passage in the user's editor or pager."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import click

from robust_qa import InputError, RqaError

if TYPE_CHECKING:
    from robust_qa import Passage

_WITH_GOTO = {"code", "codium", "cursor"}  # these take no +LINE


def open_passage(passage: Passage) -> None:
    """Open the passage's file at its line with $VISUAL, $EDITOR or $PAGER, or a file without lines as the desktop does.

    Raises InputError if the passage is from no file, RqaError if the program does not start.
    """
    if not passage.file:
        raise InputError(f"The passage is not from a file: {passage.source or 'it has no source'}.")
    line = passage.place.removeprefix("line ").partition(",")[0]
    if not line.isdecimal():  # a page or a sheet
        click.launch(passage.file)
        return
    command = shlex.split(next(filter(None, map(os.environ.get, ("VISUAL", "EDITOR", "PAGER"))), "less"))
    at = ["--goto", f"{passage.file}:{line}"] if Path(command[0]).name in _WITH_GOTO else [f"+{line}", passage.file]
    try:
        ended = subprocess.run([*command, *at], check=False)  # noqa: S603
    except OSError as error:
        raise RqaError(
            f"Cannot start {command[0]}: {error.strerror}.", hint="Set VISUAL or EDITOR to the command of your editor."
        ) from error
    if ended.returncode:
        raise RqaError(f"{command[0]} ended with exit code {ended.returncode}.")
