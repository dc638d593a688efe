"""What is wrong with a component or raised by it, told so that its author is the one who is blamed."""

from __future__ import annotations

import asyncio
import inspect
import math
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cached_property
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, get_args

from .errors import PluginError, RqaError, UnavailableError, interrupted
from .returned import fitted
from .types import Answer, Power

if TYPE_CHECKING:
    from .toolbox import Toolbox

PLUGIN_FAULT = "This is a fault of the plugin; RQA_DEBUG=1 shows where."
CONTRACT = "This is a fault of the plugin; `rqa help plugin` has the contract."
_POWERS = frozenset(get_args(Power))
_METHODS: dict[str, tuple[Power, ...]] = {
    "retriever": ("retrieve",), "reader": ("read", "generate"), "evaluator": ("score",)
}  # fmt: skip
_MANY = ("", "_many")
_COUNT, _NUMBER = (Integral, 1, "a whole number from 1 on"), (Real, -math.inf, "a number")
# The numbers that a component may have, by kind: of what type, at least how much, and that for people.
_NUMBERS: dict[str, dict[str, tuple[type[Any], float, str]]] = {
    "": {"concurrency": _COUNT, "max_age": (Real, 0, "a number from 0 on")},
    "reader": {"window": _COUNT, "max_tokens": _COUNT},
    "evaluator": {"upper": _NUMBER, "lower": _NUMBER},
}
_CLOSING = 30.0  # seconds that an `async def close` may take by default


def _check_strategy(name: str, strategy: Any) -> None:
    if not (hasattr(strategy, "needs") and hasattr(strategy, "answer")):
        raise PluginError(f"Strategy {name!r} lacks `needs`, or the method `answer(question, toolbox)`.", hint=CONTRACT)
    _check_needs("strategy", name, strategy.needs)
    for attribute in ("hands_to", "scored_by"):
        if not are_names(others := getattr(strategy, attribute, ())):
            raise PluginError(
                f"Strategy {name!r} has {others!r} as `{attribute}`, and not a list of names.", hint=CONTRACT
            )


def check_component(kind: str, name: str, component: Any) -> None:
    """PluginError where `component`, known as `name`, lacks what its kind has: else another would be blamed."""
    if kind == "strategy":
        _check_strategy(name, component)
        return
    powers = _METHODS[kind]
    if not any(callable(getattr(component, power + many, None)) for power in powers for many in _MANY):
        lacks = " and ".join(f"`{power}`" for power in powers)
        raise PluginError(f"{kind.capitalize()} {name!r} lacks the method {lacks}.", hint=CONTRACT)
    for attribute, (number, least, told) in (_NUMBERS[""] | _NUMBERS.get(kind, {})).items():
        if isinstance(inspect.getattr_static(component, attribute, None), property | cached_property):
            continue  # it may ask an engine that is not loaded for this
        value = getattr(component, attribute, None)
        if value is not None and not (isinstance(value, number) and value >= least):
            raise PluginError(
                f"{kind.capitalize()} {name!r} has {value!r} as `{attribute}`, and not {told}.", hint=CONTRACT
            )
    _check_needs(kind, name, getattr(component, "needs", ()))


def are_names(value: Any) -> bool:
    """Whether it is a set or a list of names, which a text by itself is not."""
    return isinstance(value, Collection) and not isinstance(value, str) and all(isinstance(it, str) for it in value)


def _check_needs(kind: str, name: str, needs: Any) -> None:
    if not are_names(needs):
        raise PluginError(f"{kind.capitalize()} {name!r} has {needs!r} as `needs`, and not a set.", hint=CONTRACT)
    if unknown := sorted(map(repr, frozenset(needs) - _POWERS)):
        raise PluginError(
            f"{kind.capitalize()} {name!r} needs {', '.join(unknown)}, and can need {', '.join(sorted(_POWERS))}.",
            hint=CONTRACT,
        )


async def awaited(name: str, method: str, given: Any) -> Any:
    """What `given` comes to, which `method` of the strategy `name` returned; PluginError where that is no coroutine."""
    if not inspect.isawaitable(given):
        raise PluginError(f"`{method}` of strategy {name!r} is a plain `def`: write `async def`.", hint=CONTRACT)
    return await given


async def answer_of(name: str, strategy: Any, toolbox: Toolbox) -> Answer:
    """The answer of `strategy`, known as `name`, to the question of `toolbox`; PluginError where it gives none."""
    await asyncio.sleep(0)  # Ctrl-C may have come while this task computed: here it ends, and nobody is blamed
    with blaming(f"Strategy {name!r}"):
        given = await awaited(name, "answer", strategy.answer(toolbox.question.text, toolbox))
    answer: Answer
    answer, wrong = fitted(given, Answer)
    if wrong:
        raise PluginError(
            f"Strategy {name!r} gave {wrong}.",
            hint=f"This is a fault of the plugin; `rqa plugins check {name}` says more.",
        )
    return answer


@contextmanager
def blaming(name: str) -> Iterator[None]:
    """Errors of rqa's tree pass, the first of several at once; anything else becomes one that names the component."""
    before = cancellations()  # a task group that failed leaves the task that it was in asked to end (Python 3.11)
    try:
        yield
    except RqaError:
        raise
    except BaseException as error:  # a plugin does not end the process, nor does a panic of its compiled code
        if passes(error, before):
            raise
        raise _told(name, first_of(error)) from error


async def closed(name: str, component: Any, seconds: float = _CLOSING) -> str:
    """Close the component; what went wrong, so that others are closed, and answers stand, all the same."""
    before = cancellations()
    try:
        if (close := getattr(component, "close", None)) is not None:
            async with asyncio.timeout(seconds):
                ending = close()
                if inspect.isawaitable(ending):
                    await ending
    except BaseException as error:
        if passes(error, before):
            raise
        return f"{name} cannot be closed: {type(error).__name__}: {error}".rstrip(": ") + "."
    return ""


def passes(error: BaseException, before: int = 0) -> bool:
    """Whether what came out of a plugin is not of its making: Ctrl-C, or the end of this task.

    A cancellation that nobody asked for since the task had been asked `before` times must not be taken for its end.
    """
    if isinstance(error, asyncio.CancelledError):
        return cancellations() > before
    if isinstance(error, GeneratorExit):
        return _task() is None  # Python closes the coroutine; in a running task, the plugin raised it
    return interrupted(error)


def cancellations() -> int:
    """How many times the current task was asked to end."""
    task = _task()
    return task.cancelling() if task else 0


def _task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:  # there is no event loop
        return None


def _told(name: str, error: BaseException) -> RqaError:
    if isinstance(error, RqaError):
        return error
    if isinstance(error, ConnectionError | TimeoutError):  # of its own, that it did not translate
        unreachable = isinstance(error, ConnectionRefusedError)
        return UnavailableError(f"{name} failed: {error or type(error).__name__}.", general=unreachable)
    if isinstance(error, asyncio.CancelledError):
        return PluginError(f"{name} let a cancellation of its own escape.", hint=PLUGIN_FAULT)
    return PluginError(f"{name} failed with {type(error).__name__}: {error}.", hint=PLUGIN_FAULT)


def first_of(error: BaseException) -> BaseException:
    """The first rqa error of failures that happened at once, else the first failure."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    leaves = [first_of(part) for part in error.exceptions]
    return next((leaf for leaf in leaves if isinstance(leaf, RqaError)), leaves[0])
