"""Counts of requests and answers, in the text format of Prometheus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from robust_qa import Answer

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)  # seconds
_LEFT = 499  # the client left before a response


class Metrics:
    """Counts since the start of the server."""

    def __init__(self) -> None:
        self._requests = Counter[tuple[str, int]]()  # by page and status
        self._answers = Counter[str]()
        self._seconds = [0] * len(_BUCKETS)  # answers that took at most as long, by bucket
        self._answered = 0
        self._sum = 0.0

    async def counted(self, answering: Awaitable[Answer]) -> Answer:
        """Return the answer, and count it by its outcome."""
        outcome = "failed"  # also if it was cancelled
        try:
            answer = await answering
            outcome = "answered" if answer.text is not None else "probable" if answer.probable else "abstained"
        finally:
            self._answers[outcome] += 1
        self._answered += 1
        self._sum += answer.seconds
        for number, most in enumerate(_BUCKETS):
            self._seconds[number] += answer.seconds <= most
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
                    self._requests[scope["path"] if scope["path"] in known else "other", status] += 1

        return count

    def text(self, in_progress: int) -> str:
        """Return all counts. `in_progress`: requests being answered or waiting."""
        return "".join(f"{line}\n" for line in self._lines(in_progress))

    def _lines(self, in_progress: int) -> Iterator[str]:
        yield from _family("rqa_requests_total", "counter", "Requests by page and status.")
        for (page, status), count in sorted(self._requests.items()):
            yield _sample("rqa_requests_total", count, {"page": page, "status": str(status)})
        yield from _family("rqa_answers_total", "counter", "Answers by outcome.")
        for outcome in ("answered", "probable", "abstained", "failed"):
            yield _sample("rqa_answers_total", self._answers[outcome], {"outcome": outcome})
        yield from _family("rqa_answer_seconds", "histogram", "Seconds from the question to the answer.")
        for most, count in zip((*_BUCKETS, "+Inf"), (*self._seconds, self._answered), strict=True):
            yield _sample("rqa_answer_seconds_bucket", count, {"le": str(most)})
        yield _sample("rqa_answer_seconds_sum", self._sum)
        yield _sample("rqa_answer_seconds_count", self._answered)
        yield from _family("rqa_requests_in_progress", "gauge", "Requests being answered or waiting.")
        yield _sample("rqa_requests_in_progress", in_progress)


def _family(name: str, kind: str, summary: str) -> Iterator[str]:
    yield f"# HELP {name} {summary}"
    yield f"# TYPE {name} {kind}"


def _sample(name: str, value: float, labels: Mapping[str, str] | None = None) -> str:
    # No label needs escaping: all values come from the code.
    named = ",".join(f'{key}="{label}"' for key, label in (labels or {}).items())
    return f"{name}{{{named}}} {value!r}" if named else f"{name} {value!r}"
