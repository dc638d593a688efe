"""The contract of components: check them and their results, and attribute errors to the plugin."""

from __future__ import annotations

import asyncio
import inspect
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import cached_property
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, get_args
from uuid import UUID

import msgspec

from ..errors import PluginError, RqaError, UnavailableError, disk_hint, interrupted
from ..kit.citations import is_from
from ..sanitize import whole_characters
from ..types import Answer, Citation, Passage, Power, Quote, Reading, Usage, are_names
from .concurrency import in_daemon

if TYPE_CHECKING:
    from ..protocols import Toolbox

PLUGIN_FAULT = "This is a fault of the plugin. RQA_DEBUG=1 shows where."
CONTRACT = "This is a fault of the plugin. `rqa help plugin` has the contract."

_POWERS = frozenset(get_args(Power))
_METHODS: dict[str, tuple[str, ...]] = {
    "retriever": ("retrieve",),
    "reader": ("read", "generate"),
    "evaluator": ("score",),
    "embedder": ("embed",),
    "checker": ("check",),
    "recorder": ("add",),
    "engine": ("run",),
}
_COUNT, _NUMBER = (Integral, 1, "a whole number of 1 or more"), (Real, -math.inf, "a number")
# Optional numbers of a component, by kind: type, minimum, and a description of both.
_NUMBERS: dict[str, dict[str, tuple[type[Any], float, str]]] = {
    "": {"concurrency": _COUNT, "max_age": (Real, 0, "a number of 0 or more")},
    "reader": {"window": _COUNT, "max_tokens": _COUNT},
    "evaluator": {"upper": _NUMBER, "lower": _NUMBER},
}
_CLOSING = 30.0  # seconds that `close` may take
_SLACK = 1e-3  # tolerance for rounding errors
# msgspec would write these as text, but a component must not return them as text.
_NOT_TEXT = (bytes, bytearray, memoryview, UUID, Decimal, datetime, date, time, timedelta)


def check_component(kind: str, name: str, component: Any) -> None:
    """Raise PluginError if `component` lacks a method or has an invalid attribute of its kind."""
    what = f"{kind.capitalize()} {name!r}"
    if kind == "strategy":
        if not (hasattr(component, "needs") and hasattr(component, "answer")):
            raise PluginError(f"{what} lacks `needs`, or the method `answer(question, toolbox)`.", hint=CONTRACT)
        _check_needs(what, component.needs)
        for attribute in ("hands_to", "scored_by", "read_by"):
            if not are_names(others := getattr(component, attribute, ())):
                raise PluginError(f"{what} has {others!r} as `{attribute}`, not a list of names.", hint=CONTRACT)
        return
    powers = _METHODS[kind]
    if not any(callable(getattr(component, power + many, None)) for power in powers for many in ("", "_many")):
        methods = " and ".join(f"`{power}`" for power in powers)
        raise PluginError(f"{what} lacks the method {methods}.", hint=CONTRACT)
    for attribute, (number, minimum, description) in (_NUMBERS[""] | _NUMBERS.get(kind, {})).items():
        if isinstance(inspect.getattr_static(component, attribute, None), property | cached_property):
            continue  # reading it may load the engine
        value = getattr(component, attribute, None)
        if value is not None and not (isinstance(value, number) and value >= minimum):
            raise PluginError(f"{what} has {value!r} as `{attribute}`, not {description}.", hint=CONTRACT)
    _check_needs(what, getattr(component, "needs", ()))


def _check_needs(what: str, needs: Any) -> None:
    if not are_names(needs):
        raise PluginError(f"{what} has {needs!r} as `needs`, not a set of names.", hint=CONTRACT)
    if unknown := sorted(map(repr, frozenset(needs) - _POWERS)):
        known = ", ".join(sorted(_POWERS))
        raise PluginError(f"{what} needs {', '.join(unknown)}. It can need {known}.", hint=CONTRACT)


@contextmanager
def attributed(name: str) -> Iterator[None]:
    """Turn errors of the block into a PluginError or UnavailableError that names `name`. Keeps rqa's own errors."""
    before = cancellations()  # a task group that failed leaves its task cancelled (Python 3.11)
    try:
        yield
    except RqaError:
        raise
    except BaseException as error:  # panics of compiled code are not Exceptions
        if passes(error, before):
            raise
        raise _translated(name, first_of(error)) from error


async def closed(name: str, component: Any, seconds: float | None = None) -> str:
    """Close the component, a plain `def` in a thread. Return an error message instead of raising, "" if it closed."""
    if (close := getattr(component, "close", None)) is None:
        return ""
    seconds = _CLOSING if seconds is None else seconds
    before, limit = cancellations(), asyncio.timeout(seconds)
    try:
        async with limit:
            ending = close() if inspect.iscoroutinefunction(close) else await asyncio.wrap_future(in_daemon(close))
            if inspect.isawaitable(ending):
                await ending
    except BaseException as error:
        if passes(error, before):
            raise
        if limit.expired():
            return f"{name} did not close within {seconds:g} s, so rqa went on without it."
        return f"{name} cannot be closed: {type(error).__name__}: {error}".rstrip(": ") + "."
    return ""


