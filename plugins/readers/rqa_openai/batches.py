"""Generate through an endpoint's batch API: many requests in a file, at half price, with replies within a day."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, TypeVar

from robust_qa import CallTimeout, Completion, Decoding, InputError, Message, RqaError, UnavailableError

from .batch_api import ENDPOINT, Batch, BatchApi, Line
from .batch_journal import Journal
from .client import Client
from .dialect import Dialect, encode
from .refusals import refusal_in
from .replies import Reply

T = TypeVar("T")
Build = Callable[[Dialect], dict[str, Any]]

_MOST_REQUESTS, _MOST_BYTES = 50_000, 200_000_000  # in a file
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 60.0  # seconds until the next look at a batch, doubled each time
_QUEUE_FULL = "token_limit_exceeded"  # the account has too many tokens in batches


@dataclass(frozen=True, slots=True)
class _Request:
    """A request that waits. `file` holds it already if it is not "". The reply is a body, None if there is none."""

    build: Build
    file: str
    reply: asyncio.Future[bytes | None]


_Requests = Mapping[str, _Request]  # by custom id


class Batches:
    """The requests of one reader, sent in batches.

    `request` returns the function that writes a request, and `completion` reads a reply. `journal` records which batch
    holds which request, so that a later run waits for it and does not pay again. `say` prints a line.

    A request that the batch does not answer is left to an ordinary call. If batches cannot be sent at all, the run
    ends, because ordinary calls would cost twice as much as the user expects.
    """

    def __init__(
        self,
        client: Client,
        request: Callable[[list[Message], Decoding], Build],
        completion: Callable[[Reply, Dialect, list[Message], Decoding], Completion],
        journal: Path,
        say: Callable[[str], object],
    ) -> None:
        self._client = client
        self._request = request
        self._completion = completion
        self._say = say
        self._api = BatchApi(client)
        self._journal = Journal(journal)
        self._dialect = client.dialect  # for custom ids, which must not depend on what was learnt
        self._tried = False
        self._in_flight: set[str] = set()
        self._waiting: dict[str, _Request] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def check(self) -> None:
        """Raise RefusedError if the endpoint has no batch API, or rejects the key."""
        await self._api.check()

    async def generate(self, messages: list[Message], decoding: Decoding) -> Completion | None:
        """Wait for `send`, then return the reply. None if the batch has none. Raises the errors of `OpenAI.generate`.

        The first request is left to an ordinary call, which learns the endpoint's dialect.
        """
        build = self._request(messages, decoding)
        custom_id = self._custom_id(build)
        try:
            file = self._journal.take(custom_id)
        except InputError as error:
            raise self._ending(error) from error
        if not file and not self._tried:
            self._tried = True
            return None
        future: asyncio.Future[bytes | None] = asyncio.get_running_loop().create_future()
        self._in_flight.add(custom_id)
        self._waiting[custom_id] = _Request(build, file, future)
        try:
            body = await future
        finally:
            self._in_flight.discard(custom_id)
            self._waiting.pop(custom_id, None)
        if body is None:
            return None
        try:
            completion = self._completion(Reply(200, {}, body), self._client.dialect, messages, decoding)
        except RqaError as error:
            error.usage = replace(error.usage, batched=error.usage.calls)
            raise
        return replace(completion, usage=replace(completion.usage, batched=completion.usage.calls))

    def send(self) -> None:
        """Send the requests that wait. Those in batches of an earlier run wait for these."""
        requests, self._waiting = self._waiting, {}
        files: dict[str, dict[str, _Request]] = {}
        for custom_id, request in requests.items():
            files.setdefault(request.file, {})[custom_id] = request
        new = files.pop("", {})
        if files:
            self._say(f"{len(requests) - len(new):,} of these calls are in batches of an earlier run, already paid")
        for file, held in files.items():
            self._start(self._finish(file, held), held)
        self._start(self._send(new), new)

    async def close(self) -> None:
        """Stop waiting. The batches go on at the provider."""
        for task in self._tasks:
            task.cancel()
        await self._api.close()
        self._journal.close()

    def _custom_id(self, build: Build) -> str:
        """Return an id that is the same in a later run, and that no other request in flight has."""
        content = encode(self._client.body(build, self._dialect)) + self._client.endpoint.address.encode()
        digest = hashlib.sha256(content).hexdigest()[:32]
        return next(each for n in count() if (each := f"{digest}-{n}") not in self._in_flight)

    def _start(self, work: Coroutine[Any, Any, None], requests: _Requests) -> None:
        task = asyncio.create_task(self._settle(work, requests))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _settle(self, work: Coroutine[Any, Any, None], requests: _Requests) -> None:
        """Do `work`. If it fails, its error is that of all `requests`, and ends the run."""
        try:
            await work
        except Exception as error:  # nobody else waits for this task
            failure = self._ending(error)
            for request in requests.values():
                if not request.reply.done():
                    request.reply.set_exception(copy(failure))

    def _ending(self, error: Exception) -> UnavailableError:
        """Return an error that ends the run and leaves its rows unanswered."""
        recorded = (
            f"{self._journal.path} records the batches that were sent: --resume waits for them. Delete it to send and "
            "pay for their calls again."
        )
        hint = f"{getattr(error, 'hint', '')} {recorded}".strip()
        return UnavailableError(f"The provider's batch API failed: {error}", hint=hint, general=True, limited=True)

    async def _send(self, requests: _Requests) -> None:
        async for file, part in self._uploads(requests):
            self._start(self._finish(file, part), part)

    async def _uploads(self, requests: _Requests) -> AsyncIterator[tuple[str, _Requests]]:
        """Upload the requests. Yields each file with its requests."""
        for content, part in self._contents(requests):
            file = await self._persist(partial(self._api.upload, content))
            self._journal.uploaded(file, part)
            yield file, part

    def _contents(self, requests: _Requests) -> Iterator[tuple[IO[bytes], _Requests]]:
        """Write the requests to temporary files, within the provider's limits."""
        rest = [(id, request) for id, request in requests.items() if not request.reply.done()]
        while rest:
            with TemporaryFile() as content:
                part: dict[str, _Request] = {}
                for custom_id, request in rest:
                    line = self._line(custom_id, request)
                    if part and (len(part) == _MOST_REQUESTS or content.tell() + len(line) > _MOST_BYTES):
                        break
                    content.write(line)
                    part[custom_id] = request
                rest = rest[len(part) :]
                yield content, part

    def _line(self, custom_id: str, request: _Request) -> bytes:
        body = self._client.body(request.build, self._client.dialect)
        return encode({"custom_id": custom_id, "method": "POST", "url": ENDPOINT, "body": body}) + b"\n"

    async def _finish(self, file: str, requests: _Requests) -> None:
        """Wait for the batch of `file` and resolve all `requests`."""
        id = self._journal.batch(file) or await self._begin(file)
        self._say(f"waiting for {id} with {len(requests):,} calls, up to 24 hours")
        batch = await self._ended(id)
        if batch.status == "failed" and batch.problem.code == _QUEUE_FULL and len(requests) > 1:
            await self._send_in_halves(requests)
            return
        reason = batch.problem.message or ""
        for replies in filter(None, (batch.output_file_id, batch.error_file_id)):
            reason = await self._persist(partial(self._read, replies, requests)) or reason
        unanswered = [request for request in requests.values() if not request.reply.done()]
        for request in unanswered:
            request.reply.set_result(None)
        if unanswered:
            why = self._client.endpoint.excerpt(reason) or "no reason given"
            lacks = f"{len(unanswered):,} of {len(requests):,} calls have no reply"
            self._say(f"{id} ({batch.status}): {lacks}: {why}")

    async def _send_in_halves(self, requests: _Requests) -> None:
        """Send one half after the other, because the account's queue has no room for all."""
        pairs = [*requests.items()]
        self._say(f"the provider's queue has no room for {len(pairs):,} calls; sending them in halves")
        middle = len(pairs) // 2
        for half in (dict(pairs[:middle]), dict(pairs[middle:])):
            async for file, part in self._uploads(half):
                await self._finish(file, part)

    async def _begin(self, file: str) -> str:
        """Begin the batch of `file` and return its id."""

        async def find_or_begin() -> Batch:
            # A run that was killed, or an attempt whose reply was lost, may have begun it.
            return await self._api.find(file) or await self._api.begin(file)

        batch = await self._persist(find_or_begin)
        self._journal.began(file, batch.id)
        return batch.id

    async def _ended(self, id: str) -> Batch:
        """Return the batch when it has ended."""
        wait = _FIRST_WAIT
        while not (batch := await self._persist(partial(self._api.batch, id))).ended:
            await asyncio.sleep(wait)
            wait = min(2 * wait, _LONGEST_WAIT)
        return batch

    async def _read(self, file: str, requests: _Requests) -> str:
        """Resolve the requests that have a reply in `file`. Return the first error in it, or ""."""
        reason = ""
        async for line in self._api.lines(file):
            request = requests.get(line.custom_id)
            if request is None or request.reply.done():
                continue
            if line.response and line.response.status_code == 200:
                request.reply.set_result(bytes(line.response.body))
            else:
                reason = reason or _reason(line)
        return reason

    async def _persist(self, call: Callable[[], Awaitable[T]]) -> T:
        """Repeat `call` with growing waits for as long as it fails temporarily: a batch takes up to a day."""
        wait, said = _FIRST_WAIT, False
        while True:
            try:
                return await call()
            except (UnavailableError, CallTimeout) as error:
                if not said:
                    self._say(f"{error.message} Trying again until it works.")
                said = True
                await asyncio.sleep(wait)
                wait = min(2 * wait, _LONGEST_WAIT)


def _reason(line: Line) -> str:
    if line.error:
        return line.error.message or line.error.code or ""
    refusal = refusal_in(Reply(line.response.status_code, {}, bytes(line.response.body))) if line.response else None
    return refusal.message if refusal else ""
