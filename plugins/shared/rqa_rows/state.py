"""The state of a run: what its answers depend on. A run can only be continued with the same state."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from robust_qa import InputError
from robust_qa.version import __version__

from .identity import LACKING, NOTHING, depends_on, settings_of
from .input import bare, input_rows
from .lines import read_lines
from .rows import given_passages, parse_row

if TYPE_CHECKING:
    from robust_qa.answering import Session

NEW_RUN = "Use `--force` to start again and replace the answers."


class State(msgspec.Struct, frozen=True):
    """What the answers of a run depend on, saved as `OUT.state.json`.

    `input` is the SHA-256 of a regular file, None for a stream. Secrets are saved as asterisks.
    """

    rqa: str
    input: str | None
    plan: dict[str, str]
    configuration: dict[str, Any]

    @classmethod
    def load(cls, path: Path) -> State | None:
        """Read the state at `path`, None if it is missing or damaged. Raises InputError if it cannot be opened."""
        try:
            return msgspec.json.decode(path.read_bytes(), type=cls)
        except (FileNotFoundError, msgspec.DecodeError, RecursionError):
            return None
        except OSError as error:
            raise InputError(f"Cannot read {path}: {error.strerror}.") from error

    @classmethod
    def decoded(cls, stored: bytes, what: str) -> State:
        """Decode the state of the answers in `what`. Raises InputError if it is damaged."""
        try:
            return msgspec.json.decode(stored, type=cls)
        except (msgspec.DecodeError, RecursionError) as error:
            raise InputError(f"{what} cannot be continued: its state is damaged.", hint=NEW_RUN) from error

    def check_continues(self, now: State, what: str, *, retry: bool = False) -> None:
        """Raise InputError if `what`, which has answers with this state, cannot be continued by a run with `now`.

        With `retry`, a retriever may be new: the rows that needed one failed before and run again.
        """
        if changes := self._changes(now, retry=retry):
            raise InputError(
                f"{what} cannot be continued: {'; '.join(changes)}.",
                hint=f"Use the same input and configuration as before. {NEW_RUN}",
            )

    def _changes(self, now: State, *, retry: bool) -> list[str]:
        """The differences between this state and `now`, one phrase each."""
        phrases = []
        retriever_may_be_new = retry and self.plan.get(LACKING) == NOTHING
        if self.rqa != now.rqa:
            phrases.append(f"rqa {self.rqa} started it, and this is rqa {now.rqa}")
        if self.input != now.input:
            phrases.append("the input has changed")
        for before, after in ((self.plan, now.plan), (self.configuration, now.configuration)):
            for key in sorted(before.keys() | after.keys()):
                was, is_now = _shown(before, key), _shown(after, key)
                new_retriever = key == LACKING or (key.startswith("retriever ") and key not in before)
                if retriever_may_be_new and new_retriever:
                    continue
                if was != is_now:
                    phrases.append(f"`{key}` was {was} and is {is_now}")
        return phrases


def state_of(session: Session, found: Survey, has_passages: bool | None, how: Mapping[str, Any]) -> State:
    """The state of a new run over the surveyed input.

    `has_passages`: whether its rows bring passages, None without a row. `how`: arguments of `Session.choose`.
    """
    if has_passages is None:
        plan, options = dict[str, str](), settings_of(session, judged=False)
    else:
        plan, options = depends_on(session, has_passages=has_passages, lacking=found.lacking, **how)
    return State(__version__.rpartition(".")[0], found.digest, plan, options)


@dataclass(frozen=True, slots=True)
class Survey:
    """The input of a batch, read as a whole before the first call.

    `digest`: its SHA-256, None for a stream. `lacking`: whether some row has no passages.
    `rows`: their number without blank lines, None if unknown.
    """

    digest: str | None = None
    first: bytes | None = None  # row that is not blank
    lacking: bool = True
    rows: int | None = None


def survey(rows: Iterable[bytes]) -> Survey:
    """Survey the rows of an input, as `input_rows` returns them."""
    content, first, lacking, count = hashlib.sha256(), None, False, 0
    for row in rows:
        content.update(row.rstrip(b"\r\n") + b"\n")
        if bare(row):
            count += 1
            first = row if first is None else first
            lacking = lacking or _lacks_passages(row)
    return Survey(content.hexdigest(), first, lacking, count)


def survey_file(descriptor: int, name: str = "The input", column: str = "") -> Survey:
    """Survey the unread part of a regular file, and keep the file position. Of a stream nothing is known."""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        return Survey()
    position = os.lseek(descriptor, 0, os.SEEK_CUR)
    with os.fdopen(os.dup(descriptor), "rb") as file:
        found = survey(row for _, row in input_rows(read_lines(file), name, column))
    os.lseek(descriptor, position, os.SEEK_SET)
    return found


def _lacks_passages(line: bytes) -> bool:
    try:
        fields = parse_row(line, 0).fields
    except InputError:
        return False  # the row fails in any case
    return bytes(given_passages(fields) or b"null") == b"null"


def _shown(values: Mapping[str, Any], key: str) -> str:
    return str(values[key]) if key in values else "not set"
