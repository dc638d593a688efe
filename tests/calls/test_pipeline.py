import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from robust_qa import (
    CallTimeout,
    Completion,
    PluginError,
    ReplyError,
    UnavailableError,
    Usage,
)
from robust_qa.calls.cache import Cache
from robust_qa.calls.limits import Limits
from robust_qa.calls.pipeline import Call, Pipeline
from robust_qa.calls.trace import Trace
from robust_qa.kit import warn

REPLY = Completion("yes", Usage(1, 10, 2))


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Cache]:
    opened = Cache(tmp_path, 1_000_000)
    yield opened
    opened.close()


Build = Callable[..., Pipeline]


@pytest.fixture
def build() -> Build:
    def make(component: Any, *, cache: Cache | None = None, identity: str | None = "i", **limits: Any) -> Pipeline:
        return Pipeline("reader.r", component, Limits(**limits), identity=identity, cache=cache)

    return make


def generate(question: str = "q", *, repeatable: bool = True) -> Call[Completion]:
    return Call("generate", (question, None), Completion, "prompt", repeatable=repeatable)


class Model:
    """Replies after `delay` seconds; `failures` are raised first."""

    def __init__(self, *failures: Exception, delay: float = 0.0) -> None:
        self.failures = list(failures)
        self.delay = delay
        self.calls = 0
        self.running = 0
        self.most = 0
        self.times: list[float] = []

    async def generate(self, messages: Any, decoding: Any) -> Completion:
        self.calls += 1
        self.running += 1
        self.most = max(self.most, self.running)
        self.times.append(time.monotonic())
        try:
            await asyncio.sleep(self.delay)
            if self.failures:
                raise self.failures.pop(0)
            return REPLY
        finally:
            self.running -= 1


async def test_equal_calls_at_once_are_made_once(build: Build) -> None:
    model = Model(delay=0.01)
    channel, traces = build(model), [Trace() for _ in range(5)]
    replies = await asyncio.gather(*(channel.call(generate(), trace) for trace in traces))
    assert replies == [REPLY] * 5 and model.calls == 1
    assert sorted(trace.usage.cached for trace in traces) == [0, 1, 1, 1, 1]


async def test_a_call_that_cannot_be_repeated_is_neither_shared_nor_cached(build: Build, cache: Cache) -> None:
    model = Model(delay=0.01)
    channel = build(model, cache=cache)
    sampled = generate(repeatable=False)
    await asyncio.gather(channel.call(sampled, Trace()), channel.call(sampled, Trace()))
    await channel.call(sampled, Trace())
    assert model.calls == 3


async def test_a_cancelled_caller_does_not_end_a_shared_call(build: Build) -> None:
    model = Model(delay=0.05)
    channel = build(model)
    leaving = asyncio.create_task(channel.call(generate(), Trace()))
    staying = asyncio.create_task(channel.call(generate(), Trace()))
    await asyncio.sleep(0.01)
    leaving.cancel()
    assert await staying == REPLY and model.calls == 1


async def test_the_last_cancelled_caller_ends_a_shared_call(build: Build) -> None:
    model = Model(delay=5)
    channel = build(model)
    tasks = [asyncio.create_task(channel.call(generate(), Trace())) for _ in range(2)]
    await asyncio.sleep(0.01)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.sleep(0)
    assert model.running == 0


async def test_usage_is_charged_to_the_first_caller_only(build: Build) -> None:
    useless = ReplyError("This is no JSON.")
    useless.usage = Usage(1, 10, 3)
    model = Model(useless, delay=0.05)
    channel, traces = build(model), [Trace() for _ in range(3)]
    first, *others = [asyncio.create_task(channel.call(generate(), trace)) for trace in traces]
    while not model.running:
        await asyncio.sleep(0)
    first.cancel()
    assert await asyncio.gather(*others) == [REPLY] * 2
    assert [trace.usage for trace in traces] == [Usage(), Usage(2, 20, 5), Usage(1, 10, 2, cached=1)]


