"""A strategy that does what its question says, for tests of batches.

"sleep 0.2", "abstain", "wait" and "refuse" (until there is a file "mended"), "crash", "close" (raises GeneratorExit),
"cancel", "group" (a task group fails, and with "group cancel" a cancellation follows it), "block" (a thread, for a
minute), "stall" (blocks the event loop, in one of the ways of STALLS, until there is a file "mended"), "noise" (writes
to file descriptor 1 in three ways), "passages" and "stray" are followed; any other question is its own answer. With the
option `log` each question asked is a line of that file.
"""

import asyncio
import ctypes
import os
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robust_qa import Answer, Citation, Position, Reading, RefusedError, Toolbox, Usage, hookimpl


class Scripted:
    "Does what the question says."

    needs = frozenset[Any]()

    @dataclass
    class Options:
        log: Path | None = None
        seconds: float = 0.0
        tone: str = ""
        api_key: str = ""

    def __init__(self, options: Options) -> None:
        self.options = options
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        self._log = os.open(options.log, flags) if options.log else None

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        if self._log is not None:
            os.write(self._log, question.encode() + b"\n")
        await asyncio.sleep(self.options.seconds)
        toolbox.trace.add("note", "", usage=Usage(1, 10, 2))
        match question.split():
            case ["sleep", seconds, *_]:
                await asyncio.sleep(float(seconds))
            case ["wait", *_]:
                while not Path("mended").exists():
                    await asyncio.sleep(0.01)
            case ["abstain"]:
                return Answer(None, reason="No idea.")
            case ["refuse", *_] if not Path("mended").exists():
                raise RefusedError("The key is wrong.", hint="Store another.")
            case ["crash"]:
                raise ZeroDivisionError("by nothing")
            case ["close", *_]:
                raise GeneratorExit("of its own")
            case ["stall", way] if not Path("mended").exists():
                await STALLS[way]()
            case ["noise"]:
                os.write(1, b"noise of the plugin\n")
                ctypes.CDLL(None).puts(b"noise of a C library")
                subprocess.run(["echo", "noise of a child process"], check=True)
            case ["group", *others]:
                with suppress(ExceptionGroup if others == ["cancel"] else ()):
                    async with asyncio.TaskGroup() as group:
                        group.create_task(_refused())
                raise asyncio.CancelledError
            case ["cancel"]:
                raise asyncio.CancelledError
            case ["block"]:
                await toolbox.read(question, [])
            case ["passages"]:
                return Answer(" + ".join(passage.text for passage in await toolbox.retrieve()))
            case ["conflict"]:
                citation = Citation("It is so.", "T", "t.txt", "1", origin="memory")
                return Answer("so", 0.5, (citation,), (Position("so", 0.5, (citation,), True), Position("not so")))
        return Answer(question, details={"length": len(question)})


async def _refused() -> None:
    raise RefusedError("The key is wrong.")


async def _sleep() -> None:
    time.sleep(60)


async def _swallow() -> None:
    while True:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(60)


async def _deadlock() -> None:
    mutex = ctypes.create_string_buffer(256)  # zeros: a pthread mutex that is free
    for _ in range(2):
        ctypes.CDLL(None).pthread_mutex_lock(mutex)  # unlike a sleep, no signal interrupts it


STALLS = {"sleep": _sleep, "swallow": _swallow, "deadlock": _deadlock}


class Blocking:
    "A reader that cannot be stopped, if the question is to block."

    def read(self, question: str, passages: list[Any]) -> Reading:
        if question == "block":
            time.sleep(60)
        return Reading(None)


@hookimpl
def rqa_register(registry: Any) -> None:
    registry.strategy("scripted", Scripted)
    registry.reader("blocking", Blocking, rank=1)
