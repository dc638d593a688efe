"""The pipeline of readers: what a relay makes, and what is left to the reader."""

import asyncio
from typing import Any

import pytest

from robust_qa import Completion, Decoding, Message, ReplyError, UnavailableError, Usage
from robust_qa.calls.limits import Limits
from robust_qa.calls.pipeline import Call, Pipeline
from robust_qa.calls.trace import Trace

RELAYED = Completion("relayed", Usage(1, 10, 2, batched=1))
ORDINARY = Completion("ordinary", Usage(1, 10, 2))


class Model:
    calls = 0

    async def generate(self, messages: list[Message], decoding: Decoding) -> Completion:
        self.calls += 1
        return ORDINARY


class Relay:
    """Replies when it may `go`."""

    def __init__(self, outcome: Completion | Exception | None = RELAYED) -> None:
        self.go = asyncio.Event()
        self.waiting = 0
        self._outcome = outcome

    async def generate(self, reader: Any, messages: list[Message], decoding: Decoding) -> Completion | None:
        assert reader.name == "reader.r"
        self.waiting += 1
        await self.go.wait()
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome


def piped(relay: Relay | None, model: Model, **limits: Any) -> Pipeline:
    return Pipeline("reader.r", model, Limits(**limits), identity="i", cache=None, relay=lambda: relay)


async def generate(pipeline: Pipeline, text: str = "q", trace: Trace | None = None) -> str:
    call = Call("generate", ([Message("user", text)], Decoding()), Completion, "prompt")
    return (await pipeline.call(call, trace or Trace())).text


async def test_relayed_calls_have_no_limits_and_are_not_in_flight() -> None:
    relay = Relay()
    reader = piped(relay, Model(), concurrency=1, rpm=1.0, timeout=0.01)
    calls = [asyncio.create_task(generate(reader, str(n))) for n in range(5)]
    await asyncio.sleep(0.05)
    assert relay.waiting == 5 and reader.in_flight == 0
    relay.go.set()
    assert await asyncio.gather(*calls) == ["relayed"] * 5


async def test_without_a_relay_the_reader_replies() -> None:
    assert await generate(piped(None, Model())) == "ordinary"


async def test_a_call_that_the_relay_leaves_is_an_ordinary_one() -> None:
    relay, model = Relay(None), Model()
    relay.go.set()
    assert await generate(piped(relay, model)) == "ordinary"
    assert model.calls == 1


async def test_a_reply_that_cannot_be_read_is_paid_and_retried_as_an_ordinary_call() -> None:
    error = ReplyError("Not a completion.")
    error.usage = Usage(1, 10, 2, batched=1)
    relay, trace = Relay(error), Trace()
    relay.go.set()
    assert await generate(piped(relay, Model()), trace=trace) == "ordinary"
    assert trace.usage == Usage(2, 20, 4, batched=1)


async def test_an_outage_of_the_relay_is_not_retried() -> None:
    relay, model = Relay(UnavailableError("No batches.", general=True, limited=True)), Model()
    relay.go.set()
    with pytest.raises(UnavailableError, match="No batches"):
        await generate(piped(relay, model))
    assert model.calls == 0 and relay.waiting == 1
