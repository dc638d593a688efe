"""Waves: when calls are sent, what they cost, and how many questions go on at once."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

import pytest

from robust_qa import Completion, Decoding, Message, Usage
from rqa_provider import waves as module
from rqa_provider.journal import Journal
from rqa_provider.waves import Waves


class Api:
    """A batch API that answers at once. `silent`: without any reply."""

    def __init__(self, *, silent: bool = False) -> None:
        self.sent: list[list[str]] = []
        self._silent = silent

    def digest(self, messages: list[Message], decoding: Decoding) -> str:
        return messages[0].content

    def line(self, id: str, messages: list[Message], decoding: Decoding) -> bytes:
        return json.dumps(id).encode() + b"\n"

    async def upload(self, content: IO[bytes]) -> str:
        content.seek(0)
        self.sent.append([json.loads(line) for line in content])
        return f"file-{len(self.sent)}"

    async def begin(self, file: str) -> str:
        return file

    async def batch(self, id: str) -> Any:
        number = int(id.removeprefix("file-")) - 1
        return SimpleNamespace(ended=True, status="completed", reason="", queue_full=False, ids=self.sent[number])

    async def replies(self, batch: Any) -> AsyncIterator[tuple[str, bytes | None, str]]:
        for id in batch.ids:
            yield id, None if self._silent else b"batched", ""

    def completion(self, reply: bytes, messages: list[Message], decoding: Decoding) -> Completion:
        return Completion(reply.decode(), Usage(1, 10, 2))


class Reader:
    name = "reader.r"

    def __init__(self, api: Api | None) -> None:
        self.component = SimpleNamespace(**({"provider_batches": lambda: api} if api else {}))

    def cost(self, usage: Usage) -> float | None:
        return (1000 * usage.prompt_tokens + 10_000 * usage.completion_tokens) / 1e6 / (2 if usage.batched else 1)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_QUIET", 0.05)


@pytest.fixture
def job() -> Any:
    said: list[str] = []
    return SimpleNamespace(calls=0, said=said, say=said.append)


@pytest.fixture
async def waves(job: Any, tmp_path: Path) -> AsyncIterator[Waves]:
    waves = Waves(job, Journal(tmp_path / "journal"))
    yield waves
    waves.close()


async def generate(waves: Waves, reader: Reader, *texts: str) -> list[str | None]:
    calls = (waves.generate(reader, [Message("user", text)], Decoding()) for text in texts)
    return [reply and reply.text for reply in await asyncio.gather(*calls)]


async def test_the_calls_of_several_questions_are_one_wave(waves: Waves) -> None:
    api = Api()
    reader = Reader(api)
    assert await generate(waves, reader, "first", "a", "b") == [None, "batched", "batched"]
    assert await generate(waves, reader, "c") == ["batched"]
    assert api.sent == [["a-0", "b-0"], ["c-0"]]


async def test_a_wave_waits_for_the_calls_in_flight(waves: Waves, job: Any) -> None:
    api = Api()
    reader, job.calls = Reader(api), 1
    early = asyncio.create_task(generate(waves, reader, "first", "early"))
    await asyncio.sleep(0.3)
    late = asyncio.create_task(generate(waves, reader, "late"))
    await asyncio.sleep(0)
    job.calls = 0
    assert await early == [None, "batched"] and await late == ["batched"]
    assert api.sent == [["early-0", "late-0"]]


async def test_a_question_goes_on_when_few_enough_calls_are_in_flight(waves: Waves, job: Any) -> None:
    job.calls = 64
    waiting = asyncio.create_task(waves.room())
    await asyncio.sleep(0.1)
    assert not waiting.done()
    job.calls = 63
    await asyncio.wait_for(waiting, 10)


async def test_a_reader_without_batches_gets_ordinary_calls(waves: Waves) -> None:
    assert await generate(waves, Reader(None), "a", "b") == [None, None]


async def test_a_request_without_a_reply_is_an_ordinary_call(waves: Waves, job: Any) -> None:
    assert await generate(waves, Reader(Api(silent=True)), "first", "a", "b") == [None, None, None]
    assert job.said[-1].endswith("; ordinary calls follow for 2")


async def test_the_cost_is_told_before_and_after(waves: Waves, job: Any) -> None:
    await generate(waves, Reader(Api()), "first", "four words are enough")
    assert job.said == [
        "wave 1: 1 call, about 13 prompt tokens, at most 5.13",
        "waiting for file-1 with 1 call, up to 24 hours",
        "wave 1: done with 10 + 2 tokens for 0.015 (all waves: 0.015)",
    ]
