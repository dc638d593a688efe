"""Waves: when calls are sent to a provider's batch, and which limits they have."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from robust_qa import Completion, Decoding, Message, ReplyError, UnavailableError, Usage
from robust_qa.answering import waves as module
from robust_qa.answering.waves import Waves
from robust_qa.calls.limits import Limits
from robust_qa.calls.pipeline import Call, Pipeline
from robust_qa.calls.trace import Trace

REPLY = Completion("batched", Usage(1, 10, 2, batched=1))
ORDINARY = Completion("ordinary", Usage(1, 10, 2))


class Batches:
    """Answers the requests of a wave at once, `outcomes` first."""

    def __init__(self, *outcomes: Completion | Exception | None) -> None:
        self.sent: list[int] = []
        self._outcomes = list(outcomes)
        self._waiting: list[asyncio.Future[Completion | None]] = []

    async def check(self) -> None:
        pass

    async def generate(self, messages: list[Message], decoding: Decoding) -> Completion | None:
        self._waiting.append(asyncio.get_running_loop().create_future())
        return await self._waiting[-1]

    def send(self) -> None:
        waiting, self._waiting = self._waiting, []
        self.sent.append(len(waiting))
        for future in waiting:
            outcome = self._outcomes.pop(0) if self._outcomes else REPLY
            if isinstance(outcome, Exception):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)


class Model:
    def __init__(self, batches: Batches) -> None:
        self._batches = batches
        self.calls = 0

    def provider_batches(self, journal: Path, say: Callable[[str], object]) -> Batches:
        return self._batches

    async def generate(self, messages: list[Message], decoding: Decoding) -> Completion:
        self.calls += 1
        return ORDINARY


class Slow:
    """Retrieves after `delay` seconds."""

    def __init__(self, delay: float) -> None:
        self._delay = delay
        self.running = self.most = 0

    async def retrieve(self, query: str, k: int) -> list[Any]:
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(self._delay)
        self.running -= 1
        return []


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_QUIET", 0.05)


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def waves(tmp_path: Path, said: list[str]) -> Waves:
    return Waves(tmp_path / "journal", said.append)


def piped(waves: Waves, name: str, component: Any, **limits: Any) -> Pipeline:
    pipeline = Pipeline(name, component, Limits(**limits), identity="i", cache=None)
    waves.add(pipeline)
    return pipeline


async def generate(pipeline: Pipeline, text: str, trace: Trace | None = None) -> str:
    call = Call("generate", ([Message("user", text)], Decoding()), Completion, "prompt")
    return (await pipeline.call(call, trace or Trace())).text


async def test_calls_of_several_questions_are_one_wave(waves: Waves) -> None:
    batches = Batches()
    reader = piped(waves, "reader.r", Model(batches))
    assert await asyncio.gather(*(generate(reader, str(n)) for n in range(5))) == ["batched"] * 5
    assert await generate(reader, "again") == "batched"
    assert batches.sent == [5, 1]


async def test_a_wave_waits_for_the_questions_that_have_no_call_yet(waves: Waves) -> None:
    batches = Batches()
    reader = piped(waves, "reader.r", Model(batches))
    retriever = piped(waves, "retriever.slow", Slow(0.4))

    async def late() -> None:
        await retriever.call(Call("retrieve", ("q", 1), list[Any], "q"), Trace())
        await generate(reader, "late")

    await asyncio.gather(late(), generate(reader, "early"))
    assert batches.sent == [2]


async def test_a_component_that_itself_waits_for_a_wave_does_not_delay_it(waves: Waves) -> None:
    batches = Batches()
    reader = piped(waves, "reader.r", Model(batches))

    class Judge:
        needs = frozenset({"generate"})

        async def score(self, question: str, texts: list[str], toolbox: Any) -> list[float]:
            await generate(reader, question)
            return [1.0] * len(texts)

    judge = piped(waves, "evaluator.judge", Judge())
    call = Call("score", ("q", ["a"], None), list[float], "1 text")
    assert await asyncio.wait_for(judge.call(call, Trace()), 10) == [1.0]


async def test_waiting_calls_have_no_limits(waves: Waves) -> None:
    batches = Batches()
    reader = piped(waves, "reader.r", Model(batches), concurrency=1, rpm=1.0, timeout=0.01)
    await asyncio.gather(*(generate(reader, str(n)) for n in range(5)))
    assert batches.sent == [5]


async def test_async_calls_of_others_are_limited_for_thousands_of_questions_are_in_flight(waves: Waves) -> None:
    slow = Slow(0.01)
    retriever = piped(waves, "retriever.slow", slow)
    calls = (Call("retrieve", (str(n), 1), list[Any], "q") for n in range(200))
    await asyncio.gather(*(retriever.call(call, Trace()) for call in calls))
    assert slow.most == 64


async def test_a_request_without_a_reply_is_an_ordinary_call(waves: Waves, said: list[str]) -> None:
    batches = Batches(None)
    model = Model(batches)
    reader = piped(waves, "reader.r", model)
    assert await asyncio.gather(*(generate(reader, str(n)) for n in range(3))) == ["ordinary", "batched", "batched"]
    assert model.calls == 1 and said[-1].endswith("; ordinary calls follow for 1")


async def test_a_reply_that_cannot_be_read_is_paid_and_retried_as_an_ordinary_call(waves: Waves) -> None:
    error = ReplyError("Not a completion.")
    error.usage = Usage(1, 10, 2, batched=1)
    reader = piped(waves, "reader.r", Model(Batches(error)))
    trace = Trace()
    assert await generate(reader, "q", trace) == "ordinary"
    assert trace.usage == Usage(2, 20, 4, batched=1)


async def test_an_outage_of_the_batch_api_is_not_retried(waves: Waves, said: list[str]) -> None:
    error = UnavailableError("No batches.", general=True, limited=True)
    model = Model(Batches(error))
    reader = piped(waves, "reader.r", model)
    with pytest.raises(UnavailableError, match="No batches"):
        await generate(reader, "q")
    assert model.calls == 0 and len(said) == 1


async def test_the_cost_is_told_before_and_after(waves: Waves, said: list[str]) -> None:
    reader = piped(waves, "reader.r", Model(Batches()), prompt_price=1000.0, completion_price=10_000.0)
    await generate(reader, "four words are enough")
    assert said == [
        "wave 1: 1 call, about 13 prompt tokens, at most 5.13",
        "wave 1: done with 10 + 2 tokens for 0.015 (all waves: 0.015)",
    ]


def test_a_call_in_a_batch_costs_half() -> None:
    limits = Limits(prompt_price=2.0, completion_price=8.0)
    assert limits.cost(Usage(1, 1000, 100, batched=1)) == pytest.approx(0.0014)
    assert limits.cost(Usage(1, 1000, 100)) == pytest.approx(0.0028)
