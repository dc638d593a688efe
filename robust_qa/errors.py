"""Every way rqa can fail, and the exit code each one ends the process with.

RqaError                      1   something failed; the message says what, the hint says what to do
├── ConfigError               2   a configuration value, an option or a name is wrong
│   └── ExpressionError       2   a retriever expression does not parse
├── InputError                2   a question, row or file handed in cannot be used
├── PluginError               1   a plugin cannot be loaded or breaks the contract
├── MissingError              4   a model, an index or a corpus is not there
├── ContextError              1   a prompt overflows the reader's window
├── BusyError                 1   another process holds what is needed
└── CallError                 5   a component call failed
    ├── UnavailableError      5   the provider or the network failed; worth another try
    ├── RefusedError          5   the provider refused; the same call will be refused again
    ├── CallTimeout           5   no reply in time; worth another try
    ├── ReplyError            5   the reply came and cannot be understood
    └── CutError              5   the reply was cut at max_tokens before it said what it had to
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from typing import Self

from .types import Usage


def did_you_mean(name: str, known: Iterable[str], *, likeness: float = 0.6) -> str:
    """ "Did you mean 'x'?", or nothing when no known name is near. `likeness` is from 0 to 1: how near."""
    import difflib

    folded = {each.casefold(): each for each in known}
    close = difflib.get_close_matches(name.casefold(), folded, 1, likeness)
    return f"Did you mean {folded[close[0]]!r}?" if close else ""


class Exit(enum.IntEnum):
    """The exit codes of every command; rqa(1) documents them."""

    ANSWERED = 0
    FAILED = 1
    USAGE = 2
    ROWS_FAILED = 3
    MISSING = 4
    UNAVAILABLE = 5
    INTERRUPTED = 130


class RqaError(Exception):
    """Base of all errors rqa raises on purpose.

    `message` says what was being done, and to what; `hint` says what to do next; `general` is whether any other call
    would fail alike, whatever it asked: a wrong key, a server that is not there. `usage` is what was spent before: a
    reply that came and is of no use, and in the end all the calls of a question that failed.
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
        # Not by its constructor, which a plugin's own error may have with other parameters.
        other = type(self).__new__(type(self), *self.args)
        other.__dict__.update(self.__dict__)
        return other

    @property
    def kind(self) -> str:
        """The error's name in JSON output."""
        return type(self).__name__


def interrupted(error: BaseException | None) -> bool:
    """Whether it is an interruption, also where Python has wrapped it: 3.11 does in what a class body calls."""
    seen: set[int] = set()  # the causes of a plugin's error may go round in a circle
    while error is not None and not isinstance(error, KeyboardInterrupt) and id(error) not in seen:
        seen.add(id(error))
        error = error.__cause__
    return isinstance(error, KeyboardInterrupt)


class ConfigError(RqaError):
    """A configuration value, an option or a name is wrong."""

    exit = Exit.USAGE

    @classmethod
    def of(cls, problems: Sequence[RqaError]) -> RqaError:
        """Several problems as one, a line each."""
        if len(problems) == 1:
            return problems[0]
        return cls("\n".join(f"{problem.message} {problem.hint}".strip() for problem in problems))


class ExpressionError(ConfigError):
    """A retriever expression does not parse."""


class InputError(RqaError):
    """A question, a row or a file that was handed in cannot be used."""

    exit = Exit.USAGE


class PluginError(RqaError):
    """A plugin cannot be loaded, or a component breaks its contract."""


class MissingError(RqaError):
    """A model, an index or a corpus is not there."""

    exit = Exit.MISSING


class ContextError(RqaError):
    """A prompt overflows the reader's window, and there is nothing left to cut."""


class BusyError(RqaError):
    """Another process holds what is needed."""


class CallError(RqaError):
    """A component call failed."""

    exit = Exit.UNAVAILABLE


class UnavailableError(CallError):
    """The provider or the network failed; the same call may succeed later.

    `retry_after` is the provider's own wish, in seconds, or None. `limited` says that it takes calls, and this was one
    too many; a wish says so, too.
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
    """The provider refused (a bad key, an unknown model, a filter); trying again will not help."""


class CallTimeout(CallError):
    """No reply within the component's timeout."""

    retryable = True


class ReplyError(CallError):
    """A reply arrived and cannot be understood."""

    retryable = True


class CutError(CallError):
    """A reply ended before it said what it had to, cut at `max_tokens` as a rule; it would end there again."""

    def __init__(
        self,
        message: str = "The language model's reply was cut at `max_tokens` before it came to an answer.",
        *,
        hint: str = "Raise `max_tokens` of the reader, or of the strategy where that has one; a model that reasons "
        "needs several thousand. A server whose window is full cuts sooner: enlarge that, and say so by `window`.",
    ) -> None:
        super().__init__(message, hint=hint)
