"""The call pipeline: cache, deduplication, concurrency and rate limits, timeout, validation, retries and trace."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import inspect
import os
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

import msgspec

from ..errors import CallTimeout, PluginError, RefusedError, RqaError, UnavailableError
from ..kit.warnings import LastingWarning, collected_warnings
from ..types import LONGEST_REPLY, Completion, Continuation, Power, Usage
from .cache import Cache
from .concurrency import Slot, Slots
from .contract import CONTRACT, attributed, invalid, unit_vectors, validated
from .grouping import Batcher, SharedCall
from .limits import LONGEST_WAIT, Ceiling, Closed, Limits, RateLimit, RetryPolicy
from .trace import Preview, Trace, Unfolding, Watcher, step_data

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..protocols import Relay

T = TypeVar("T")

_TEXTS = 256  # per call of an embedder
_ASYNC_TIMEOUT = 120.0  # seconds for an `async def` method, unless the component or the configuration sets another
_SYNC_CALLS = max(8, os.cpu_count() or 1)  # concurrent calls of a `def` method, likewise
_UNLIMITED = 1_000_000
_ENDING = 5.0  # seconds to wait for cancelled calls
_NO_USAGE = Usage()


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One request to a component: its method `power` with `arguments`. `returns` is the type of the result.

    `what` and `data` are for the trace. A call that is not `repeatable` (sampled without a seed) is neither cached nor
    shared. `preview` finds the answer in the reply to a strategy's last call, to show it while it is written.
    """

    power: Power | Literal["embed", "quote"]
    arguments: tuple[Any, ...]
    returns: Any
    what: str
    data: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    repeatable: bool = True
    preview: Preview | None = None


@dataclass(frozen=True, slots=True)
class _Outcome(Generic[T]):
    """A result, the retries that it took, and the component's warnings."""

    result: T
    retries: int = 0
    warnings: tuple[str, ...] = ()
    cached: bool = False


@dataclass(frozen=True, slots=True)
class _Method:
    """A method of the component, and the limits of its calls."""

    function: Callable[..., Any]
    is_async: bool
    slots: Slots
    timeout: float | None