async def test_a_finished_call_is_found_in_the_cache_with_its_cost(build: Build, tmp_path: Path) -> None:
    model = Model()
    first = Cache(tmp_path, 1_000_000)
    await build(model, cache=first).call(generate(), Trace())
    first.close()
    second, trace = Cache(tmp_path, 1_000_000), Trace()
    assert await build(model, cache=second).call(generate(), trace) == REPLY
    assert model.calls == 1 and trace.usage == Usage(1, 10, 2, cached=1) and trace.steps[0].cached
    second.close()


@pytest.mark.parametrize("identity", ["another", None])
async def test_the_cache_is_not_shared_with_another_identity(
    build: Build, tmp_path: Path, identity: str | None
) -> None:
    model = Model()
    first = Cache(tmp_path, 1_000_000)
    await build(model, cache=first).call(generate(), Trace())
    first.close()
    second = Cache(tmp_path, 1_000_000)
    await build(model, cache=second, identity=identity).call(generate(), Trace())
    assert model.calls == 2
    second.close()


async def test_cached_results_expire_after_the_max_age_of_a_component(
    build: Build, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    class News(Model):
        max_age = 60.0

    now = 6_000.0
    monkeypatch.setattr("robust_qa.calls.pipeline.time", SimpleNamespace(time=lambda: now))
    model = News()
    channel = build(model, cache=cache)
    for seconds, calls in ((0, 1), (59, 1), (60, 2), (119, 2), (121, 3)):
        now = 6_000.0 + seconds
        await channel.call(generate(), Trace())
        while cache.info().entries < model.calls:  # it is written in a thread
            await asyncio.sleep(0.001)
        assert model.calls == calls


async def test_a_temporary_failure_is_retried_and_traced(build: Build) -> None:
    model, trace = Model(UnavailableError("busy", retry_after=0.0)), Trace()
    assert await build(model).call(generate(), trace) == REPLY
    assert model.calls == 2 and trace.steps[0].retries == 1


async def test_retry_after_is_honoured_by_all_calls(build: Build) -> None:
    model = Model(UnavailableError("busy", retry_after=0.2))
    channel = build(model)
    first = asyncio.create_task(channel.call(generate("a"), Trace()))
    await asyncio.sleep(0.05)
    await channel.call(generate("b"), Trace())
    await first
    assert min(model.times[1:]) - model.times[0] >= 0.19


async def test_a_retry_after_of_hours_fails_all_calls(build: Build) -> None:
    model = Model(UnavailableError("Too many today.", retry_after=7200), delay=0.01)
    channel = build(model)
    with pytest.raises(UnavailableError, match=r"reader\.r asks for a pause of 7,200 s.* Too many today\.") as first:
        await channel.call(generate(), Trace())
    with pytest.raises(UnavailableError, match=r"a pause of 7,\d\d\d s.* Too many today\."):
        await channel.call(generate("another"), Trace())
    assert first.value.general and model.calls == 1


async def test_rate_limit_refusals_do_not_count_as_retries(build: Build) -> None:
    model, trace = Model(*(UnavailableError("busy", retry_after=0.0) for _ in range(3))), Trace()
    assert await build(model, retries=1).call(generate(), trace) == REPLY
    assert trace.steps[0].retries == 3
    gaps = [b - a for a, b in zip(model.times, model.times[1:], strict=False)]
    assert gaps[0] < 0.2 and gaps[1] > 0.9 and gaps[2] > 1.9  # a wish that did not help was too small


async def test_a_provider_that_refuses_all_for_too_long_is_given_up(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("robust_qa.calls.limits.LONGEST_LIMITED", 0.2)
    model = Model(*(UnavailableError("busy", limited=True) for _ in range(9)))
    with pytest.raises(UnavailableError) as caught:
        await build(model).call(generate(), Trace())
    assert caught.value.general and model.calls == 2


async def test_a_call_that_alone_is_refused_fails_alone(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    class Choosy(Model):
        async def generate(self, messages: Any, decoding: Any) -> Completion:
            if messages == "long":
                raise UnavailableError("Too many tokens.", limited=True)
            return await super().generate(messages, decoding)

    monkeypatch.setattr("robust_qa.calls.limits.LONGEST_LIMITED", 1.2)
    channel = build(Choosy())
    refused = asyncio.create_task(channel.call(generate("long"), Trace()))
    await asyncio.sleep(0.05)
    assert await channel.call(generate("short"), Trace()) == REPLY
    with pytest.raises(UnavailableError) as caught:
        await refused
    assert not caught.value.general


async def test_retries_end(build: Build) -> None:
    model = Model(*(UnavailableError("down") for _ in range(9)))
    with pytest.raises(UnavailableError):
        await build(model, retries=1).call(generate(), Trace())
    assert model.calls == 2


async def test_a_timeout_names_component_and_option(build: Build) -> None:
    with pytest.raises(CallTimeout, match=r"reader\.r did not generate within 0\.05 s") as caught:
        await build(Model(delay=5), timeout=0.05, retries=0).call(generate(), Trace())
    assert "`timeout`" in caught.value.hint


async def test_a_timeout_inside_a_component_is_a_temporary_failure(build: Build) -> None:
    class Socket:
        def generate(self, messages: Any, decoding: Any) -> Completion:
            raise TimeoutError("timed out")

    for component in (Socket(), Model(TimeoutError("timed out"))):
        with pytest.raises(UnavailableError, match=r"reader\.r failed: timed out"):
            await build(component, retries=0).call(generate(), Trace())


@pytest.mark.parametrize(("configured", "of_the_component", "most"), [(2, None, 2), (None, 1, 1)])
async def test_no_more_calls_at_once_than_allowed(
    build: Build, configured: int | None, of_the_component: int | None, most: int
) -> None:
    model = Model(delay=0.01)
    if of_the_component:
        model.concurrency = of_the_component  # type: ignore[attr-defined]
    channel = build(model, concurrency=configured) if configured else build(model)
    await asyncio.gather(*(channel.call(generate(str(n)), Trace()) for n in range(8)))
    assert model.most == most


async def test_requests_a_minute_are_spaced_evenly(build: Build) -> None:
    model = Model()
    channel = build(model, rpm=1200)  # one in 50 ms
    began = time.monotonic()
    await asyncio.gather(*(channel.call(generate(str(n)), Trace()) for n in range(4)))
    assert all(at - began >= n * 0.045 for n, at in enumerate(model.times))  # each may come late, and none early


async def test_a_plain_method_runs_in_a_thread(build: Build) -> None:
    threads: list[threading.Thread] = []
    blocking = SimpleNamespace(generate=lambda *_: threads.append(threading.current_thread()) or REPLY)
    assert await build(blocking).call(generate(), Trace()) == REPLY
    assert threads[0] is not threading.main_thread()


async def test_an_ended_pipeline_leaves_no_thread(build: Build) -> None:
    before, channel = set(threading.enumerate()), build(SimpleNamespace(generate=lambda *_: REPLY))
    await asyncio.gather(*(channel.call(generate(str(n)), Trace()) for n in range(8)))
    assert {thread.name[:4] for thread in set(threading.enumerate()) - before} == {"rqa_"}
    await channel.end()
    assert set(threading.enumerate()) <= before


async def test_scores_of_waiting_questions_go_to_the_engine_as_one_batch(build: Build) -> None:
    class Judge:
        def __init__(self) -> None:
            self.batches: list[int] = []

        def score(self, question: str, texts: list[str]) -> list[float]:
            raise AssertionError("score_many is there")

        def score_many(self, requests: list[tuple[str, list[str]]]) -> list[list[float]]:
            self.batches.append(len(requests))
            time.sleep(0.02)
            return [[len(text) / 20 for text in texts] for _, texts in requests]

    judge = Judge()
    channel = build(judge)
    calls = [Call("score", (f"q{n}", ["x" * n]), list[float], "texts") for n in range(20)]
    scores = await asyncio.gather(*(channel.call(call, Trace()) for call in calls))
    assert scores == [[n / 20] for n in range(20)]
    assert len(judge.batches) <= 2


async def test_a_request_that_breaks_a_batch_fails_alone(build: Build) -> None:
    class Judge:
        def score_many(self, requests: list[tuple[str, list[str]]]) -> list[list[float]]:
            if any(question == "q1" for question, _ in requests):
                raise ValueError("engine")
            return [[0.5] for _ in requests]

    channel = build(Judge())
    calls = [Call("score", (f"q{n}", ["x"]), list[float], "texts") for n in range(3)]
    outcomes = await asyncio.gather(*(channel.call(call, Trace()) for call in calls), return_exceptions=True)
    assert (outcomes[0], type(outcomes[1]), outcomes[2]) == ([0.5], PluginError, [0.5])


async def test_a_thread_past_its_timeout_keeps_its_slot(build: Build) -> None:
    class Blocking:
        concurrency = 2
        running = most = 0

        def generate(self, messages: Any, decoding: Any) -> Completion:
            self.running += 1
            self.most = max(self.most, self.running)
            time.sleep(0.2)
            self.running -= 1
            return REPLY

    blocking = Blocking()
    channel = build(blocking, timeout=0.05, retries=0)
    calls = [asyncio.create_task(channel.call(generate(str(n)), Trace())) for n in range(8)]
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [CallTimeout] * 8
    assert "could not generate within 0.05 s" in str(outcomes[-1])
    assert blocking.most == 2 and channel.busy
    await asyncio.sleep(0.3)
    assert not channel.busy


async def test_waiting_for_a_slot_does_not_count_towards_the_timeout(build: Build) -> None:
    blocking = SimpleNamespace(concurrency=1, generate=lambda *_: time.sleep(0.05) or REPLY)
    channel = build(blocking, timeout=0.2, retries=0)
    replies = await asyncio.gather(*(channel.call(generate(str(n)), Trace()) for n in range(8)))
    assert replies == [REPLY] * 8


@pytest.fixture(autouse=True)
async def nothing_left_running() -> AsyncIterator[None]:
    yield
    await asyncio.sleep(0)
    assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task() and not task.done()] == []


async def test_a_result_of_the_wrong_type_names_the_component(build: Build) -> None:
    with pytest.raises(PluginError, match=r"reader\.r returned None, not a Completion") as told:
        await build(SimpleNamespace(generate=lambda *_: None)).call(generate(), Trace())
    assert "rqa plugins check r" in told.value.hint


@pytest.mark.parametrize(("given", "told"), [(None, "NoneType, not a list,"), ([], "0 results")])
async def test_too_few_results_of_a_batch_are_an_error_of_the_component(build: Build, given: Any, told: str) -> None:
    judge = SimpleNamespace(score_many=lambda requests: given)
    with pytest.raises(PluginError, match=rf"`score_many` of reader\.r returned {told} for 1 requests"):
        await build(judge).call(Call("score", ("q", ["x"]), list[float], "texts"), Trace())


async def test_a_component_that_exits_fails_its_call(build: Build) -> None:
    class Leaver:
        def generate(self, messages: Any, decoding: Any) -> Completion:
            raise SystemExit(7)

    with pytest.raises(PluginError, match=r"reader\.r failed with SystemExit: 7"):
        await build(Leaver()).call(generate(), Trace())


class Careless(Model):
    """Remarks on every call, in a task of its own and in a thread."""

    async def generate(self, messages: Any, decoding: Any) -> Completion:
        async def say() -> None:
            warn("a page is missing")

        await asyncio.gather(say(), asyncio.to_thread(warn, "another is, too"))
        return await super().generate(messages, decoding)


async def test_the_trace_has_the_warnings_of_components(build: Build) -> None:
    trace = Trace()
    await build(Careless()).call(generate(), trace)
    in_thread = SimpleNamespace(generate=lambda *_: warn("from a worker thread") or REPLY)
    await build(in_thread).call(generate(), trace)
    await build(Model()).call(generate(), trace)
    assert [sorted(step.data.get("remarks", ())) for step in trace.steps] == [
        ["a page is missing", "another is, too"],
        ["from a worker thread"],
        [],
    ]


async def test_a_result_with_a_warning_is_not_cached(build: Build, tmp_path: Path) -> None:
    careless, other = Careless(), Model()
    for _ in range(2):
        cache = Cache(tmp_path, 1_000_000)
        await build(careless, cache=cache).call(generate(), Trace())
        await build(other, cache=cache, identity="j").call(generate(), Trace())
        cache.close()  # which writes what is waiting
    assert (careless.calls, other.calls) == (2, 1)
