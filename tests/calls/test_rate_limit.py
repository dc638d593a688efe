"""The rate limit of a provider, over HTTP with the reader `openai`."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

from robust_qa import Completion, Decoding, Message
from robust_qa.calls.limits import Limits
from robust_qa.calls.pipeline import Call, Pipeline
from robust_qa.calls.trace import Trace
from rqa_openai import OpenAI

from ..standins.openai import Fault, Server, error, serve


class Limited:
    """A script that replies to `number` requests in any `seconds`, and refuses the others."""

    def __init__(self, number: int, seconds: float, *, tells: bool) -> None:
        self.refused = 0
        self._number = number
        self._seconds = seconds
        self._headers = {"retry-after-ms": f"{1000 * seconds:.0f}"} if tells else {}
        self._times: list[float] = []

    def __call__(self, request: dict[str, Any], n: int) -> str | Fault:
        now = time.monotonic()
        self._times = [one for one in self._times if now - one < self._seconds]
        if len(self._times) >= self._number:
            self.refused += 1
            return error(429, "Rate limit reached.", headers=self._headers)
        self._times.append(now)
        return "yes"


def answered(
    script: Callable[[dict[str, Any], int], str | Fault], calls: int, *, latency: float = 0.02, **limits: Any
) -> tuple[Server, float]:
    """The server, asked as many questions at once and all of them answered, and the seconds that took."""

    async def ask(server: Server) -> float:
        reader = OpenAI(OpenAI.Options(base_url=server.url, model="m"))
        channel = Pipeline("reader.r", reader, Limits(**limits), identity=None, cache=None)
        began = time.monotonic()
        asked = [Call("generate", ([Message("user", str(n))], Decoding()), Completion, "q") for n in range(calls)]
        await asyncio.gather(*(channel.call(call, Trace()) for call in asked))
        await reader.close()
        return time.monotonic() - began

    with serve(script, latency=latency) as server:
        return server, asyncio.run(ask(server))


def test_a_rate_limit_loses_no_call() -> None:
    script = Limited(3, 0.3, tells=True)
    _, seconds = answered(script, 15)
    assert script.refused < 50 and seconds < 20  # 1.2 at least


def test_without_a_rate_limit_all_calls_run_at_once() -> None:
    server, _ = answered(lambda request, n: "yes", 100, latency=1.0)  # time for a hundred connections
    assert server.peak == 100


def test_concurrency_recovers_after_a_rate_limit() -> None:
    server, _ = answered(lambda request, n: error(429) if n == 5 else "yes", 200, concurrency=8)
    late = [request for request in server.requests if request.started > server.requests[-20].started - 0.02]
    at_once = max(sum(one.started <= other.started < one.ended for one in late) for other in late)
    assert at_once == 8
