"""The pipeline of readers, whose calls an engine can make elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..protocols import Relay
from .contract import attributed
from .pipeline import Call, Pipeline, copied


class ReaderPipeline(Pipeline):
    """A pipeline in which the relay that `relay` returns, if any, makes the first attempt of each `generate`.

    That attempt has no limits, because it may take a day, and does not count as in flight.
    """

    def __init__(self, relay: Callable[[], Relay | None], *args: Any, **how: Any) -> None:
        super().__init__(*args, **how)
        self._relay = relay
        self._relayed = 0

    @property
    def in_flight(self) -> int:
        """The number of calls in flight, without those of the relay."""
        return super().in_flight - self._relayed

    async def _attempt(self, call: Call[Any], retries: int) -> Any:
        relay = self._relay()
        if call.power == "generate" and relay and not retries:
            self._relayed += 1
            try:
                with attributed(self.name):
                    completion = await relay.generate(self, *copied(call.arguments))
            finally:
                self._relayed -= 1
            if completion is not None:
                return completion
        return await super()._attempt(call, retries)