class Pipeline:
    """A component with its cache, limits and retries. The calls of all questions go through it.

    `identity` identifies what results depend on besides the arguments; None turns the cache off. `digest` is the same
    value, set even without a cache. `fingerprint` is the component's own digest of its content, or None.
    `relay` returns what makes the first attempt of each `generate`, or None. That attempt has no limits, because it may
    take a day, and does not count as in flight.
    """

    def __init__(
        self,
        name: str,
        component: Any,
        limits: Limits,
        *,
        options: Any = None,
        identity: str | None,
        digest: str = "",
        fingerprint: str | None = None,
        cache: Cache | None,
        relay: Callable[[], Relay | None] = lambda: None,
    ) -> None:
        self.name = name
        self.component = component
        self.options = options
        self.digest = digest
        self.fingerprint = fingerprint
        self.limits = limits
        self._identity = identity
        self._cache = cache
        self._max_age: float = getattr(component, "max_age", None) or 0  # seconds; 0: no limit
        self._relay = relay
        self._relayed = 0  # calls in flight
        self._in_flight: dict[object, SharedCall] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._rate = RateLimit(limits.rpm)
        self._ceiling = Ceiling(name, limits)
        self._refusal = ""  # the provider's message when it asked for a long pause
        self._batchers: dict[str, Batcher] = {}
        self._slots: dict[str, Slots] = {}
        self._methods: dict[str, _Method] = {}
        # A component with `needs` calls others through its toolbox, where those calls are limited and retried.
        self._delegates = hasattr(component, "needs")

    async def call(self, call: Call[T], trace: Trace) -> T:
        """Return the result of `call` from the cache, from an equal call in flight, or from the component.

        Raises RqaError, which the trace records too.
        """
        started = trace.now()
        try:
            key = self._hashed(call.power, call.arguments) if call.repeatable else None
            outcome = self._cached(key, call)
            if outcome is None:
                place = key or object()
                shared = self._in_flight.get(place)
                if shared is None:
                    work = partial(self._perform, key, call, trace.watcher)
                    shared = self._in_flight[place] = SharedCall(work, self._start)
                if trace.watcher:
                    trace.watcher.step(_step(call))
                try:
                    with shared.joined() as reply:
                        outcome = await reply
                finally:
                    first = self._left(place, shared, trace)
                if not first:
                    outcome = dataclasses.replace(outcome, cached=True)
        except RqaError as error:
            trace.add(call.power, call.what, component=self.name, started=started, error=error.message, data=call.data)
            raise
        self._record(call, outcome, started, trace)
        # Copy a list, because other callers and the trace share it.
        result: T = outcome.result
        return copy(result) if isinstance(result, list) else result

    async def _perform(
        self, key: str | None, call: Call[T], watcher: Watcher | None, shared: SharedCall
    ) -> _Outcome[T]:
        """Make the call, validate its result, retry what is retryable, and store the result.

        `watcher` is that of the first caller.
        """
        policy = RetryPolicy(0 if self._delegates else self.limits.retries, self._rate)
        retries = 0
        while True:
            await self._ceiling.enter(together=self._relay() is not None)
            used = _NO_USAGE
            with collected_warnings() as warnings:
                try:
                    if watcher and watcher.streaming and call.preview and hasattr(self.component, "generate_stream"):
                        result = await self._stream(call, Unfolding(call.preview, watcher.answer))
                    else:
                        result = await self._attempt(call, retries)
                    used = getattr(result, "usage", _NO_USAGE)
                    result = self._validated(call, result)
                    break
                except RqaError as error:
                    used = error.usage
                    if not self._delegates:  # the calls that it made are charged already
                        shared.usage += error.usage
                    if shared.over or (wait := policy.wait(error)) is None:
                        raise
                finally:
                    self._ceiling.leave(used)
            retries += 1
            if watcher:
                watcher.step(f"{self.name} does not answer, attempt {retries + 1} of {self.limits.retries + 1}")
            await asyncio.sleep(wait)
        # A result with temporary warnings is not cached, because the next call may succeed in full.
        if self._cache is not None and all(isinstance(each, LastingWarning) for each in warnings):
            for place, content in self._entries(key, call, result):
                if place and content:
                    self._cache.put(place, content)
        return _Outcome(result, retries, tuple(warnings))

    async def _stream(self, call: Call[Any], unfolding: Unfolding) -> Any:
        """Call `generate_stream`. Its pieces may come from another thread."""
        loop = asyncio.get_running_loop()

        def add(piece: str) -> None:
            with suppress(RuntimeError):  # the event loop is closed
                loop.call_soon_threadsafe(unfolding.add, piece)

        try:
            return await self._invoke("generate_stream", self.component.generate_stream, *copied(call.arguments), add)
        finally:
            unfolding.close()

    def _attempt(self, call: Call[Any], retries: int) -> Awaitable[Any]:
        """Make one attempt, after so many others."""
        if call.power == "generate" and not retries and (relay := self._relay()):
            return self._relay_first(relay, call)
        if batcher := self._batcher(call.power):
            return batcher.submit(call.arguments)
        return self._invoke(call.power, getattr(self.component, call.power), *copied(call.arguments))

    async def _relay_first(self, relay: Relay, call: Call[Any]) -> Any:
        self._relayed += 1
        try:
            with attributed(self.name):
                completion = await relay.generate(self, *copied(call.arguments))
        finally:
            self._relayed -= 1
        return await self._attempt(call, 1) if completion is None else completion

    async def _invoke(self, power: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Wait for a slot and for the rate limit, then call with a timeout, in a worker thread if it is `def`."""
        method = self._methods.get(power) or self._method(power, function)
        slot = await self._enter(method, power)
        try:
            number = await self._enter_rate()
            limit = asyncio.timeout(method.timeout)
            try:
                async with limit:
                    with attributed(self.name):
                        if method.is_async:
                            result = await method.function(*arguments)
                        else:
                            result = await slot.run(method.function, *arguments)
                            if inspect.isawaitable(result):
                                result = await result
                self._rate.accepted()
                return result
            except TimeoutError as error:
                if not limit.expired():
                    raise
                raise CallTimeout(
                    f"{self.name} did not {power} within {method.timeout:g} s.", hint=self._longer()
                ) from error
            except UnavailableError as error:
                if error.limited and not self._delegates:
                    self._refused(number, error)
                raise
            finally:
                self._rate.leave()
        finally:
            method.slots.leave(slot)

    async def embed(self, texts: Sequence[str], trace: Trace) -> NDArray[np.float32]:
        """Return vectors of length 1, shape (len(texts), width). The cache has one entry for each text.

        Raises RqaError.
        """
        import numpy as np

        found: dict[str, NDArray[np.float32]] = {}
        missing: list[str] = []
        for text in dict.fromkeys(texts):
            key = self._text_key(text)
            if key and self._cache is not None and (stored := self._cache.get(key)) is not None:
                found[text] = np.frombuffer(stored, np.float32)
            else:
                missing.append(text)
        for start in range(0, len(missing), _TEXTS):
            part = missing[start : start + _TEXTS]
            call: Call[NDArray[np.float32]] = Call("embed", (part,), None, f"{len(part)} texts")
            vectors = await self.call(call, trace)
            found.update(zip(part, vectors, strict=True))
        widths = sorted({len(vector) for vector in found.values()})
        if len(widths) > 1:
            raise PluginError(
                f"{self.name} returned vectors of width {widths[0]} and of width {widths[1]}.",
                hint="If its model changed, run `rqa cache clear`.",
            )
        return np.stack([found[text] for text in texts]) if texts else np.empty((0, 0), np.float32)

    async def ask(self, method: str, *arguments: Any) -> Any:
        """Call an optional method of the component within its limits. Not cached, retried or traced."""
        if batcher := self._batcher(method):
            return await batcher.submit(arguments)
        return await self._invoke(method, getattr(self.component, method), *arguments)

    async def in_thread(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call `function`, which uses the component, in a worker thread."""
        slots = self._slots.setdefault("in_thread", Slots(_SYNC_CALLS))
        slot = await slots.enter(None)
        try:
            with attributed(self.name):
                result: T = await slot.run(function, *arguments)
                return result
        finally:
            slots.leave(slot)

    def cost(self, usage: Usage) -> float | None:
        """Return the price of `usage`, None without prices."""
        return self.limits.cost(usage)

    @property
    def busy(self) -> bool:
        """Whether a call is in flight, or the thread of an abandoned call still runs."""
        return bool(self._tasks) or any(slots.busy for slots in self._slots.values())

    @property
    def in_flight(self) -> int:
        """The number of calls in flight. Calls that only wait for other components or the relay do not count."""
        return 0 if self._delegates else len(self._tasks) - self._relayed

    async def end(self) -> None:
        """Cancel all calls in flight and wait for them. Does not wait for threads of abandoned calls."""
        for task in self._tasks:
            if not task.cancelling():  # it is already ending
                task.cancel()
        try:
            if self._tasks:
                await asyncio.wait(self._tasks, timeout=_ENDING)
        finally:
            for slots in self._slots.values():
                slots.close()

    def _left(self, place: object, shared: SharedCall, trace: Trace) -> bool:
        """Remove a shared call that is over and charge its usage. Return whether this caller is the first to leave."""
        if not shared.over:
            return True
        if self._in_flight.get(place) is shared:  # else a new equal call has started
            del self._in_flight[place]
        first = shared.charge()
        if first:
            trace.usage += shared.usage
        return first

    def _record(self, call: Call[Any], outcome: _Outcome[Any], started: float, trace: Trace) -> None:
        usage: Usage = getattr(outcome.result, "usage", _NO_USAGE)
        if outcome.cached and usage.calls:
            usage = dataclasses.replace(usage, cached=usage.calls)
        trace.add(
            call.power,
            call.what,
            component=self.name,
            started=started,
            usage=usage,
            cached=outcome.cached,
            retries=outcome.retries,
            data={**call.data, **step_data(outcome.result, outcome.warnings)} if trace.detailed else None,
        )

    def _start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _text_key(self, text: str) -> str | None:
        """Return the cache key of the vector of one text."""
        return self._hashed("embed", text)

    def _hashed(self, power: str, arguments: Any) -> str | None:
        if self._identity is None:
            return None
        period = time.time() // self._max_age if self._max_age else 0  # older results have other keys
        content = _encoded((self._identity, period, power, arguments))
        return hashlib.sha256(content).hexdigest() if content else None

    def _entries(self, key: str | None, call: Call[Any], result: Any) -> Iterator[tuple[str | None, bytes | None]]:
        """Yield the keys and values to cache: one, or for an embedder one for each text."""
        if call.power == "embed":
            yield from (
                (self._text_key(text), row.tobytes()) for text, row in zip(*call.arguments, result, strict=True)
            )
        elif key:
            yield key, _encoded(result)

    def _cached(self, key: str | None, call: Call[T]) -> _Outcome[T] | None:
        if key is None or self._cache is None or (stored := self._cache.get(key)) is None:
            return None
        try:
            return _Outcome(msgspec.json.decode(stored, type=call.returns), cached=True)
        except msgspec.DecodeError:
            return None  # stored by a version with other types

    def _batcher(self, power: str) -> Batcher | None:
        """Return the batcher of that method, None if the component has no `power_many`. Embedders always have one."""
        if power == "embed":
            return self._batchers.setdefault(power, Batcher(self._embed_batch, self._start))
        many = getattr(self.component, f"{power}_many", None)
        if many is not None and power not in self._batchers:
            self._batchers[power] = Batcher(partial(self._batch, power, many), self._start)
        return self._batchers.get(power)

    async def _batch(self, power: str, many: Callable[..., Any], requests: list[tuple[Any, ...]]) -> list[Any]:
        """Return the result of each request of a batch, from one call of `many`."""
        results = await self._invoke(power, many, [*map(copied, requests)])
        if not isinstance(results, list) or len(results) != len(requests):
            got = f"{len(results)} results" if isinstance(results, list) else f"{type(results).__name__}, not a list,"
            raise PluginError(
                f"`{power}_many` of {self.name} returned {got} for {len(requests)} requests.", hint=CONTRACT
            )
        return results

    async def _embed_batch(self, requests: list[tuple[Any, ...]]) -> list[Any]:
        """Return the vectors of each request of a batch, from one call with all texts."""
        texts = [text for (part,) in requests for text in part]
        vectors, problem = unit_vectors(await self._invoke("embed", self.component.embed, texts), len(texts))
        if problem:
            raise self._invalid(problem)
        ends = [*accumulate(len(part) for (part,) in requests)]
        return [vectors[end - len(part) : end] for (part,), end in zip(requests, ends, strict=True)]

    def _validated(self, call: Call[T], result: T) -> T:
        if call.power == "embed":  # validated with its batch
            return result
        valid: T
        valid, problem = validated(result, call.returns, call.arguments)
        if problem:
            raise self._invalid(problem)
        if isinstance(valid, Completion | Continuation) and len(valid.text) > LONGEST_REPLY:
            raise RefusedError(
                f"{self.name} replied with {len(valid.text):,} characters, and rqa reads at most {LONGEST_REPLY:,}.",
                hint="Lower its `max_tokens`.",
            )
        return valid

    def _invalid(self, problem: str) -> PluginError:
        return invalid(self.name, self.name.partition(".")[2], problem)

    def _method(self, name: str, function: Callable[..., Any]) -> _Method:
        is_async = inspect.iscoroutinefunction(function)
        with attributed(self.name):
            width = self.limits.concurrency or getattr(self.component, "concurrency", None)
            if width:  # of all methods together
                slots = self._slots.setdefault("all", Slots(width))
            else:
                slots = self._slots.setdefault(name, Slots(_UNLIMITED if is_async else _SYNC_CALLS))
        timeout = self.limits.timeout
        if timeout is None and is_async and not self._delegates:  # a thread cannot be stopped
            timeout = _ASYNC_TIMEOUT
        self._methods[name] = _Method(function, is_async, slots, timeout or None)
        return self._methods[name]

    async def _enter(self, method: _Method, power: str) -> Slot:
        try:
            return await method.slots.enter(method.timeout)
        except TimeoutError as error:
            raise CallTimeout(
                f"{self.name} could not {power} within {method.timeout:g} s: all its threads are busy with calls that "
                "timed out.",
                hint=self._longer(),
            ) from error

    def _longer(self) -> str:
        return f"Raise `timeout` under [{self.name}] if it needs longer."

    async def _enter_rate(self) -> int:
        try:
            return await self._rate.enter()
        except Closed as error:
            raise self._closed(error.seconds) from None

    def _refused(self, number: int, error: UnavailableError) -> None:
        """Slow down after a 429. Raises UnavailableError if the provider asks for a pause of more than LONGEST_WAIT."""
        self._rate.refused(number, error.retry_after)
        if (error.retry_after or 0.0) > LONGEST_WAIT:
            self._refusal = error.message
            raise self._closed(error.retry_after or 0.0) from error

    def _closed(self, seconds: float) -> UnavailableError:
        return UnavailableError(
            f"{self.name} asks for a pause of {seconds:,.0f} s, and rqa waits at most {LONGEST_WAIT:.0f} s. "
            f"{self._refusal}",
            hint="Try again later.",
            general=True,
            retry_after=seconds,
        )


def _step(call: Call[Any]) -> str:
    """Return what the call does, for a watcher."""
    doing = {
        "retrieve": "retrieving",
        "read": "reading",
        "score": f"judging {call.what}",
        "embed": f"embedding {call.what}",
        "quote": "choosing quotes",
    }
    return doing.get(call.power, f"waiting for the model ({call.what})")


def copied(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return `arguments` with their lists copied, because the component may change them."""
    return tuple(copy(each) if isinstance(each, list) else each for each in arguments)


def _encoded(value: Any) -> bytes | None:
    """Return `value` as JSON, or None if it cannot be encoded because of a lone surrogate."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return None
