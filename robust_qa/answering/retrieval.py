"""Evaluate retriever expressions. Expressions over one question share their equal parts."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable, Iterable, Sequence
from typing import TYPE_CHECKING

from ..calls.grouping import SharedCall
from ..errors import ConfigError, MissingError, RqaError
from ..expressions import (
    GIVEN_PARTS,
    MEMORY,
    NOTHING,
    Applied,
    Chunked,
    Compressed,
    Joined,
    Reranked,
    Shortened,
    Source,
    Top,
    Tree,
    expanded,
    nodes,
    parse_expression,
    sized,
)
from ..kit.text import chunks, first_words, sentences, with_title
from ..sanitize import visible
from ..types import Origin, Passage

if TYPE_CHECKING:
    from .toolbox import SessionToolbox

LONGEST_SUMMARY = 200  # words; Li et al. 2024, Appendix C.2


class ExpressionPool:
    """Retriever expressions over one question, each once, in their order and canonical spelling.

    All may be evaluated at once: equal parts are computed once, and a retriever is asked once, for the most passages
    that any of the expressions needs from it.
    """

    def __init__(self, trees: Iterable[Tree], query: str, toolbox: SessionToolbox) -> None:
        self._query = query
        self._toolbox = toolbox
        self._trees: dict[Tree, Tree] = {}  # as written -> as evaluated
        self._problems: dict[Tree, RqaError] = {}
        self._depths: dict[str, int] = {}  # by retriever: the most passages needed
        self._shared: dict[Tree, SharedCall] = {}
        for written in dict.fromkeys(trees):
            try:
                tree = sized(expanded(written, toolbox.components.expressions), toolbox.k, given_k=toolbox.given_k)
                check(tree, toolbox)
            except RqaError as error:
                self._problems[written] = error
                continue
            self._trees[written] = tree
            for node in nodes(tree):
                if isinstance(node, Top) and isinstance(node.inner, Source):
                    self._depths[node.inner.name] = max(node.k, self._depths.get(node.inner.name, 0))

    @property
    def expressions(self) -> tuple[str, ...]:
        """The expressions that can be evaluated here."""
        return tuple(map(str, self._trees))

    @property
    def left_out(self) -> dict[str, RqaError]:
        """The other expressions, each with the ConfigError or MissingError that explains why."""
        return {str(tree): error for tree, error in self._problems.items()}

    async def retrieve(self, expression: str | Tree) -> list[Passage]:
        """The passages of one of the expressions, however it is spelled.

        Raises the error in `left_out`, or CallError if a retriever, the evaluator or the reader fails.
        """
        written = parse_expression(expression) if isinstance(expression, str) else expression
        if written in self._problems:
            raise self._problems[written]
        if written not in self._trees:
            raise ConfigError(f"`{written}` is none of the expressions of this pool: {', '.join(self.expressions)}.")
        found = list(await self._once(self._trees[written]))
        self._toolbox.received += found
        return found

    async def _once(self, tree: Tree) -> list[Passage]:
        shared = self._shared.get(tree)
        if shared is None or shared.abandoned:
            shared = self._shared[tree] = SharedCall(lambda _: self._evaluate(tree))
        with shared.joined() as passages:
            found: list[Passage] = await passages
            return found

    async def _evaluate(self, tree: Tree) -> list[Passage]:
        match tree:
            case Source(name) if name in GIVEN_PARTS:
                return self._toolbox.given(name, None, self._query)
            case Top(Source(name), k) if name in GIVEN_PARTS:
                return self._toolbox.given(name, k, self._query)
            case Source(name):
                return await self._source(name)
            case Top(inner, k):
                return (await self._once(inner))[:k]
            case Joined(parts):
                return _distinct(await _together([self._once(part) for part in parts]))
            case Reranked(inner):
                return await self._reranked(await self._once(inner))
            case Chunked(inner, words):
                return [part for passage in await self._once(inner) for part in _chunked(passage, words)]
            case Shortened(inner, words):
                return [
                    dataclasses.replace(passage, text=first_words(passage.text, words, title=passage.title))
                    for passage in await self._once(inner)
                ]
            case Compressed(inner):
                return await self._compressed(await self._once(inner), str(tree))
            case Applied(name, inner):
                return await self._toolbox.correct(name, await self._once(inner))

    async def _source(self, name: str) -> list[Passage]:
        if name == NOTHING:
            return []
        if name == MEMORY:
            text = await self._written("background")
            return [Passage(text, id=MEMORY, origin="memory")] if text else []
        most = self._depths[name]
        return (await self._toolbox.retrieve_from(name, self._query, most))[:most]

    async def _reranked(self, passages: list[Passage]) -> list[Passage]:
        if len(passages) < 2:
            return passages
        titles = self._toolbox.titles()
        texts = [with_title(passage.title, passage.text) if titles else passage.text for passage in passages]
        scores = await self._toolbox.score(self._toolbox.question.text, texts)
        order = sorted(range(len(passages)), key=lambda place: -scores[place])  # stable: ties keep their order
        return [passages[place] for place in order]

    async def _compressed(self, passages: list[Passage], expression: str) -> list[Passage]:
        if not passages:
            return []
        text = _shortened(await self._written("compress", passages))
        if not text:
            return []
        origin: Origin = "memory" if all(passage.origin == "memory" for passage in passages) else "external"
        return [Passage(text, id=expression, origin=origin, made_of=tuple(passages))]

    async def _written(self, prompt: str, passages: Sequence[Passage] = ()) -> str:
        """The reader's reply to that prompt, "" if it has nothing to say."""
        return await self._toolbox.write(prompt, passages)


