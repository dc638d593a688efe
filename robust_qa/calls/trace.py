"""The trace of one question: its calls and decisions, with times and usage."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol

import msgspec

from ..types import Completion, Continuation, Power, Quote, Reading, Step, Usage


class Trace:
    """Collects the steps of one question. Without `detailed` it collects only the usage, for long batches.

    `watcher` gets each step when it begins.
    """

    def __init__(self, *, detailed: bool = True, watcher: Watcher | None = None) -> None:
        self.detailed = detailed
        self.watcher = watcher
        self.steps: list[Step] = []
        self.usage = Usage()
        self._began = time.perf_counter()

    def now(self) -> float:
        """Seconds since the question began."""
        return time.perf_counter() - self._began

    def add(
        self,
        kind: Power | Literal["embed", "quote", "note"],
        what: str,
        *,
        component: str = "",
        started: float | None = None,
        usage: Usage = Usage(),  # noqa: B008  (frozen)
        cached: bool = False,
        retries: int = 0,
        error: str = "",
        data: Mapping[str, Any] | None = None,
    ) -> None:
        """Record a step that ends now. `started` is the value of `now()` at its start (None: now)."""
        self.usage += usage
        if self.watcher and kind == "note":
            self.watcher.step(what)
        if not self.detailed:
            return
        ended = self.now()
        start = ended if started is None else started
        self.steps.append(Step(kind, what, component, start, ended - start, usage, cached, retries, error, data or {}))


def step_data(result: Any, warnings: Sequence[str]) -> dict[str, Any]:
    """The data of a step: the result of its call, and the warnings of its component."""
    return {**_result_data(result), **({"remarks": [*map(str, warnings)]} if warnings else {})}


def _result_data(result: Any) -> dict[str, Any]:
    if isinstance(result, Completion | Continuation):
        return {"reply": result.text, "finish": result.finish}
    if isinstance(result, Reading):
        return {"answer": result.text, "score": result.score, "passages": [n + 1 for n in result.passages]}
    if isinstance(result, list) and result and isinstance(result[0], float):
        return {"scores": result}
    if isinstance(result, list) and result and isinstance(result[0], Quote):
        return {"quotes": [f"passage {quote.passage + 1}, characters {quote.start} to {quote.end}" for quote in result]}
    if isinstance(result, list):
        return {"passages": [msgspec.to_builtins(passage) for passage in result]}
    return {}


Preview = Callable[[str], str]
"""Returns the answer in the first part of a reply, "" while there is none to show."""

_EVERY = 0.03  # seconds between two looks for the answer in a growing reply
_SHORT = 4000  # characters of a reply in which a look takes a millisecond; in longer ones a worker thread looks
_REST = 20  # times what a look takes, until the next one: all looks together take a small part of the time


class Watcher(Protocol):
    """Watches one question. Its methods are called in the event loop, and must not block."""

    @property
    def streaming(self) -> bool:
        """Whether the answer is wanted while it is written."""

    def step(self, what: str, /) -> None:
        """A call began, or the strategy recorded a decision."""

    def answer(self, text: str, /) -> None:
        """The answer so far. It is provisional: the strategy may still give another one."""


class Unfolding:
    """Collects the pieces of a reply and shows the answer in it. Close it at the end."""

    def __init__(self, preview: Preview, show: Callable[[str], None]) -> None:
        self._preview = preview
        self._show = show
        self._pieces: list[str] = []
        self._looking: asyncio.Task[None] | None = None
        self._closed = False

    def add(self, piece: str) -> None:
        """Add a piece to the reply."""
        self._pieces.append(piece)
        if not self._closed and (self._looking is None or self._looking.done()):
            self._looking = asyncio.create_task(self._look())

    def close(self) -> None:
        """Show nothing any more."""
        self._closed = True
        if self._looking:
            self._looking.cancel()

    async def _look(self) -> None:
        seen, shown = 0, ""
        while seen < len(self._pieces):
            seen, began = len(self._pieces), time.monotonic()
            reply = "".join(self._pieces)
            text = self._preview(reply) if len(reply) < _SHORT else await asyncio.to_thread(self._preview, reply)
            if text and text != shown:
                shown = text
                self._show(text)
            await asyncio.sleep(max(_EVERY, _REST * (time.monotonic() - began)))
