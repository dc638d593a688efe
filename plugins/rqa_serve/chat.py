"""Chat completions, whole and as a stream of server-sent events."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

from robust_qa import Answer, Question, RqaError, Usage

from .conversation import condensed
from .errors import ApiError, api_error
from .footnotes import lead, page_of
from .requests import Chat, encoded

if TYPE_CHECKING:
    from robust_qa.answering import Session

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
        answering = asyncio.create_task(self._answer())
        try:
            while not (await asyncio.wait({answering}, timeout=_ALIVE))[0]:
                yield b": waiting\n\n"
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
        page, text = page_of(answer), lead(answer)
        yield self._chunk({"content": text})
        yield self._chunk({"content": page.text[len(text) :], "annotations": page.annotations})
        yield self._chunk({}, finish="stop")
        if self._counted:
            yield _event({**self._head, "object": "chat.completion.chunk", "choices": [], "usage": _usage(usage)})
        yield b"data: [DONE]\n\n"

    async def _answer(self) -> tuple[Answer, Usage]:
        async with self._capacity.turn():
            text, usage = await condensed(self._session, self._last, self._earlier)
            answer = await self._session.answer(Question(text), strategy=self._strategy)
            return answer, usage + answer.usage

    def _chunk(self, delta: Mapping[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return _event({**self._head, "object": "chat.completion.chunk", "choices": [choice]})


def _event(data: Mapping[str, Any]) -> bytes:
    return b"data: " + encoded(data) + b"\n\n"


def _usage(usage: Usage) -> dict[str, int]:
    read, written = usage.prompt_tokens, usage.completion_tokens
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
