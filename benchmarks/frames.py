"""Print the Python frames between a strategy's call and the component that answers it.

    python benchmarks/frames.py

Asks one question each with the host's own session objects: an `async def` reader, a `def` reader in a worker thread,
and a language model through `read`. Prints the awaiting side and the call's own task in order.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator
from types import FrameType
from typing import Any

from robust_qa import Answer, Completion, Passage, Question, Reading, Toolbox
from robust_qa.testing import toolbox

HOST = "robust_qa"
PASSAGES = (Passage("The lighthouse was built in 1871."),)
in_thread: list[str] = []  # frames of the host below a component in a worker thread


def host_frames(frame: FrameType | None) -> Iterator[str]:
    """Return the frames of the host in this thread or task, innermost first."""
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name.startswith(HOST):
            yield f"{name}.{frame.f_code.co_qualname}"
        frame = frame.f_back


def awaiting(task: asyncio.Task[Any]) -> Iterator[str]:
    """Return the host's coroutines that `task` awaits, outermost first."""
    coroutine: Any = task.get_coro()
    while getattr(coroutine, "cr_frame", None) is not None:
        name = coroutine.cr_frame.f_globals.get("__name__", "")
        if name.startswith(HOST):
            yield f"{name}.{coroutine.cr_code.co_qualname}"
        coroutine = coroutine.cr_await


class AsyncReader:
    async def read(self, question: str, passages: list[Passage]) -> Reading:
        await asyncio.sleep(0.05)
        return Reading("1871")


class PlainReader:
    def read(self, question: str, passages: list[Passage]) -> Reading:
        in_thread[:] = [*host_frames(sys._getframe(1))]
        time.sleep(0.05)
        return Reading("1871")


class Model:
    async def generate(self, messages: Any, decoding: Any) -> Completion:
        await asyncio.sleep(0.05)
        return Completion("1871")


class Rag:
    needs = frozenset({"retrieve", "read"})

    async def answer(self, question: str, tools: Toolbox) -> Answer:
        reading = await tools.read(question, await tools.retrieve())
        return Answer(reading.text)


async def frames(reader: Any) -> list[str]:
    """Return the frames from `toolbox.read` down to the component: strategy's task, call's task, and thread."""
    in_thread.clear()
    tools = toolbox(Question("When?", passages=PASSAGES), reader=reader)
    strategy = asyncio.create_task(Rag().answer("When?", tools))
    await asyncio.sleep(0.005)
    (call,) = asyncio.all_tasks() - {strategy, asyncio.current_task()}
    found = [*awaiting(strategy), *awaiting(call), *reversed(in_thread)]
    await strategy
    return found


def main() -> None:
    for name, reader in (("async def read", AsyncReader()), ("def read", PlainReader()), ("generate", Model())):
        found = asyncio.run(frames(reader))
        print(f"{name}: {len(found)} frames")
        for frame in found:
            print(f"    {frame}")


if __name__ == "__main__":
    main()