def passes(error: BaseException, before: int = 0) -> bool:
    """Return whether an error from a plugin's code was caused by Ctrl-C or by the cancellation of this task.

    `before` is the number of cancellation requests before the call. A CancelledError without a new request is the
    plugin's own.
    """
    if isinstance(error, asyncio.CancelledError):
        return cancellations() > before
    if isinstance(error, GeneratorExit):
        return _task() is None  # Python closes the coroutine; in a running task, the plugin raised it
    return interrupted(error)


def cancellations() -> int:
    """Return the number of cancellation requests for the current task."""
    task = _task()
    return task.cancelling() if task else 0


def _task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:  # there is no event loop
        return None


def _translated(name: str, error: BaseException) -> RqaError:
    if isinstance(error, RqaError):
        return error
    if isinstance(error, ConnectionError | TimeoutError):
        unreachable = isinstance(error, ConnectionRefusedError)
        return UnavailableError(f"{name} failed: {error or type(error).__name__}.", general=unreachable)
    if hint := disk_hint(error):
        where = f" ({error.filename})" if isinstance(error, OSError) and error.filename else ""
        return RqaError(f"{name} cannot write: {error.args[-1]}{where}.", hint=hint, general=True)
    if isinstance(error, asyncio.CancelledError):
        return PluginError(f"{name} let a cancellation of its own escape.", hint=PLUGIN_FAULT)
    return PluginError(f"{name} failed with {type(error).__name__}: {error}.", hint=PLUGIN_FAULT)


def first_of(error: BaseException) -> BaseException:
    """Return the first of rqa's own errors in a group, else the first error in it."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    leaves = [first_of(part) for part in error.exceptions]
    return next((leaf for leaf in leaves if isinstance(leaf, RqaError)), leaves[0])


def validated(result: Any, promised: Any, arguments: Sequence[Any] = ()) -> tuple[Any, str]:
    """Return `result` as the type `promised` (or a list of it), and the problem with it, "" if it is valid.

    Accepts an integer for a float and a dict for a dataclass. Replaces lone surrogates by U+FFFD. Checks the positions
    of a Reading and the number of scores against the texts in `arguments`.
    """
    item = get_args(promised)
    if not item:
        valid, problem = _converted(result, promised)
        return valid, problem or _beyond(valid, arguments)
    if not isinstance(result, list):
        return None, f"{_named(type(result))}, not a list"
    if item[0] is float and len(result) != len(arguments[1]):
        return None, f"{len(result)} scores for {len(arguments[1])} texts"
    found = []
    for each in result:
        valid, problem = _converted(each, item[0])
        if problem:
            return None, f"a list with {problem}"
        found.append(valid)
    return found, next(filter(None, (_beyond(each, arguments) for each in found)), "")


def unit_vectors(found: Any, number: int) -> tuple[Any, str]:
    """Return the vectors of `number` texts as float32 of length 1, and the problem with them, "" if they are valid.

    A vector of zeros, for example of an empty text, stays as it is.
    """
    import numpy as np

    try:
        with np.errstate(over="ignore"):  # numbers out of range become infinite
            vectors = np.asarray(found, dtype=np.float32)
    except (ValueError, TypeError, OverflowError) as error:
        return None, f"{_named(type(found))} that is not a list of vectors of equal width: {error}"
    if vectors.ndim == 0 or len(vectors) != number:
        count = "no list of vectors" if vectors.ndim == 0 else f"{len(vectors)} vectors"
        return None, f"{count} for {number} texts"
    if not number:
        return np.empty((0, 0), np.float32), ""
    if vectors.ndim != 2 or not vectors.shape[1]:
        return None, f"an array of shape {vectors.shape}, not (texts, width)"
    if not np.isfinite(vectors).all():
        return None, "a vector with a number that is not finite"
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    return (vectors / np.where(lengths, lengths, 1.0)).astype(np.float32), ""


def _converted(item: Any, promised: type) -> tuple[Any, str]:
    if promised is float and type(item) is float:
        return item, _out_of_range(item)
    if not isinstance(item, int if promised is float and isinstance(item, int) else promised):
        return None, f"{_named(type(item))}, not {_named(promised)}"
    try:
        plain = msgspec.to_builtins(item, builtin_types=_NOT_TEXT, enc_hook=_builtin)
        valid: Any = msgspec.convert(_encodable(plain) if _has_surrogates(plain) else plain, promised)
    except (msgspec.ValidationError, TypeError, RecursionError) as error:
        return None, f"{_named(promised)} that is not valid: {error}"
    return valid, _out_of_range(valid)


def _builtin(item: Any) -> Any:
    """Convert an instance of a subclass of float or str, such as NumPy's, to the built-in type."""
    for kind in (float, str):
        if isinstance(item, kind):
            return kind(item)
    raise TypeError(f"it holds {_named(type(item))}")


