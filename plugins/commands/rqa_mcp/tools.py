"""The tools: what an agent can ask."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError, ToolError
from pydantic import Field

from robust_qa import Answer, InputError, Message, Question, RqaError
from robust_qa.answering import check_question, corrected
from robust_qa.cli import as_json
from robust_qa.cli.answering import command_session
from robust_qa.kit import printable
from rqa_conversation import understood
from rqa_files import Formats, Unreadable, is_skipped, read, unmoved

if TYPE_CHECKING:
    from robust_qa.answering import Session
    from robust_qa.cli import Answering, Run

Tool = Callable[..., Awaitable[Any]]

_KEPT = 2000  # passages that can be read as resources
_LISTED = 500  # documents in one list
_FIELDS = tuple(
    """question corrections answer abstained reason confidence citations conflicts best_guess closest standing checks
    strategy usage""".split()
)


class Tools:
    """The tools, over `session`. `folders` are the only ones whose documents an agent may name."""

    def __init__(self, run: Run, answering: Answering, session: Session, folders: Sequence[Path]) -> None:
        self._run = run
        self._answering = answering
        self._session = session
        self._folders = [folder.resolve() for folder in folders]
        self._passages: OrderedDict[str, str] = OrderedDict()
        self._indexing = asyncio.Lock()

    async def ask(
        self,
        question: Annotated[str, Field(min_length=1, description="A question, which `earlier` may complete.")],
        strategy: Annotated[str | None, Field(description="The strategy. By default the configured one.")] = None,
        documents: Annotated[
            list[str] | None, Field(description="Paths of files or folders to answer from, instead of the index.")
        ] = None,
        earlier: Annotated[
            list[str] | None,
            Field(description="Earlier questions of the conversation, if the question cannot be understood alone."),
        ] = None,
    ) -> dict[str, Any]:
        """Answer a question from documents.

        `citations` quote the sentences that support the answer. If the documents contradict each other, `conflicts`
        has the sides. Without a sure answer, `answer` is null, `best_guess` is the likeliest one with its
        confidence, and `closest` has the closest passages. If a language model answered, `standing` says whether the
        documents support it, and `checks` has the verdict on each sentence. `question` is what was answered.
        """
        messages = [Message("user", each) for each in earlier or ()]
        alone = await understood(self._session, question.strip(), messages)
        return self._told(alone.asked_back or await self._answer(alone.question, strategy, documents))

    async def search(
        self,
        query: Annotated[str, Field(min_length=1, description="What to look for.")],
        k: Annotated[int, Field(ge=1, le=100, description="The number of passages.")] = 10,
    ) -> list[dict[str, Any]]:
        """Find passages in the documents, the most relevant first."""
        check_question(query)
        await self._session.keep_fresh()
        toolbox = self._session.toolbox_for(Question(query))
        spelt = corrected(query, await self._session.corrections(query, toolbox))
        passages = await toolbox.retrieve(spelt, k=k)
        return [
            {
                "text": passage.text,
                "title": passage.title,
                "source": passage.source,
                "score": passage.score,
                "uri": self._keep(passage.source, passage.id, passage.text),
            }
            for passage in passages
        ]

    async def list_documents(
        self,
        containing: Annotated[str, Field(description="A part of the path, in any case. Empty: all documents.")] = "",
    ) -> dict[str, Any]:
        """List the documents that are indexed, with the number of passages of each.

        `uri` is the text of the document as a resource. `total` counts all documents, of which at most 500 are listed.
        """
        documents = await self._session.files()
        found = [name for name in sorted(documents) if containing.casefold() in name.casefold()]
        listed = [
            {
                "document": printable(name),
                "passages": documents[name].passages,
                "uri": f"rqa://document/{_digest(name)}",
            }
            for name in found[:_LISTED]
        ]
        return {"documents": listed, "total": len(found)}

    async def document(self, id: str) -> str:
        """Return the text of an indexed document."""
        name = next((name for name in await self._session.files() if _digest(name) == id), None)
        path = unmoved(name) if name is not None else None
        if path is None:
            raise ResourceNotFoundError(f"There is no document {id!r}. List the documents again.")
        try:
            return await asyncio.to_thread(_text, path, self._run.host.file_formats)
        except (OSError, Unreadable) as error:
            raise ResourceError(printable(f"{name} cannot be read: {error}.")) from error

    def all(self) -> list[Tool]:
        """Return these tools and those of plugins. Their errors become messages for the agent."""
        found, warnings = self._run.host.tools(self._session)
        for warning in warnings:
            self._run.say(warning)
        return [*map(_safe, (self.ask, self.search, self.list_documents, *found))]

    def passage(self, id: str) -> str:
        """Return the text of a passage that was returned before."""
        if id not in self._passages:
            raise ResourceNotFoundError(f"There is no passage {id!r}. Search again.")
        return self._passages[id]

    async def _answer(self, question: str, strategy: str | None, documents: Sequence[str] | None) -> Answer:
        asked = Question(question.strip())
        if documents is None:
            return await self._session.answer(asked, strategy=strategy)
        docs = tuple(map(self._confined, documents))
        if not docs:
            raise InputError("`documents` is empty.", hint="Name a file or a folder, or leave it out.")
        async with self._indexing:
            answering = dataclasses.replace(self._answering, docs=docs, retriever=None)
            session = await asyncio.to_thread(command_session, self._run, answering)
        async with session:
            return await session.answer(asked, strategy=strategy)

    def _confined(self, document: str) -> Path:
        """Return the path of a document. Raises InputError if it is in none of the folders, or no index reads it."""
        for folder in self._folders:
            with suppress(OSError, RuntimeError, ValueError):  # a long name, a link to itself, a NUL byte
                path = (folder / document).resolve(strict=True)
                if path.is_relative_to(folder) and not is_skipped(path, folder):
                    return path
        named = ", ".join(map(str, self._folders)) or "none"
        raise InputError(
            f"{document!r} is not a document in the folders that are open to agents: {named}.",
            hint="The user can open another one with `rqa mcp --folder PATH`.",
        )

    def _told(self, answer: Answer) -> dict[str, Any]:
        whole = as_json(answer)
        retrieved = {(passage["source"], passage["id"]): passage["text"] for passage in _retrieved(answer)}
        for cited in _citations(whole):
            text = retrieved.get((cited["source"], cited["id"]))
            cited["uri"] = self._keep(cited["source"], cited["id"], text) if text is not None else None
        return {name: whole[name] for name in _FIELDS}

    def _keep(self, source: str, id: str, text: str) -> str:
        """Keep a passage to be read as a resource. Returns its URI."""
        digest = _digest(source, id, text)
        self._passages[digest] = printable(text)
        self._passages.move_to_end(digest)
        if len(self._passages) > _KEPT:
            self._passages.popitem(last=False)
        return f"rqa://passage/{digest}"


def _digest(*parts: str) -> str:
    return hashlib.sha256(repr(parts).encode("utf-8", "replace")).hexdigest()[:16]


def _text(path: Path, formats: Formats) -> str:
    blocks = [block.text for document in read(path, lambda *_: None, formats) for block in document.blocks]
    return printable("\n\n".join(blocks))


def _safe(tool: Tool) -> Tool:
    @functools.wraps(tool)
    async def call(*arguments: Any, **named: Any) -> Any:
        try:
            return _printable(await tool(*arguments, **named))
        except RqaError as error:
            raise ToolError(printable(f"{error.message} {error.hint}".strip())) from error

    return call


def _retrieved(answer: Answer) -> Iterable[Mapping[str, Any]]:
    """Return the passages in the trace of an answer."""
    for step in answer.trace:
        if step.kind == "retrieve":
            yield from step.data.get("passages", ())


def _citations(whole: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    yield from whole["citations"]
    yield from whole["closest"]
    yield from (whole["best_guess"] or {}).get("citations", ())
    for side in whole["conflicts"]:
        yield from side["citations"]


def _printable(value: Any) -> Any:
    """Return JSON-ready data without characters that models read but people do not see."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, Mapping):
        return {key: _printable(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_printable(inner) for inner in value]
    return value
