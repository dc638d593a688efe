"""Waves: the calls of many questions wait for each other and go to the provider together."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING

from robust_qa import Completion, Decoding, Message

from .batches import Batches, Total
from .journal import Journal

if TYPE_CHECKING:
    from robust_qa import ReaderHandle
    from rqa_rows import Job

PROVIDER_BATCHES = "provider_batches"  # the method of readers that have a batch API
_QUIET = 1.0  # seconds without a new call before a wave is sent
_LONGEST_QUIET = 120.0  # seconds after which a wave is sent although other calls are in flight
_CALLS = 64  # in flight, other than those of a wave: thousands of questions must not search at once
_LOOK = 0.05  # seconds until the next look whether there are fewer


class Waves:
    """Relays calls to batches. Sends those that wait when no other call is in flight: every question waits for one.

    So there is about one wave for each step of a strategy.
    """

    def __init__(self, job: Job, journal: Journal) -> None:
        self._job = job
        self._journal = journal
        self._total = Total()
        self._batches: dict[str, Batches] = {}  # by reader
        self._called = -math.inf  # time of the last new call
        self._sender: asyncio.Task[None] | None = None
        self._door = asyncio.Lock()

    async def generate(self, reader: ReaderHandle, messages: list[Message], decoding: Decoding) -> Completion | None:
        """Return the reply from a batch, None if the call has to be an ordinary one."""
        if not hasattr(reader.component, PROVIDER_BATCHES):
            return None
        if reader.name not in self._batches:
            provider = getattr(reader.component, PROVIDER_BATCHES)()
            self._batches[reader.name] = Batches(reader, provider, self._journal, self._total, self._job.say)
        self._called = asyncio.get_running_loop().time()
        if self._sender is None or self._sender.done():
            self._sender = asyncio.create_task(self._send())
        completion = await self._batches[reader.name].generate(messages, decoding)
        await self.room()
        return completion

    async def room(self) -> None:
        """Wait until few enough calls are in flight to go on with a question."""
        async with self._door:
            while self._job.calls >= _CALLS:  # noqa: ASYNC110  (the host has no event for it)
                await asyncio.sleep(_LOOK)

    def close(self) -> None:
        """Stop waiting. The batches go on at the provider."""
        if self._sender is not None:
            self._sender.cancel()
        for batches in self._batches.values():
            batches.close()
        self._journal.close()

    async def _send(self) -> None:
        time = asyncio.get_running_loop().time
        while any(batches.waiting for batches in self._batches.values()):
            await asyncio.sleep(_QUIET)
            quiet = time() - self._called
            if quiet >= _LONGEST_QUIET or (quiet >= _QUIET and not self._job.calls):
                for batches in self._batches.values():
                    batches.send()
