"""Chat completions, whole and as a stream of server-sent events."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from robust_qa import Answer, Question, RqaError, Usage
from robust_qa.answering import condensed
from robust_qa.kit import printable

from .errors import ApiError, api_error
from .footnotes import lead, page_of
from .requests import Chat

if TYPE_CHECKING:
    from robust_qa.answering import Session, Watcher

    from .capacity import Capacity

_ALIVE = 10.0  # seconds between comments in a stream, so that proxies keep it open


class Completion:
    """The completion of one request, by one strategy."""

    def __init__(self, session: Session, capacity: Capacity, chat: Chat, strategy: str) -> None:
        self._session = session
        self._capacity = capacity
        self._strategy = strategy
        self._last, self._earlier = chat.question()
        self._counted = chat.stream_options is not None and bool(chat.stream_options.include_usage)
        self._head = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time()), "model": chat.model}

    async def whole(self) -> dict[str, Any]:
        """Return the completion. Raises RqaError or ApiError."""
        answer, usage = await self._answer()
        page = page_of(answer)
        message = {"role": "assistant", "content": page.text, "refusal": None, "annotations": page.annotations}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        return {**self._head, "object": "chat.completion", "choices": [choice], "usage": _usage(usage)}

    async def events(self) -> AsyncIterator[bytes]:
        """Yield the completion as events. An error becomes the last event."""
        yield self._chunk({"role": "assistant", "content": ""})
        growing = _Growing()
        answering = asyncio.create_task(self._answer(growing))
        answering.add_done_callback(lambda _: growing.changed.set())
        sent = ""
        try:
            while not answering.done():
                if not await growing.change():
                    yield b": waiting\n\n"
                elif growing.text.startswith(sent) and growing.text != sent:
                    yield self._chunk({"content": growing.text[len(sent) :]})
                    sent = growing.text
            answer, usage = answering.result()
        except RqaError as error:
            yield _event(api_error(error).body)
            return
        except ApiError as error:
            yield _event(error.body)
            return
        finally:
            answering.cancel()
            await asyncio.gather(answering, return_exceptions=True)
        # If the strategy did not give the answer that the model was writing, it follows below that one.
        page = page_of(answer, after="" if lead(answer).startswith(sent) else f"{sent}\n\n")
        yield self._chunk({"content": page.text[len(sent) :], "annotations": page.annotations})
        yield self._chunk({}, finish="stop")
        if self._counted:
            yield _event({**self._head, "object": "chat.completion.chunk", "choices": [], "usage": _usage(usage)})
        yield b"data: [DONE]\n\n"

    async def _answer(self, watcher: Watcher | None = None) -> tuple[Answer, Usage]:
        async with self._capacity.turn():
            text, usage = await condensed(self._session, self._last, self._earlier)
            answer = await self._session.answer(Question(text), strategy=self._strategy, watcher=watcher)
            return answer, usage + answer.usage

    def _chunk(self, delta: Mapping[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return _event({**self._head, "object": "chat.completion.chunk", "choices": [choice]})


class _Growing:
    """A watcher that holds the answer so far. `changed` is set when it changes."""

    streaming = True

    def __init__(self) -> None:
        self.text = ""
        self.changed = asyncio.Event()

    def step(self, what: str) -> None:
        """Steps are not sent."""

    def answer(self, text: str) -> None:
        self.text = printable(text)
        self.changed.set()

    async def change(self) -> bool:
        """Wait for a change. Returns False if none comes for a while."""
        try:
            async with asyncio.timeout(_ALIVE):
                await self.changed.wait()
        except TimeoutError:
            return False
        self.changed.clear()
        return True


def _event(data: Mapping[str, Any]) -> bytes:
    return b"data: " + msgspec.json.encode(data) + b"\n\n"


def _usage(usage: Usage) -> dict[str, int]:
    read, written = usage.prompt_tokens, usage.completion_tokens
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
