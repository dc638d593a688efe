"""Provider batches: what is sent, how replies find their requests, and what the journal keeps."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from standins.batch_api import BatchServer, serve
from standins.openai import error as refusal
from standins.openai import running

from robust_qa import CallError, Completion, Decoding, Message, RefusedError, ReplyError, UnavailableError
from rqa_openai import OpenAI
from rqa_provider import batches, waves
from rqa_provider.batches import Batches, Total
from rqa_provider.journal import Journal
from rqa_provider.waves import Waves


@pytest.fixture
async def connect() -> AsyncIterator[Callable[..., OpenAI]]:
    """Return a function that makes readers for a base URL. They are closed after the test."""
    readers: list[OpenAI] = []

    def make(url: str, **options: Any) -> OpenAI:
        readers.append(OpenAI(OpenAI.Options(**{"model": "qwen", "base_url": url, **options})))
        return readers[-1]

    yield make
    for reader in readers:
        await reader.close()


def echo(request: dict[str, Any], n: int) -> str:
    return str(request["messages"][-1]["content"])


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "out.batches"


async def ask(reader: OpenAI, path: Path, *texts: str) -> list[Completion | BaseException | None]:
    """The replies to a wave of requests, after a first one that is left to an ordinary call."""
    handle: Any = SimpleNamespace(name="reader.r", component=reader, cost=lambda usage: None)
    journal = Journal(path)
    found = Batches(handle, reader.provider_batches(), journal, Total(), lambda text: None)
    assert await found.generate([Message("user", "the first")], Decoding()) is None
    calls = [asyncio.create_task(found.generate([Message("user", text)], Decoding())) for text in texts]
    await asyncio.sleep(0)
    found.send()
    try:
        return await asyncio.gather(*calls, return_exceptions=True)
    finally:
        found.close()
        journal.close()


def ids(server: BatchServer) -> list[list[str]]:
    return [list(batch.requests) for batch in server.batches]


async def test_a_wave_larger_than_a_file_is_several_batches(connect, journal, monkeypatch):
    monkeypatch.setattr(batches, "_MOST_REQUESTS", 2)
    with serve(echo) as server:
        replies = await ask(connect(server.url), journal, "a", "line\u2028separators\nare text", "c")
        assert [reply.text for reply in replies] == ["a", "line\u2028separators\nare text", "c"]
        assert [len(batch) for batch in ids(server)] == [2, 1]


async def test_a_file_stays_below_the_size_that_the_provider_allows(connect, journal, monkeypatch):
    monkeypatch.setattr(batches, "_MOST_BYTES", 1000)
    with serve(echo) as server:
        await ask(connect(server.url), journal, "a" * 600, "b" * 600, "c")
        assert sorted(len(batch) for batch in ids(server)) == [1, 2]  # they are sent at once


async def test_equal_requests_in_flight_have_ids_of_their_own_that_a_later_run_finds(connect, journal):
    with serve(echo) as server:
        await ask(connect(server.url), journal, "a", "a")
        await ask(connect(server.url), journal, "a", "a")
        assert [len(set(batch)) for batch in ids(server)] == [2]


async def test_another_model_does_not_find_them(connect, journal):
    with serve(echo) as server:
        await ask(connect(server.url), journal, "a")
        await ask(connect(server.url, model="other"), journal, "a")
        assert len(server.batches) == 2


async def test_a_reply_that_is_no_completion_is_an_error(connect, journal):
    with serve(echo, lambda request, n: {"usage": {"prompt_tokens": 7, "completion_tokens": 3}}) as server:
        [error] = await ask(connect(server.url), journal, "a")
    assert isinstance(error, ReplyError) and error.usage.batched == 1 and error.usage.prompt_tokens == 7


async def test_a_batch_that_the_endpoint_does_not_know_ends_the_run_with_advice(connect, journal):
    with serve(echo) as server:
        await ask(connect(server.url), journal, "a")
        server.batches.clear()
        [error] = await ask(connect(server.url), journal, "a")
    assert isinstance(error, UnavailableError) and error.general and error.limited
    assert "No batch found" in error.message and f"{journal} records the batches" in error.hint


async def test_ids_of_the_journal_stay_within_their_page(connect, journal):
    with serve(echo) as server:
        await ask(connect(server.url), journal, "a")
        journal.write_text(journal.read_text().replace("batch_1", "../files/x?y"))
        await ask(connect(server.url), journal, "a")
        assert server.requests[-1].path == "/v1/batches/..%2Ffiles%2Fx%3Fy"


async def test_a_journal_that_cannot_be_written_ends_the_run(connect, tmp_path):
    with serve(echo) as server, pytest.raises(UnavailableError, match="Cannot write") as ended:
        await ask(connect(server.url), tmp_path / "missing" / "out.batches", "a")
    assert ended.value.general and ended.value.limited


async def test_an_endpoint_that_rejects_the_key_is_told_from_one_without_batches(connect, journal):
    class Locked(BatchServer):
        def _reply(self, request, number):
            return refusal(401, "Incorrect API key provided: secret-of-mine.", code="invalid_api_key")

    with running(Locked(echo, None, lambda n, batch: "completed", 0.0)) as server:
        reader = connect(server.url, headers={"Authorization": "Bearer secret-of-mine"})
        with pytest.raises(RefusedError, match="status 401") as refused:
            await reader.provider_batches().check()
    assert "secret-of-mine" not in refused.value.message


@pytest.mark.parametrize("scheme", ["https", "ftp"])
async def test_an_address_that_will_never_work_is_not_tried_again(connect, scheme, monkeypatch):
    def fail(request: httpx.Request) -> httpx.Response:
        if scheme == "ftp":
            raise httpx.UnsupportedProtocol("No such protocol.")
        try:
            raise ssl.SSLCertVerificationError("certificate verify failed")
        except ssl.SSLError as error:
            raise httpx.ConnectError(str(error)) from error

    api = connect("http://127.0.0.1:1/v1").provider_batches()
    monkeypatch.setattr(api, "_http", httpx.AsyncClient(transport=httpx.MockTransport(fail)))
    with pytest.raises(CallError) as failed:
        await api.batch("b")
    assert type(failed.value) is CallError and not failed.value.retryable


async def test_a_page_that_is_not_implemented_ends_the_run(connect, journal):
    class NoFiles(BatchServer):
        def _upload(self, request):
            return refusal(501, "Not implemented.")

    with running(NoFiles(echo, None, lambda n, batch: "completed", 0.0)) as server:
        [error] = await ask(connect(server.url), journal, "a")
    assert isinstance(error, UnavailableError) and error.general and "status 501" in error.message


async def test_a_wave_waits_for_the_calls_in_flight(connect, journal, monkeypatch):
    monkeypatch.setattr(waves, "_QUIET", 0.05)
    job = SimpleNamespace(calls=1, say=lambda text: None)
    relay = Waves(job, Journal(journal))
    with serve(echo) as server:
        handle = SimpleNamespace(name="reader.r", component=connect(server.url), cost=lambda usage: None)
        calls = [asyncio.create_task(relay.generate(handle, [Message("user", t)], Decoding())) for t in "abc"]
        await asyncio.sleep(0.3)
        assert server.batches == []
        job.calls = 0
        assert [reply and reply.text for reply in await asyncio.gather(*calls)] == [None, "b", "c"]
        assert [len(batch) for batch in ids(server)] == [2]
    relay.close()


async def test_a_question_goes_on_when_few_enough_calls_are_in_flight(journal):
    job = SimpleNamespace(calls=64, say=lambda text: None)
    waiting = asyncio.create_task(Waves(job, Journal(journal)).room())
    await asyncio.sleep(0.1)
    assert not waiting.done()
    job.calls = 63
    await asyncio.wait_for(waiting, 10)
