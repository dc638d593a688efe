"""What a strategy raises, told so that its author is the one who is blamed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .errors import PluginError, RqaError
from .returned import misfit
from .types import Answer

if TYPE_CHECKING:
    from .toolbox import Toolbox

PLUGIN_FAULT = "This is a fault of the plugin; RQA_DEBUG=1 shows where."


async def answer_of(name: str, strategy: Any, toolbox: Toolbox) -> Answer:
    """The answer of `strategy`, known as `name`, to the question of `toolbox`; PluginError where it gives none."""
    with blaming_strategy(name):
        given: Answer = await strategy.answer(toolbox.question.text, toolbox)
    if wrong := misfit(given, Answer):
        raise PluginError(
            f"Strategy {name!r} gave {wrong}.",
            hint=f"This is a fault of the plugin; `rqa plugins check {name}` says more.",
        )
    return given


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
