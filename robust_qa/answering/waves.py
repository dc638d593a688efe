"""Waves: calls of many questions wait for each other, and go to a provider's batch API together."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ..calls.contract import attributed
from ..calls.pipeline import Pipeline
from ..errors import RqaError
from ..protocols import ProviderBatches
from ..types import Completion, Decoding, Message, Usage
from .context_window import estimate_tokens

if TYPE_CHECKING:
    from ..calls.limits import Limits

BATCHES = "provider_batches"  # the method of readers that have a batch API
_QUIET = 1.0  # seconds without a new call before a wave is sent
_LONGEST_QUIET = 120.0  # seconds after which a wave is sent although other calls are in flight
_ASYNC_CALLS = 64  # at once, of an `async def` method without a limit: thousands of questions are in flight
_MAX_TOKENS = 1024  # of a reply, unless the reader or the call says so


class Waves:
    """Sends the calls that wait when every question in flight waits for one: no other call is in flight.

    So there is about one wave for each step of a strategy. `journal` and `say` go to the readers.
    """

    def __init__(self, journal: Path, say: Callable[[str], object]) -> None:
        self.say = say
        self.cost: float = 0.0  # of all waves
        self._journal = journal
        self._number = 0
        self._pipelines: list[Pipeline] = []
        self._readers: dict[str, _Reader] = {}
        self._called = -math.inf  # time of the last new call
        self._sender: asyncio.Task[None] | None = None

    def add(self, pipeline: Pipeline) -> None:
        """Include the calls of `pipeline`: in waves if its component has a batch API, else as calls to wait for."""
        self._pipelines.append(pipeline)
        if not hasattr(pipeline.component, "needs"):
            pipeline.async_calls = _ASYNC_CALLS
        if (open_batches := getattr(pipeline.component, BATCHES, None)) is not None:
            with attributed(pipeline.name):
                reader = _Reader(self, pipeline, open_batches(self._journal, self.say))
            self._readers[pipeline.name] = reader
            pipeline.generate_in_wave = reader.generate

    async def check(self, pipeline: Pipeline) -> bool:
        """Return whether the component has a batch API. Raises RefusedError if its endpoint has none."""
        reader = self._readers.get(pipeline.name)
        if reader is not None:
            with attributed(pipeline.name):
                await reader.batches.check()
        return reader is not None

    def called(self) -> None:
        """Record a new call."""
        self._called = asyncio.get_running_loop().time()
        if self._sender is None or self._sender.done():
            self._sender = asyncio.create_task(self._send())

    def next_number(self) -> int:
        """The number of the next wave, from 1."""
        self._number += 1
        return self._number

    async def _send(self) -> None:
        time = asyncio.get_running_loop().time
        while any(reader.wave.calls for reader in self._readers.values()):
            await asyncio.sleep(_QUIET)
            quiet = time() - self._called
            if quiet >= _LONGEST_QUIET or (quiet >= _QUIET and not self._busy()):
                for reader in self._readers.values():
                    reader.send()

    def _busy(self) -> bool:
        """Whether a call is in flight that is not in a wave."""
        in_waves = sum(reader.waiting for reader in self._readers.values())
        return sum(pipeline.in_flight for pipeline in self._pipelines) > in_waves

    def close(self) -> None:
        """Send no more waves."""
        if self._sender is not None:
            self._sender.cancel()


@dataclass(slots=True)
class _Wave:
    """Calls that are sent together. `number` is 0 until then, `usage` is the real cost.

    `ended` have a reply, or became one of `ordinary` calls.
    """

    number: int = 0
    calls: int = 0
    ended: int = 0
    ordinary: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0  # at most
    usage: Usage = field(default_factory=Usage)


class _Reader:
    """The waves of one reader."""

    def __init__(self, waves: Waves, pipeline: Pipeline, batches: ProviderBatches) -> None:
        self.batches = batches
        self.wave = _Wave()  # the next one
        self.waiting = 0
        self._waves = waves
        self._limits: Limits = pipeline.limits
        self._max_tokens: int = getattr(pipeline.component, "max_tokens", None) or _MAX_TOKENS

    async def generate(self, messages: list[Message], decoding: Decoding) -> Completion | None:
        """Return the reply of the provider's batch, None if the call has to be an ordinary one."""
        wave = self.wave
        prompt, reply = estimate_tokens(messages), decoding.max_tokens or self._max_tokens
        _count(wave, 1, prompt, reply)
        self.waiting += 1
        self._waves.called()
        try:
            completion = await self.batches.generate(messages, decoding)
        except RqaError as error:
            wave.usage += error.usage
            wave.ended += not error.general  # else the run ends
            raise
        else:
            wave.usage += completion.usage if completion else Usage()
            wave.ended += 1
            wave.ordinary += completion is None
            return completion
        finally:
            self.waiting -= 1
            if wave.number == 0:  # it leaves before the wave is sent
                _count(wave, -1, prompt, reply)
                wave.ended = wave.ordinary = 0
            elif wave.ended == wave.calls:
                self._say_result(wave)

    def send(self) -> None:
        """Send the calls that wait, and say what they may cost."""
        if not self.wave.calls:
            return
        wave, self.wave = self.wave, _Wave()
        wave.number = self._waves.next_number()
        most = Usage(wave.calls, wave.prompt_tokens, wave.completion_tokens, batched=wave.calls)
        calls = "1 call" if wave.calls == 1 else f"{wave.calls:,} calls"
        cost = self._limits.cost(most)
        limit = "" if cost is None else f", at most {_money(cost)}"
        tokens = float(f"{wave.prompt_tokens:.2g}")
        self._waves.say(f"wave {wave.number}: {calls}, about {tokens:,.0f} prompt tokens{limit}")
        self.batches.send()

    def _say_result(self, wave: _Wave) -> None:
        usage = wave.usage
        line = f"wave {wave.number}: done with {usage.prompt_tokens:,} + {usage.completion_tokens:,} tokens"
        if (cost := self._limits.cost(usage)) is not None:
            self._waves.cost += cost
            line += f" for {_money(cost)} (all waves: {_money(self._waves.cost)})"
        if wave.ordinary:
            line += f"; ordinary calls follow for {wave.ordinary:,}"
        self._waves.say(line)


def _money(cost: float) -> str:
    return f"{cost:,.2f}" if cost >= 0.1 else f"{cost:.2g}"


def _count(wave: _Wave, calls: int, prompt_tokens: int, completion_tokens: int) -> None:
    wave.calls += calls
    wave.prompt_tokens += calls * prompt_tokens
    wave.completion_tokens += calls * completion_tokens
