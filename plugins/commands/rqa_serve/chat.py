"""Chat completions, whole and as a stream of server-sent events."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from robust_qa import Answer, Question, Usage
from rqa_conversation import understood

from .footnotes import page_of
from .requests import Chat, task_reply, without_context
from .streaming import ALIVE, Growing, as_event

if TYPE_CHECKING:
    from robust_qa.answering import Watcher

    from .capacity import Capacity
    from .corpora import Remote
    from .metrics import Metrics


class Completion:
    """The completion of one request, by one strategy."""

    def __init__(
        self,
        remote: Remote,
        capacity: Capacity,
        metrics: Metrics,
        chat: Chat,
        strategy: str,
        *,
        base: str,
        follow: bool = True,
    ) -> None:
        self._remote = remote
        self._capacity = capacity
        self._metrics = metrics
        self._strategy = strategy
        self._base = base  # the server's address
        self._follow = follow
        last, self._earlier = chat.question()
        self._reply = None if self._earlier else task_reply(last)
        self._question = without_context(last)
        self._counted = chat.stream_options is not None and bool(chat.stream_options.include_usage)
        self._head = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time()), "model": chat.model}

    async def whole(self) -> dict[str, Any]:
        """Return the completion. Raises RqaError or ApiError."""
        answer, usage = await self._answer()
        page = page_of(answer, self._base, asked=self._question)
        message = {"role": "assistant", "content": page.text, "refusal": None, "annotations": page.annotations}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        known = {"usage": _usage(usage), "rqa": _told(answer)}
        return {**self._head, "object": "chat.completion", "choices": [choice], **known}

    async def events(self) -> AsyncIterator[bytes]:
        """Yield the completion as events. Raises RqaError or ApiError."""
        yield self._chunk({"role": "assistant", "content": ""})
        growing = Growing()
        answering = asyncio.create_task(self._answer(growing))
        sent = ""
        async with aclosing(growing.until(answering)) as changes:  # type: ignore[type-var]
            async for changed in changes:
                text = growing.text
                if not changed:
                    yield ALIVE
                elif text.startswith(sent) and text != sent:
                    yield self._chunk({"content": text[len(sent) :]})
                    sent = text
        answer, usage = answering.result()
        page = page_of(answer, self._base, asked=self._question, sent=sent)
        yield self._chunk({"content": page.text[len(sent) :], "annotations": page.annotations})
        yield self._chunk({}, finish="stop", rqa=_told(answer))
        if self._counted:
            yield as_event({**self._head, "object": "chat.completion.chunk", "choices": [], "usage": _usage(usage)})
        yield b"data: [DONE]\n\n"

    async def _answer(self, watcher: Watcher | None = None) -> tuple[Answer, Usage]:
        if self._reply is not None:
            return Answer(self._reply), Usage()
        async with self._capacity.turn():
            session = self._remote.session
            alone = await self._remote.run(understood(session, self._question, self._earlier, follow=self._follow))
            if alone.asked_back:
                return alone.asked_back, alone.usage
            answering = session.answer(Question(alone.question), strategy=self._strategy, watcher=watcher)
            answer = await self._metrics.counted(self._remote.run(answering))
            return answer, alone.usage + answer.usage

    def _chunk(self, delta: Mapping[str, Any], finish: str | None = None, **more: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return as_event({**self._head, "object": "chat.completion.chunk", "choices": [choice], **more})


def _told(answer: Answer) -> dict[str, Any]:
    """Return what a program needs to tell an answer from none; a client of OpenAI's ignores the field."""
    return {"answer": answer.text, "confidence": answer.confidence, "abstained": answer.abstained}


def _usage(usage: Usage) -> dict[str, int]:
    read, written = usage.prompt_tokens, usage.completion_tokens
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
