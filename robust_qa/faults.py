"""What a strategy raises, told so that its author is the one who is blamed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .errors import PluginError, RqaError

PLUGIN_FAULT = "This is a fault of the plugin; RQA_DEBUG=1 shows where."


@contextmanager
def blaming_strategy(name: str) -> Iterator[None]:
    """Errors of rqa's tree pass, the first of several at once; anything else becomes a PluginError that names it."""
    try:
        yield
    except RqaError:
        raise
    except (Exception, SystemExit) as error:
        cause = _first(error)
        if isinstance(cause, RqaError):
            raise cause from error
        raise PluginError(
            f"Strategy {name!r} failed with {type(cause).__name__}: {cause}.", hint=PLUGIN_FAULT
        ) from error


def _first(error: BaseException) -> BaseException:
    """The first rqa error of failures that happened at once, else the first failure."""
    if not isinstance(error, ExceptionGroup):
        return error
    leaves = [_first(part) for part in error.exceptions]
    return next((leaf for leaf in leaves if isinstance(leaf, RqaError)), leaves[0])