def check(tree: Tree, toolbox: SessionToolbox) -> None:
    """Raises ConfigError or MissingError if `tree` cannot be evaluated. Calls nothing."""
    for node in nodes(tree):
        match node:
            case Source(name) if name in GIVEN_PARTS:
                if toolbox.question.passages is None:
                    raise MissingError(
                        f"`{name}` means the passages that come with a question, and this question has none.",
                        hint="Give passages with the question, or name other retrievers.",
                    )
            case Source(name):
                if name == MEMORY:
                    _check_writer(name, toolbox)
                elif name != NOTHING:
                    toolbox.components.pipeline("retriever", name)
            case Reranked():
                if toolbox.evaluator is None:
                    raise ConfigError(
                        f"`{node}` reranks, and no evaluator is configured.",
                        hint="Set `evaluator = ...` under [defaults]. `rqa plugins` lists what is installed.",
                    )
            case Compressed():
                _check_writer(str(node), toolbox)
            case Applied(name):
                _check_corrector(name, toolbox)


def _check_writer(expression: str, toolbox: SessionToolbox) -> None:
    if not toolbox.can("generate"):
        reader = toolbox.reader.name if toolbox.reader else "no reader"
        raise ConfigError(
            f"`{expression}` is written by a language model, and {reader} does not write text.",
            hint="Name a language model with `reader = ...` under [defaults].",
        )


def _check_corrector(name: str, toolbox: SessionToolbox) -> None:
    if name in toolbox.within:
        raise ConfigError(f"Strategy {name!r} would correct the passages that it is asking for itself.")
    strategy = toolbox.components.corrector(name)
    if lacking := sorted(power for power in {*strategy.needs} - {"retrieve"} if not toolbox.can(power)):
        raise ConfigError(
            f"`{name}(...)` needs {', '.join(lacking)}, and no configured component can do that.",
            hint="`rqa help plugin` explains these powers.",
        )


def _chunked(passage: Passage, words: int) -> list[Passage]:
    """The parts of a passage, numbered from 1 in their ids. A passage that stays whole keeps its id."""
    parts = chunks(passage.text, words)
    if len(parts) < 2:
        return [passage]
    return [
        dataclasses.replace(passage, text=part, id=f"{passage.id}#{number}")
        for number, part in enumerate(parts, start=1)
    ]


def _distinct(lists: Iterable[list[Passage]]) -> list[Passage]:
    """All passages in order, without repeats: equal title and text, or no title and a text that came before."""
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
    """All results, or the first error, which cancels the rest."""
    tasks = [asyncio.ensure_future(part) for part in parts]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


def _shortened(text: str) -> str:
    """The first LONGEST_SUMMARY words of `text`, in whole sentences if the first one is not longer."""
    if len(text.split()) <= LONGEST_SUMMARY:
        return text
    ends = [end for _, end in sentences(text) if len(text[:end].split()) <= LONGEST_SUMMARY]
    return text[: ends[-1]] if ends else " ".join(text.split()[:LONGEST_SUMMARY])
