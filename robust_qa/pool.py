"""Retriever expressions evaluated: a pool of them over one question, with what they share computed once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from .calls import Call, Channel
from .errors import ConfigError, MissingError, PluginError, RqaError
from .expressions import (
    GIVEN_PARTS,
    MEMORY,
    NOTHING,
    Applied,
    Compressed,
    Joined,
    Reranked,
    Source,
    Top,
    Tree,
    expanded,
    nodes,
    parse_expression,
    sized,
)
from .faults import awaited, blaming
from .flight import Flight
from .prompts import Prompt, fenced, load_prompts
from .reading import spoken
from .replies import declines
from .returned import fitted
from .text import normalise, sentences, titled, visible
from .types import Origin, Passage

if TYPE_CHECKING:
    from .channels import Channels
    from .toolbox import Toolbox

PROMPTS = Path(__file__).parent / "prompts" / "expressions"
LONGEST_SUMMARY = 200  # words; Li et al. 2024, Appendix C.2


def _unknown(name: str) -> NoReturn:
    raise ConfigError(f"There is nothing named {name!r}.")


@dataclass(frozen=True, slots=True)
class Names:
    """What names stand for: retrievers, strategies (that correct passages, and all), evaluators, expressions.

    The functions raise ConfigError or MissingError where there is no such thing.
    """

    retriever: Callable[[str], Channel] = _unknown
    corrector: Callable[[str], Any] = _unknown
    strategy: Callable[[str], Any] = _unknown
    evaluator: Callable[[str], Channel] = _unknown
    expressions: Mapping[str, Tree] = field(default_factory=dict)
    prompts: Mapping[str, Prompt] = field(default_factory=lambda: load_prompts(PROMPTS))


class Pool:
    """Retriever expressions over one question, each once, in the order handed in and the canonical spelling.

    All may be evaluated at once: equal parts are computed once, and a retriever is asked once, for the most
    passages that any of the expressions wants of it.
    """

    def __init__(
        self, toolbox: Toolbox, channels: Channels, expressions: Iterable[Tree], query: str | None = None
    ) -> None:
        self._toolbox = toolbox
        self._channels = channels
        self._question = toolbox.question.text  # to judge, write and correct by, whatever the sources are asked
        self._query = self._question if query is None else query
        self._trees: dict[Tree, Tree] = {}  # as written: as evaluated
        self._problems: dict[Tree, RqaError] = {}
        self._depths: dict[str, int] = {}  # by retriever: the most passages wanted
        self._flights: dict[Tree, Flight] = {}
        for written in dict.fromkeys(expressions):
            try:
                self._admit(written)
            except RqaError as error:
                self._problems[written] = error

    @property
    def expressions(self) -> tuple[str, ...]:
        """Those that can be evaluated here."""
        return tuple(map(str, self._trees))

    @property
    def left_out(self) -> dict[str, RqaError]:
        """The others, and why: ConfigError or MissingError."""
        return {str(tree): error for tree, error in self._problems.items()}

    def _admit(self, written: Tree) -> None:
        channels = self._channels
        tree = sized(expanded(written, channels.names.expressions), channels.k, given_k=channels.given_k)
        check(tree, channels, has_passages=self._toolbox.question.passages is not None)
        self._trees[written] = tree
        for node in nodes(tree):
            if isinstance(node, Top) and isinstance(node.inner, Source):
                self._depths[node.inner.name] = max(node.k, self._depths.get(node.inner.name, 0))

    async def retrieve(self, expression: str | Tree) -> list[Passage]:
        """The passages of one of the expressions, in whatever spelling; raises why where it is left out.

        Raises CallError where a retriever, the evaluator or the reader fails.
        """
        written = parse_expression(expression) if isinstance(expression, str) else expression
        if written in self._problems:
            raise self._problems[written]
        if written not in self._trees:
            raise ConfigError(f"`{written}` is none of the expressions of this pool: {', '.join(self.expressions)}.")
        return list(await self._once(self._trees[written]))

    async def _once(self, tree: Tree) -> list[Passage]:
        flight = self._flights.get(tree)
        if flight is None or flight.abandoned:
            flight = self._flights[tree] = Flight(lambda _: self._evaluated(tree))
        passages: list[Passage] = await flight.join()
        return passages

    async def _evaluated(self, tree: Tree) -> list[Passage]:
        match tree:
            case Source(name) if name in GIVEN_PARTS:
                return self._given(name)
            case Top(Source(name), k) if name in GIVEN_PARTS:
                return self._given(name, k)
            case Source(name):
                return await self._source(name)
            case Top(inner, k):
                return (await self._once(inner))[:k]
            case Joined(parts):
                return _distinct(await _together([self._once(part) for part in parts]))
            case Reranked(inner):
                return await self._reranked(await self._once(inner))
            case Compressed(inner):
                return await self._compressed(await self._once(inner), str(tree))
            case Applied(name, inner):
                return await self._corrected(name, await self._once(inner))

    def _given(self, name: str, k: int | None = None) -> list[Passage]:
        part = list(GIVEN_PARTS[name](self._toolbox.question.passages or ()))[:k]
        self._toolbox.trace.add("retrieve", self._query, component=name, data={"passages": msgspec.to_builtins(part)})
        return part

    async def _source(self, name: str) -> list[Passage]:
        if name == NOTHING:
            return []
        if name == MEMORY:
            text = await self._written("background")
            return [Passage(text, id=MEMORY, origin="memory")] if text else []
        most = self._depths[name]
        call: Call[list[Passage]] = Call("retrieve", (self._query, most), list[Passage], self._query, {"k": most})
        found = await self._channels.names.retriever(name).call(call, self._toolbox.trace)
        return found[:most]

    async def _reranked(self, passages: list[Passage]) -> list[Passage]:
        if len(passages) < 2:
            return passages
        texts = [titled(passage.title, passage.text) for passage in passages]
        scores = await self._toolbox.score(self._question, texts)
        order = sorted(range(len(passages)), key=lambda place: -scores[place])  # stable: ties keep their order
        return [passages[place] for place in order]

    async def _compressed(self, passages: list[Passage], expression: str) -> list[Passage]:
        if not passages:
            return []
        text = _cut(await self._written("compress", passages))
        if not text:
            return []
        origin: Origin = "memory" if all(passage.origin == "memory" for passage in passages) else "external"
        return [Passage(text, id=expression, origin=origin, made_of=tuple(passages))]

    async def _written(self, prompt: str, passages: Sequence[Passage] = ()) -> str:
        """The reader's reply to that prompt; empty where it has nothing to say."""
        completion = await self._toolbox.generate(
            self._channels.names.prompts[prompt], passages=passages, fields={"question": fenced(self._question)}
        )
        text = spoken(completion).text
        return "" if declines(text) or normalise(text) == "none" else text

    async def _corrected(self, name: str, passages: list[Passage]) -> list[Passage]:
        toolbox = self._toolbox.handing(name, passages)
        with blaming(f"Strategy {name!r}"):
            pending = self._channels.names.corrector(name).correct(self._question, toolbox)
            given = await awaited(name, "correct", pending)
        corrected: list[Passage]
        corrected, wrong = fitted(given, list[Passage])
        if wrong:
            raise PluginError(
                f"Strategy {name!r} corrected passages to {wrong}.", hint="This is a fault of the plugin."
            )
        return corrected


