"""What every component call passes through: cache, single flight, limits, timeout, retries and trace."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import inspect
import os
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

import msgspec

from .batching import Batcher
from .cache import Cache
from .errors import CallTimeout, PluginError, RqaError, UnavailableError
from .faults import CONTRACT, blaming
from .flight import Flight
from .gate import Gate, Job
from .limits import Limits
from .pace import LONGEST_WAIT, Closed, Pace
from .patience import Patience
from .remarks import Lasting, listening
from .returned import fitted
from .trace import Trace, account
from .types import Power, Usage

T = TypeVar("T")

_ASYNC_TIMEOUT = 120.0  # seconds a component of `async def` gets unless it or the configuration says otherwise
_PLAIN = max(8, os.cpu_count() or 1)  # calls at once that one of `def` gets, likewise
_ENDING = 5.0  # seconds that calls which were given up may take to end


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One request to a component: the method `power` with `arguments`, giving a `returns`.

    `what` and `data` are for the trace. A call that is not `repeatable` (sampled without a seed) is neither
    cached nor shared.
    """

    power: Power
    arguments: tuple[Any, ...]
    returns: Any
    what: str
    data: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    repeatable: bool = True


class Channel:
    """One component behind its limits; all calls of all questions to it meet here.

    `identity` is what its results depend on besides the arguments, or None when they are not to be cached;
    `fingerprint` is what the component says of that, or None when it says nothing.
    """

    def __init__(
        self,
        name: str,
        component: Any,
        limits: Limits,
        *,
        options: Any = None,
        identity: str | None,
        fingerprint: str | None = None,
        cache: Cache | None,
    ) -> None:
        self.name = name
        self.component = component
        self.options = options
        self.fingerprint = fingerprint
        self.limits = limits
        self._identity = identity
        self._cache = cache
        self._flights: dict[object, Flight] = {}
        self._tasks: set[asyncio.Task[Any]] = set()  # in which it is called
        self._pace = Pace(limits.rpm)
        self._refusal = ""  # what the provider said when it asked for a long wait
        self._batchers: dict[str, Batcher] = {}
        self._gates: dict[str, Gate] = {}
        # What it calls through a toolbox of its own accord is limited and retried there.
        self._delegates = hasattr(component, "needs")

    @property
    def busy(self) -> bool:
        """Whether the component is called, or still works, in a thread, on a call that was given up."""
        return bool(self._tasks) or any(gate.holds_leftovers for gate in self._gates.values())

    async def end(self) -> None:
        """Give up whatever is under way, and wait for it to end, which a thread does in its own time."""
        for task in self._tasks:
            if not task.cancelling():  # else it is at its end already, and not to be disturbed
                task.cancel()
        try:
            if self._tasks:
                await asyncio.wait(self._tasks, timeout=_ENDING)
        finally:
            for gate in self._gates.values():
                gate.close()

    async def call(self, call: Call[T], trace: Trace) -> T:
        """The result of `call`, from the cache, from an equal call under way, or from the component."""
        started, cached, retries, remarks = trace.now(), True, 0, list[str]()
        key = self._key(call)
        try:
            recalled = self._recall(key, call)
            if recalled is None:
                result, cached, retries, remarks = await self._fly(key, call, trace)
            else:
                result = recalled
        except RqaError as error:
            trace.add(
                call.power,
                call.what,
                component=self.name,
                started=started,
                error=error.message,
                data=call.data,
            )
            raise
        usage: Usage = getattr(result, "usage", _NO_USAGE)
        if cached and usage.calls:
            usage = dataclasses.replace(usage, cached=usage.calls)
        trace.add(
            call.power,
            call.what,
            component=self.name,
            started=started,
            usage=usage,
            cached=cached,
            retries=retries,
            data={**call.data, **account(result, remarks)} if trace.detailed else None,
        )
        # A list is the caller's own, to be changed: others wait for the same call, and the trace keeps what came.
        return copy(result) if isinstance(result, list) else result

    async def ask(self, method: str, *arguments: Any) -> Any:
        """What an optional method of the component gives, within its limits; not cached, repeated or traced."""
        return await self._limited(method, getattr(self.component, method), *arguments)

    async def in_thread(self, function: Callable[..., T], *arguments: Any) -> T:
        """What `function` gives, which asks the component something beside its calls, in a worker thread."""
        gate, job = self._opened("beside", _PLAIN), Job()
        await gate.enter(None)
        try:
            with blaming(self.name):
                result: T = await gate.run(job, function, *arguments)
                return result
        finally:
            gate.leave(job)

    def _key(self, call: Call[Any]) -> str | None:
        if self._identity is None or not call.repeatable:
            return None
        with blaming(self.name):
            age = getattr(self.component, "max_age", None)
            span = time.time() // age if age else 0  # what was stored in another span of that length is not found
        content = _encoded((self._identity, span, call.power, call.arguments))
        return hashlib.sha256(content).hexdigest() if content else None

    def _recall(self, key: str | None, call: Call[T]) -> T | None:
        if key is None or self._cache is None or (stored := self._cache.get(key)) is None:
            return None
        try:
            result: T = msgspec.json.decode(stored, type=call.returns)
        except msgspec.DecodeError:
            return None  # written by a version with other types
        return result

    async def _fly(self, key: str | None, call: Call[T], trace: Trace) -> tuple[T, bool, int, list[str]]:
        """Result, whether it was another caller's, retries, remarks."""
        place = key or object()
        flight, own = self._flights.get(place), False
        if flight is None:
            flight = self._flights[place] = Flight(partial(self._land, key, call), self._begin)
        try:
            result, retries, remarks = await flight.join()
        finally:
            if flight.over:
                # What it took is told once, and of the first who hears: who began it may have left before.
                if own := flight.claim():
                    trace.usage += flight.usage
                # An equal call may have begun anew while this one was ending.
                if self._flights.get(place) is flight:
                    del self._flights[place]
        return result, not own, retries, remarks

    def _begin(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _land(self, key: str | None, call: Call[T], flight: Flight) -> tuple[T, int, list[str]]:
        result, retries, remarks = await self._attempts(call, flight)
        whole = all(isinstance(each, Lasting) for each in remarks)
        if key and self._cache is not None and whole and (content := _encoded(result)):
            self._cache.put(key, content)
        return result, retries, remarks

    async def _attempts(self, call: Call[T], flight: Flight) -> tuple[T, int, list[str]]:
        most = 0 if self._delegates else self.limits.retries
        patience = Patience(most, self._pace, given_up=lambda: flight.over)
        retries = 0
        while True:
            with listening() as remarks:
                try:
                    return self._checked(call, await self._once(call)), retries, remarks
                except RqaError as error:
                    if not self._delegates:  # those that it asked have charged theirs
                        flight.usage += error.usage
                    if (wait := patience(error)) is None:
                        raise
            await asyncio.sleep(wait)
            retries += 1

    async def _once(self, call: Call[Any]) -> Any:
        many = getattr(self.component, f"{call.power}_many", None)
        if many is None:
            return await self._limited(call.power, getattr(self.component, call.power), *_own(call.arguments))
        batcher = self._batchers.get(call.power)
        if batcher is None:
            batcher = self._batchers[call.power] = Batcher(partial(self._merged, call.power, many), self._begin)
        return await batcher.submit(call.arguments)

    async def _merged(self, power: str, many: Callable[..., Any], requests: list[tuple[Any, ...]]) -> list[Any]:
        """What `many` gives to the requests of a batch, one result each."""
        results = await self._limited(power, many, [*map(_own, requests)])
        if not isinstance(results, list) or len(results) != len(requests):
            told = f"{len(results)} results" if isinstance(results, list) else f"{type(results).__name__}, and no list,"
            raise PluginError(f"`{power}_many` of {self.name} gave {told} for {len(requests)} requests.", hint=CONTRACT)
        return results

    def _checked(self, call: Call[T], result: T) -> T:
        fitting: T
        fitting, wrong = fitted(result, call.returns, call.arguments)
        if wrong:
            raise PluginError(
                f"{self.name} gave {wrong}.",
                hint=f"This is a fault of the plugin; `rqa plugins check {self.name.partition('.')[2]}` says more.",
            )
        return fitting

    async def _limited(self, power: str, method: Callable[..., Any], *arguments: Any) -> Any:
        gate, timeout, job = self._gate(power, method), self._timeout(method), Job()
        hint = f"Raise `timeout` under [{self.name}] if it needs longer."
        try:
            await gate.enter(timeout)
        except TimeoutError as error:
            raise CallTimeout(
                f"{self.name} did not come to {power} within {timeout:g} s: it is at work on calls that were given up.",
                hint=hint,
            ) from error
        limit = asyncio.timeout(timeout)
        try:
            async with self._turn(), limit:
                return await self._run(gate, job, method, *arguments)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise CallTimeout(f"{self.name} did not {power} within {timeout:g} s.", hint=hint) from error
        finally:
            gate.leave(job)

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """Hold a call to the pace, and let the pace learn from how it ends."""
        try:
            number = await self._pace.enter()
        except Closed as error:
            raise self._closed(error.seconds) from None
        try:
            yield
            self._pace.taken()
        except UnavailableError as error:
            if not error.limited or self._delegates:
                raise
            self._pace.refused(number, error.retry_after)
            if (error.retry_after or 0.0) <= LONGEST_WAIT:
                raise
            self._refusal = error.message
            raise self._closed(error.retry_after or 0.0) from error
        finally:
            self._pace.leave()

    def _closed(self, seconds: float) -> UnavailableError:
        return UnavailableError(
            f"{self.name} asks for a wait of {seconds:,.0f} s, and rqa waits for {LONGEST_WAIT:.0f} s at most. "
            f"{self._refusal}",
            hint="Try again after that time.",
            general=True,
            retry_after=seconds,
        )

    async def _run(self, gate: Gate, job: Job, method: Callable[..., Any], *arguments: Any) -> Any:
        with blaming(self.name):
            if inspect.iscoroutinefunction(method):
                return await method(*arguments)
            result = await gate.run(job, method, *arguments)
            return await result if inspect.isawaitable(result) else result

    def _gate(self, power: str, method: Callable[..., Any]) -> Gate:
        with blaming(self.name):
            width = self.limits.concurrency or getattr(self.component, "concurrency", None)
            if width:  # what is said of the component holds for its powers together
                return self._opened("all", width)
        return self._opened(power, 1_000_000 if inspect.iscoroutinefunction(method) else _PLAIN)

    def _opened(self, name: str, width: int) -> Gate:
        if name not in self._gates:
            self._gates[name] = Gate(width)
        return self._gates[name]

    def _timeout(self, method: Callable[..., Any]) -> float | None:
        if self.limits.timeout is not None:
            return self.limits.timeout or None
        # A thread cannot be stopped: to give up on it would leave it running behind the next call.
        return _ASYNC_TIMEOUT if inspect.iscoroutinefunction(method) and not self._delegates else None


_NO_USAGE = Usage()


def _own(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """With lists of the component's own: where it changes them, another attempt asks for the same all the same."""
    return tuple(copy(each) if isinstance(each, list) else each for each in arguments)


def _encoded(value: Any) -> bytes | None:
    """As JSON; None for text that has none (half a surrogate pair), which is then simply not remembered."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return None
