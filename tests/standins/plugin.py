"""A plugin with one component of each kind, for tests of the host."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from robust_qa import Answer, Completion, Decoding, Message, MissingError, Passage, Reading, Toolbox, Usage, hookimpl

LOG: list[tuple[str, Any]] = []


class Shelf:
    "Passages that the configuration lists."

    @dataclass
    class Options:
        texts: tuple[str, ...] = ()

    def __init__(self, options: Options) -> None:
        self.options = options

    def fingerprint(self) -> str:
        if not self.options.texts:
            raise MissingError("The shelf is empty.", hint="Put texts on it.")
        return ""

    def retrieve(self, query: str, k: int) -> list[Passage]:
        LOG.append(("retrieve", (query, k)))
        return [Passage(text, id=str(n)) for n, text in enumerate(self.options.texts)]


class First:
    "Reads the first word of the first passage."

    def read(self, question: str, passages: list[Passage]) -> Reading:
        LOG.append(("read", question))
        if not passages:
            return Reading(None)
        return Reading(passages[0].text.split()[0], 0.5, (0,), 0, len(passages[0].text.split()[0]))


class Parrot:
    "A language model that replies with what its options say."

    @staticmethod
    def advice() -> str:
        return "`parrot pull` gets a parrot."

    @dataclass
    class Options:
        reply: str = "Answer: yes\nDocuments: 1"
        window: int | None = None
        temperature: float | None = 0.0
        seed: int | None = None
        delay: float = 0.0
        timeout: float = 10.0

    def __init__(self, options: Options) -> None:
        self.options = options
        self.window = options.window
        self.max_tokens = 50

    async def generate(self, messages: list[Message], decoding: Decoding) -> Completion:
        LOG.append(("generate", (messages, decoding)))
        await asyncio.sleep(self.options.delay)
        return Completion(self.options.reply, Usage(1, 7, 3))

    async def close(self) -> None:
        LOG.append(("close", "parrot"))


class Length:
    "Scores long texts high."

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        return [min(len(text) / 10, 1.0) for text in texts]


class Judged:
    "Answers with the best-scored passage."

    needs = frozenset({"retrieve", "score"})

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        passages = await toolbox.retrieve()
        scores = await toolbox.score(question, [passage.text for passage in passages])
        toolbox.note("scored", scores=scores)
        return Answer(passages[scores.index(max(scores))].text)


class Reads:
    "Retrieve and read."

    needs = frozenset({"retrieve", "read"})

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        reading = await toolbox.read(question, await toolbox.retrieve())
        return Answer(reading.text, reading.score)


class Writes:
    "Ask the model."

    needs = frozenset({"generate"})

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        return Answer((await toolbox.generate(question)).text)


class Fails:
    "Raises inside a task group."

    needs = frozenset[Any]()

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        async with asyncio.TaskGroup() as group:
            group.create_task(toolbox.generate("x"))
            group.create_task(_raise(KeyError("oops") if question == "bug" else MissingError("gone")))
        raise AssertionError("unreachable")


async def _raise(error: Exception) -> None:
    raise error


@hookimpl
def rqa_register(registry: Any) -> None:
    registry.retriever("shelf", Shelf, rank=1)
    registry.reader("first", First, rank=1)
    registry.reader("parrot", Parrot)
    registry.evaluator("length", Length, rank=1)
    registry.strategy("judged", Judged)
    registry.strategy("writes", Writes, rank=1)
    registry.strategy("reads", Reads, rank=2)
    registry.strategy("fails", Fails)