def check(tree: Tree, channels: Channels, *, has_passages: bool) -> None:
    """Raise what keeps `tree` from being evaluated: ConfigError or MissingError. Nothing is called."""
    for node in nodes(tree):
        match node:
            case Source(name) if name in GIVEN_PARTS:
                if not has_passages:
                    raise MissingError(
                        f"`{name}` stands for the passages that a question brings, and this one brings none.",
                        hint="Bring passages with the question, or name other retrievers.",
                    )
            case Source(name):
                if name == MEMORY:
                    _check_writer(name, channels)
                elif name != NOTHING:
                    channels.names.retriever(name)
            case Reranked():
                if channels.evaluator is None:
                    raise ConfigError(
                        f"`{node}` reranks, and no evaluator is configured.",
                        hint="Set `evaluator = ...` under [defaults]; `rqa plugins` lists what is installed.",
                    )
            case Compressed():
                _check_writer(str(node), channels)
            case Applied(name):
                _check_corrector(name, channels)


def _check_writer(expression: str, channels: Channels) -> None:
    if not channels.can("generate"):
        reader = channels.reader.name if channels.reader else "no reader"
        raise ConfigError(
            f"`{expression}` is written by a language model, and {reader} does not write text.",
            hint="Name a language model with `reader = ...` under [defaults].",
        )


def _check_corrector(name: str, channels: Channels) -> None:
    if name in channels.within:
        raise ConfigError(f"Strategy {name!r} would correct the passages that it is asking for itself.")
    strategy = channels.names.corrector(name)
    if lacking := sorted(power for power in {*strategy.needs} - {"retrieve"} if not channels.can(power)):
        raise ConfigError(
            f"`{name}(...)` needs {', '.join(lacking)}, which nothing that is configured can.",
            hint="`rqa help plugin` says what these powers are.",
        )


def _distinct(lists: Iterable[list[Passage]]) -> list[Passage]:
    """All passages in order, each title with its text once, as people see them; without a title, a text that is new."""
    first: dict[tuple[str, str], Passage] = {}
    texts: set[str] = set()
    for passages in lists:
        for passage in passages:
            title, text = visible(passage.title), visible(passage.text)
            if title or text not in texts:
                first.setdefault((title, text), passage)
            texts.add(text)
    return list(first.values())


async def _together(parts: Sequence[Awaitable[list[Passage]]]) -> list[list[Passage]]:
    """All results, or the first error; nothing is waited for after it."""
    tasks = [asyncio.ensure_future(part) for part in parts]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


def _cut(text: str) -> str:
    """As many whole sentences as have LONGEST_SUMMARY words; of a first one that is longer, those words."""
    if len(text.split()) <= LONGEST_SUMMARY:
        return text
    ends = [end for _, end in sentences(text) if len(text[:end].split()) <= LONGEST_SUMMARY]
    return text[: ends[-1]] if ends else " ".join(text.split()[:LONGEST_SUMMARY])