def _has_surrogates(plain: Any) -> bool:
    try:
        msgspec.json.encode(plain, enc_hook=str)
    except UnicodeEncodeError:
        return True
    return False


def _encodable(plain: Any) -> Any:
    """Return `plain` with lone surrogates replaced by U+FFFD."""
    if isinstance(plain, str):
        return whole_characters(plain)
    if isinstance(plain, dict):
        return {_encodable(key): _encodable(value) for key, value in plain.items()}
    return list(map(_encodable, plain)) if isinstance(plain, list | tuple) else plain


def _out_of_range(item: Any) -> str:
    confidence = item.score if isinstance(item, Reading) else item.confidence if isinstance(item, Answer) else None
    if confidence is not None and item.text is None:
        return "a confidence without an answer"
    for what, value, least in _numbers(item):
        if not least - _SLACK <= value <= 1 + _SLACK:  # nan is in no range
            return f"{what} of {value:g}, not one from {least} to 1"
    if isinstance(item, Passage) and not math.isfinite(item.score):
        return f"a passage with a score of {item.score:g}"
    usage = getattr(item, "usage", None)
    if isinstance(usage, Usage) and min(usage.calls, usage.prompt_tokens, usage.completion_tokens) < 0:
        return f"a negative usage: {usage}"
    return ""


def _numbers(item: Any) -> Iterator[tuple[str, float, int]]:
    """Yield the numbers of a result that have a range: name, value and minimum. The maximum is 1."""
    if isinstance(item, int | float):
        yield "a score", item, -1
    if isinstance(item, Reading | Quote) and item.score is not None:
        yield "a confidence", item.score, 0
    if isinstance(item, Answer):
        confidences = (item.confidence, *(position.confidence for position in item.conflicts))
        yield from (("a confidence", value, 0) for value in confidences if value is not None)


def _beyond(result: Any, arguments: Sequence[Any]) -> str:
    if isinstance(result, Quote):
        texts = [passage.text for passage in arguments[1]]
        inside = 0 <= result.passage < len(texts) and 0 <= result.start < result.end <= len(texts[result.passage])
        return "" if inside else f"a Quote that is not in the passages: {result}"
    if not isinstance(result, Reading):
        return ""
    number = len(arguments[1])
    positions = (position for reading in (result, *result.rivals) for position in reading.passages)
    beyond = next((position for position in positions if not 0 <= position < number), None)
    return "" if beyond is None else f"a Reading that points at passage {beyond} of {number}, counted from 0"


def invalid(what: str, name: str, problem: str) -> PluginError:
    """The error for a component `name` that returned something else than its contract says."""
    return PluginError(
        f"{what} returned {problem}.",
        hint=f"This is a fault of the plugin. `rqa plugins check {name}` has the details.",
    )


def _named(kind: type) -> str:
    if kind is type(None):
        return "None"
    return f"{'an' if kind.__name__[0] in 'AEIOaeio' else 'a'} {kind.__name__}"


async def answer_of(name: str, strategy: Any, toolbox: Toolbox, received: Sequence[Passage]) -> Answer:
    """The answer of `strategy` to the toolbox's question.

    Raises PluginError if it returns none, or cites a passage that is neither in `received` nor the question's own.
    """
    await asyncio.sleep(0)  # a pending Ctrl-C ends the task here, not inside the plugin
    with attributed(f"Strategy {name!r}"):
        result = await _awaited(name, "answer", strategy.answer(toolbox.question.text, toolbox))
    answer: Answer = _checked(name, result, Answer)
    passages = [*(toolbox.question.passages or ()), *received]
    guessed = answer.best_guess.citations if answer.best_guess else ()
    for citation in (*cited(answer), *guessed, *answer.closest):
        if citation.origin != "memory" and not any(is_from(citation, passage) for passage in passages):
            source = citation.source or citation.title or citation.id
            raise invalid(
                f"Strategy {name!r}", name, f"a citation of {source!r} that is in no passage it got: {citation.quote!r}"
            )
    return answer


def cited(answer: Answer) -> list[Citation]:
    """The citations of the answer and of the sides of its conflicts."""
    return [*answer.citations, *(citation for side in answer.conflicts for citation in side.citations)]


async def corrected_by(name: str, strategy: Any, toolbox: Toolbox) -> list[Passage]:
    """The passages that `strategy` corrects. Raises PluginError if it returns none."""
    with attributed(f"Strategy {name!r}"):
        result = await _awaited(name, "correct", strategy.correct(toolbox.question.text, toolbox))
    passages: list[Passage] = _checked(name, result, list[Passage])
    return passages


async def _awaited(name: str, method: str, result: Any) -> Any:
    if not inspect.isawaitable(result):
        raise PluginError(f"`{method}` of strategy {name!r} is a plain `def`. Write `async def`.", hint=CONTRACT)
    return await result


def _checked(name: str, result: Any, promised: Any) -> Any:
    valid, problem = validated(result, promised)
    if problem:
        raise invalid(f"Strategy {name!r}", name, problem)
    return valid
