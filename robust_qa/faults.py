"""What is wrong with a strategy or raised by it, told so that its author is the one who is blamed."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, get_args

from .errors import PluginError, RqaError
from .returned import misfit
from .types import Answer, Power

if TYPE_CHECKING:
    from .toolbox import Toolbox

PLUGIN_FAULT = "This is a fault of the plugin; RQA_DEBUG=1 shows where."
_CONTRACT = "This is a fault of the plugin; `rqa help plugin` has the contract."
_POWERS = frozenset(get_args(Power))


def check_strategy(name: str, strategy: Any) -> None:
    """PluginError where `strategy`, known as `name`, lacks what a strategy has, or needs what there is not."""
    if not (hasattr(strategy, "needs") and hasattr(strategy, "answer")):
        raise PluginError(
            f"Strategy {name!r} lacks `needs`, or the method `answer(question, toolbox)`.", hint=_CONTRACT
        )
    if unknown := sorted(map(repr, frozenset(strategy.needs) - _POWERS)):
        raise PluginError(
            f"Strategy {name!r} needs {', '.join(unknown)}, and a strategy can need {', '.join(sorted(_POWERS))}.",
            hint=_CONTRACT,
        )


async def awaited(name: str, method: str, given: Any) -> Any:
    """What `given` comes to, which `method` of the strategy `name` returned; PluginError where that is no coroutine."""
    if not inspect.isawaitable(given):
        raise PluginError(f"`{method}` of strategy {name!r} is a plain `def`: write `async def`.", hint=_CONTRACT)
    return await given


async def answer_of(name: str, strategy: Any, toolbox: Toolbox) -> Answer:
    """The answer of `strategy`, known as `name`, to the question of `toolbox`; PluginError where it gives none."""
    with blaming_strategy(name):
        given: Answer = await awaited(name, "answer", strategy.answer(toolbox.question.text, toolbox))
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
