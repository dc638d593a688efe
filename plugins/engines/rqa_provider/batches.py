"""The calls of one reader: write them to files, begin a batch of each, wait for it, and hand the replies back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any, Protocol, TypeVar

from robust_qa import (
    CallTimeout,
    Completion,
    Decoding,
    InputError,
    Message,
    RqaError,
    UnavailableError,
    Usage,
)
from rqa_prompts import estimate_tokens

from .journal import Journal

if TYPE_CHECKING:
    from robust_qa import ReaderHandle

T = TypeVar("T")

_MOST_REQUESTS, _MOST_BYTES = 50_000, 200_000_000  # in a file
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 60.0  # seconds until the next look at a batch, doubled each time
_MAX_TOKENS = 1024  # of a reply, unless the reader or the call says so


class Batch(Protocol):
    """A batch at the provider. `queue_full`: it failed because the account has too many tokens in batches."""

    @property
    def ended(self) -> bool: ...
    @property
    def status(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def queue_full(self) -> bool: ...


class ProviderBatches(Protocol):
    """A provider's batch API, as `provider_batches()` of a reader returns it.

    Coroutines raise UnavailableError or CallTimeout only if the same request may work later: it is repeated until then.
    """

    async def check(self) -> None:
        """Raise RefusedError if the endpoint has no batch API."""

    def digest(self, messages: list[Message], decoding: Decoding) -> str:
        """Return what identifies this request, also in a later run."""

    def line(self, id: str, messages: list[Message], decoding: Decoding) -> bytes:
        """Return the line of a request in a file of requests."""

    async def upload(self, content: IO[bytes]) -> str:
        """Upload a file of requests and return its id."""

    async def begin(self, file: str) -> str:
        """Begin a batch of an uploaded file, unless there is one, and return its id."""

    async def batch(self, id: str) -> Batch:
        """Return the batch as it is now."""

    def replies(self, batch: Any) -> AsyncIterator[tuple[str, bytes | None, str]]:
        """Yield the id of each request with its reply. Without a reply: None, and the reason or ""."""

    def completion(self, reply: bytes, messages: list[Message], decoding: Decoding) -> Completion:
        """Return the completion in a reply. Raises ReplyError if there is none."""


@dataclass(slots=True)
class Total:
    """The number of waves of all readers, and their real cost."""

    waves: int = 0
    cost: float = 0.0


@dataclass(slots=True)
class _Wave:
    """Calls that were sent together. `left` have no reply yet, and `ordinary` got none."""

    number: int
    left: int
    ordinary: int = 0
    usage: Usage = field(default_factory=Usage)


@dataclass(slots=True)
class _Request:
    """A call that waits. `file` has it already if it is not "". The reply is None if the batch has none."""

    messages: list[Message]
    decoding: Decoding
    file: str
    reply: asyncio.Future[bytes | None]
    wave: _Wave | None = None


_Requests = Mapping[str, _Request]  # by custom id


class Batches:
    """The calls of `reader`, sent in batches. `say` prints a line.

    A call that the batch does not answer is left to an ordinary call. If batches cannot be sent at all, the run ends,
    because ordinary calls would cost twice as much as the user expects.
    """

    def __init__(
        self,
        reader: ReaderHandle,
        provider: ProviderBatches,
        journal: Journal,
        total: Total,
        say: Callable[[str], object],
    ) -> None:
        self.waiting: dict[str, _Request] = {}
        self._reader = reader
        self._provider = provider
        self._journal = journal
        self._total = total
        self._say = say
        self._tried = False
        self._in_flight: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def generate(self, messages: list[Message], decoding: Decoding) -> Completion | None:
        """Wait for `send`, then return the reply. None if the batch has none.

        The first request is left to an ordinary call, which learns what the endpoint accepts.
        """
        digest = self._provider.digest(messages, decoding)
        custom_id = next(each for n in count() if (each := f"{digest}-{n}") not in self._in_flight)
        try:
            file = self._journal.take(custom_id)
        except InputError as error:
            raise self._ending(error) from error
        if not file and not self._tried:
            self._tried = True
            return None
        request = _Request(messages, decoding, file, asyncio.get_running_loop().create_future())
        self._in_flight.add(custom_id)
        self.waiting[custom_id] = request
        try:
            reply = await request.reply
        finally:
            self._in_flight.discard(custom_id)
            self.waiting.pop(custom_id, None)
        usage = Usage()
        try:
            completion = None if reply is None else self._provider.completion(reply, messages, decoding)
            if completion is not None:
                usage = replace(completion.usage, batched=completion.usage.calls)
                completion = replace(completion, usage=usage)
            return completion
        except RqaError as error:
            usage = error.usage = replace(error.usage, batched=error.usage.calls)
            raise
        finally:
            self._count(request.wave, usage, ordinary=reply is None)

    def send(self) -> None:
        """Send the calls that wait, and say what they may cost. Those in batches of an earlier run wait for these."""
        requests, self.waiting = self.waiting, {}
        if not requests:
            return
        self._begin_wave(requests)
        files: dict[str, dict[str, _Request]] = {}
        for custom_id, request in requests.items():
            files.setdefault(request.file, {})[custom_id] = request
        new = files.pop("", {})
        if files:
            self._say(f"{len(requests) - len(new):,} of these calls are in batches of an earlier run, already paid")
        for file, held in files.items():
            self._start(self._finish(file, held), held)
        self._start(self._send(new), new)

    def close(self) -> None:
        """Stop waiting. The batches go on at the provider."""
        for task in self._tasks:
            task.cancel()

    def _begin_wave(self, requests: _Requests) -> None:
        self._total.waves += 1
        wave = _Wave(self._total.waves, len(requests))
        default = getattr(self._reader.component, "max_tokens", None) or _MAX_TOKENS
        prompts = replies = 0
        for request in requests.values():
            request.wave = wave
            prompts += estimate_tokens(request.messages)
            replies += request.decoding.max_tokens or default
        cost = self._reader.cost(Usage(wave.left, prompts, replies, batched=wave.left))
        limit = "" if cost is None else f", at most {_money(cost)}"
        self._say(f"wave {wave.number}: {_calls(wave.left)}, about {float(f'{prompts:.2g}'):,.0f} prompt tokens{limit}")

    def _count(self, wave: _Wave | None, usage: Usage, *, ordinary: bool) -> None:
        """Count a reply. Say what the wave has cost if it is the last one."""
        assert wave is not None
        wave.left -= 1
        wave.ordinary += ordinary
        wave.usage += usage
        if wave.left:
            return
        line = f"wave {wave.number}: done with {wave.usage.prompt_tokens:,} + {wave.usage.completion_tokens:,} tokens"
        if (cost := self._reader.cost(wave.usage)) is not None:
            self._total.cost += cost
            line += f" for {_money(cost)} (all waves: {_money(self._total.cost)})"
        if wave.ordinary:
            line += f"; ordinary calls follow for {wave.ordinary:,}"
        self._say(line)

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
            file = await self._persist(partial(self._provider.upload, content))
            self._journal.uploaded(file, part)
            yield file, part

    def _contents(self, requests: _Requests) -> Iterator[tuple[IO[bytes], _Requests]]:
        """Write the requests to temporary files, within the provider's limits."""
        rest = [(id, request) for id, request in requests.items() if not request.reply.done()]
        while rest:
            with TemporaryFile() as content:
                part: dict[str, _Request] = {}
                for custom_id, request in rest:
                    line = self._provider.line(custom_id, request.messages, request.decoding)
                    if part and (len(part) == _MOST_REQUESTS or content.tell() + len(line) > _MOST_BYTES):
                        break
                    content.write(line)
                    part[custom_id] = request
                rest = rest[len(part) :]
                yield content, part

    async def _finish(self, file: str, requests: _Requests) -> None:
        """Wait for the batch of `file` and resolve all `requests`."""
        id = self._journal.batch(file)
        if not id:
            id = await self._persist(partial(self._provider.begin, file))
            self._journal.began(file, id)
        self._say(f"waiting for {id} with {_calls(len(requests))}, up to 24 hours")
        batch = await self._ended(id)
        if batch.queue_full and len(requests) > 1:
            await self._send_in_halves(requests)
            return
        reason = await self._persist(partial(self._read, batch, requests)) or batch.reason
        unanswered = [request for request in requests.values() if not request.reply.done()]
        for request in unanswered:
            request.reply.set_result(None)
        if unanswered:
            lacks = f"{len(unanswered):,} of {len(requests):,} calls have no reply"
            self._say(f"{id} ({batch.status}): {lacks}: {reason or 'no reason given'}")

    async def _send_in_halves(self, requests: _Requests) -> None:
        """Send one half after the other, because the account's queue has no room for all."""
        pairs = [*requests.items()]
        self._say(f"the provider's queue has no room for {len(pairs):,} calls; sending them in halves")
        middle = len(pairs) // 2
        for half in (dict(pairs[:middle]), dict(pairs[middle:])):
            async for file, part in self._uploads(half):
                await self._finish(file, part)

    async def _ended(self, id: str) -> Batch:
        """Return the batch when it has ended."""
        wait = _FIRST_WAIT
        while not (batch := await self._persist(partial(self._provider.batch, id))).ended:
            await asyncio.sleep(wait)
            wait = min(2 * wait, _LONGEST_WAIT)
        return batch

    async def _read(self, batch: Batch, requests: _Requests) -> str:
        """Resolve the requests that have a reply. Return the first reason why one has none, or ""."""
        first = ""
        async for custom_id, reply, reason in self._provider.replies(batch):
            request = requests.get(custom_id)
            if request is None or request.reply.done():
                continue
            if reply is None:
                first = first or reason
            else:
                request.reply.set_result(reply)
        return first

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


def _calls(number: int) -> str:
    return "1 call" if number == 1 else f"{number:,} calls"


def _money(cost: float) -> str:
    return f"{cost:,.2f}" if cost >= 0.1 else f"{cost:.2g}"
