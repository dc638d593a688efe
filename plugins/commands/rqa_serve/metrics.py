"""Counts of requests and answers, for Prometheus."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest

from robust_qa import Answer

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_BUCKETS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)  # seconds
_OUTCOMES = ("answered", "probable", "abstained", "failed")
_LEFT = 499  # the client left before a response


class Metrics:
    """Counts since the start of the server."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._all = CollectorRegistry()
        self._requests = Counter("rqa_requests", "Requests by page and status.", ["page", "status"], registry=self._all)
        self._answers = Counter("rqa_answers", "Answers by outcome.", ["outcome"], registry=self._all)
        for outcome in _OUTCOMES:  # begin at 0, so that the first failure is an increase
            self._answers.labels(outcome)
        about = "Seconds from the question to the answer."
        self._seconds = Histogram("rqa_answer_seconds", about, buckets=_BUCKETS, registry=self._all)
        about = "Requests being answered or waiting."
        self._in_progress = Gauge("rqa_requests_in_progress", about, registry=self._all)

    async def counted(self, answering: Awaitable[Answer]) -> Answer:
        """Return the answer, and count it by its outcome."""
        outcome = "failed"  # also if it was cancelled
        try:
            answer = await answering
            outcome = "answered" if answer.text is not None else "probable" if answer.probable else "abstained"
        finally:
            self._answers.labels(outcome).inc()
        self._seconds.observe(answer.seconds)
        return answer

    def counting(self, app: ASGIApp, pages: Iterable[str]) -> ASGIApp:
        """Return `app`, with its requests counted. A path that is not in `pages` counts as "other"."""
        known = frozenset(pages)

        async def count(scope: Scope, receive: Receive, send: Send) -> None:
            status = _LEFT

            async def sent(message: Message) -> None:
                nonlocal status
                if message["type"] == "http.response.start":
                    status = message["status"]
                await send(message)

            try:
                await app(scope, receive, sent)
            finally:
                if scope["type"] == "http":
                    self._requests.labels(scope["path"] if scope["path"] in known else "other", status).inc()

        return count

    def text(self, in_progress: int) -> bytes:
        """Return all counts in the text format of Prometheus. `in_progress`: requests being answered or waiting."""
        self._in_progress.set(in_progress)
        return generate_latest(self._all)
