"""The errors of rqa, with the exit code of each.

RqaError                      1   base class
├── ConfigError               2   a configuration value, an option or a name is wrong
│   └── ExpressionError       2   a retriever expression does not parse
├── InputError                2   a question, row or input file is invalid
├── PluginError               1   a plugin does not load or breaks its contract
├── MissingError              4   a model, an index or a corpus is missing
├── ContextError              1   a prompt does not fit the reader's context window
├── BusyError                 1   another process holds a lock
└── CallError                 5   a component call failed
    ├── UnavailableError      5   the provider or the network failed; retried
    ├── RefusedError          5   the provider refused; not retried
    ├── CallTimeout           5   no reply in time; retried
    ├── ReplyError            5   the reply cannot be parsed; retried
    └── CutError              5   the reply was cut at max_tokens before the answer
"""

from __future__ import annotations

import enum
import errno
from collections.abc import Iterable, Sequence
from typing import Self

from .types import Usage

_SQLITE_IOERR, _SQLITE_FULL = 10, 13  # not imported: sqlite3 is slow to import


def did_you_mean(name: str, known: Iterable[str], *, likeness: float = 0.6) -> str:
    """Return "Did you mean 'x'?" for the most similar known name, or "" if none has at least this `likeness` (0-1)."""
    import difflib

    folded = {each.casefold(): each for each in known}
    close = difflib.get_close_matches(name.casefold(), folded, 1, likeness)
    return f"Did you mean {folded[close[0]]!r}?" if close else ""


def disk_hint(error: BaseException) -> str:
    """Return what to do if `error` of the system or of SQLite says that the disk is full, or may be, else ""."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "The disk is full. Free some space, then run the command again."
    may_be_full = getattr(error, "sqlite_errorcode", 0) & 0xFF in (_SQLITE_IOERR, _SQLITE_FULL)
    return "Check that the disk is not full." if may_be_full else ""


class Exit(enum.IntEnum):
    """The exit codes of all commands, documented in rqa(1)."""

    ANSWERED = 0
    FAILED = 1
    USAGE = 2
    ROWS_FAILED = 3
    MISSING = 4
    UNAVAILABLE = 5
    NEGATIVE = 6  # the command ran well, and its outcome is negative
    INTERRUPTED = 130


class RqaError(Exception):
    """Base class of the errors that rqa raises on purpose.

    `message` says what failed, `hint` how to fix it. `general` means that every other call would fail too, for
    example with a wrong key. `usage` counts the tokens spent before the error.
    """

    exit = Exit.FAILED
    retryable = False

    def __init__(self, message: str, *, hint: str = "", general: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.general = general
        self.usage = Usage()

    def __copy__(self) -> Self:
        # Do not call the constructor: a plugin's subclass may have other parameters.
        other = type(self).__new__(type(self), *self.args)
        other.__dict__.update(self.__dict__)
        return other

    @property
    def kind(self) -> str:
        """The error's name in JSON output."""
        return type(self).__name__


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, and the user was told what is done and how to go on."""


def interrupted(error: BaseException | None) -> bool:
    """Return whether `error` is a KeyboardInterrupt or caused by one."""
    return isinstance(error, KeyboardInterrupt) or (
        error is not None and isinstance(error.__cause__, KeyboardInterrupt)
    )


class ConfigError(RqaError):
    """A configuration value, an option or a name is wrong."""

    exit = Exit.USAGE

    @classmethod
    def of(cls, problems: Sequence[RqaError]) -> RqaError:
        """Return several problems as one error, one line each."""
        if len(problems) == 1:
            return problems[0]
        return cls("\n".join(f"{problem.message} {problem.hint}".strip() for problem in problems))


class ExpressionError(ConfigError):
    """A retriever expression does not parse."""


class InputError(RqaError):
    """A question, a row or an input file is invalid."""

    exit = Exit.USAGE


class PluginError(RqaError):
    """A plugin does not load, or a component breaks its contract."""


class MissingError(RqaError):
    """A model, an index or a corpus is missing."""

    exit = Exit.MISSING


class ContextError(RqaError):
    """A prompt does not fit the reader's context window, even after truncation."""


class BusyError(RqaError):
    """Another process holds a lock."""


class CallError(RqaError):
    """A component call failed."""

    exit = Exit.UNAVAILABLE


class UnavailableError(CallError):
    """The provider or the network failed; the same call may succeed later.

    `retry_after` is the wait in seconds that the provider asked for, or None. `limited` means that the call exceeded
    the provider's rate limit; `retry_after` implies it.
    """

    retryable = True

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        general: bool = False,
        retry_after: float | None = None,
        limited: bool = False,
    ) -> None:
        super().__init__(message, hint=hint, general=general)
        self.retry_after = retry_after
        self.limited = limited or retry_after is not None


class RefusedError(CallError):
    """The provider refused the call: a wrong key, an unknown model, a content filter. Not retried."""


class CallTimeout(CallError):
    """No reply within the component's timeout."""

    retryable = True


class ReplyError(CallError):
    """The reply cannot be parsed."""

    retryable = True


class CutError(CallError):
    """The reply ended before the answer, usually at `max_tokens`. Not retried, because it would end there again."""

    def __init__(
        self,
        message: str = "The language model's reply was cut at `max_tokens` before the answer.",
        *,
        hint: str = "Raise `max_tokens` of the reader or the strategy. A reasoning model needs several thousand. "
        "If the server's context window is full, enlarge it there and set `window` to its size.",
    ) -> None:
        super().__init__(message, hint=hint)
