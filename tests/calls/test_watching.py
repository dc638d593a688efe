"""Watching a question: its steps, and its answer while the model writes it."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

from robust_qa import Completion, UnavailableError, Usage
from robust_qa.calls.limits import Limits
from robust_qa.calls.pipeline import Call, Pipeline
from robust_qa.calls.trace import Trace

PIECES = ("In ", "the year ", "1871")


class Seen:
    """A watcher that records the steps and answers."""

    def __init__(self, *, streaming: bool = True) -> None:
        self.streaming = streaming
        self.steps: list[str] = []
        self.answers: list[str] = []

    def step(self, what: str) -> None:
        self.steps.append(what)

    def answer(self, text: str) -> None:
        self.answers.append(text)


class Writer:
    """Streams PIECES. `failures` break off the first replies after one piece."""

    def __init__(self, failures: int = 0) -> None:
        self.failures = failures

    async def generate(self, messages: Any, decoding: Any) -> Completion:
        return Completion("".join(PIECES), Usage(1, 10, 2))

    async def generate_stream(self, messages: Any, decoding: Any, on_text: Callable[[str], None]) -> Completion:
        for piece in PIECES:
            on_text(piece)
            await asyncio.sleep(0.05)
            if self.failures:
                self.failures -= 1
                raise UnavailableError("Gone.")
        return await self.generate(messages, decoding)


class InThread(Writer):
    """Streams from a worker thread."""

    def generate_stream(self, messages: Any, decoding: Any, on_text: Callable[[str], None]) -> Completion:  # type: ignore[override]
        for piece in PIECES:
            on_text(piece)
            time.sleep(0.05)
        return Completion("".join(PIECES))


class Mute:
    """A model that does not stream."""

    async def generate(self, messages: Any, decoding: Any) -> Completion:
        return Completion("In the year 1871")


async def watched(component: Any, *, final: bool = True, streaming: bool = True) -> Seen:
    """What a watcher sees of one call."""
    pipeline = Pipeline("reader.r", component, Limits(retries=2), identity=None, cache=None)
    seen = Seen(streaming=streaming)
    call: Call[Completion] = Call("generate", ("q", None), Completion, "read", preview=str.strip if final else None)
    reply = await pipeline.call(call, Trace(watcher=seen))
    assert reply.text == "In the year 1871"
    return seen


async def test_the_answer_is_seen_as_it_grows() -> None:
    assert (await watched(Writer())).answers == ["In", "In the year", "In the year 1871"]


async def test_a_stream_from_a_thread_is_seen_in_the_event_loop() -> None:
    assert (await watched(InThread())).answers == ["In", "In the year", "In the year 1871"]


async def test_a_model_that_does_not_stream_is_called_as_before() -> None:
    seen = await watched(Mute())
    assert (seen.steps, seen.answers) == (["waiting for the model (read)"], [])


async def test_a_retry_begins_the_answer_anew() -> None:
    seen = await watched(Writer(failures=1))
    assert seen.answers == ["In", "In", "In the year", "In the year 1871"]
    assert seen.steps == ["waiting for the model (read)", "reader.r does not answer, attempt 2 of 3"]
