"""The web application: its pages and errors."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from robust_qa import Answer, RqaError
from robust_qa.cli import as_json, marked_answer
from robust_qa.kit import printable
from rqa_conversation import understood

from .capacity import Capacity
from .chat import Completion
from .corpora import Corpora, folder_of
from .examples import examples
from .metrics import Metrics
from .requests import ApiError, Ask, Chat, api_error, body, read
from .static import document, page, text
from .streaming import ALIVE, Events, Growing, as_event

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from robust_qa.answering import Session, Watcher


_ANSWERS = 500  # that links lead to
_DOORS = "Programs ask /v1/chat/completions or /v1/rqa/ask; /v1 belongs to the address."
_LARGEST_FILE = 64 << 20  # bytes of a dropped file


def application(
    corpora: Corpora, models: Mapping[str, str], capacity: Capacity, *, most: int, follow: bool = True
) -> ASGIApp:
    """Return the application that answers with the sessions of `corpora`.

    `models`: strategies by name of the model. `most`: bytes of a request. `follow`: complete a question from those
    before.
    """
    metrics = Metrics()
    pages = _Pages(corpora, models, capacity, metrics, most=most, follow=follow)
    app = Starlette(
        routes=[
            Route("/", pages.root),
            Route("/health", pages.health),
            Route("/metrics", pages.metrics),
            Route("/v1/models", pages.list_models),
            Route("/v1/models/{name:path}", pages.show_model),
            Route("/v1/chat/completions", pages.chat, methods=["POST"]),
            Route("/v1/rqa/answers/{id}", pages.answer),
            Route("/v1/rqa/ask", pages.ask, methods=["POST"]),
            Route("/v1/rqa/document", pages.document),
            Route("/v1/rqa/documents", pages.documents),
            Route("/v1/rqa/files/{name}", pages.keep, methods=["PUT"]),
            Route("/v1/rqa/text", pages.text),
        ],
        exception_handlers={ApiError: _failed, RqaError: _failed, HTTPException: _failed},
    )
    return metrics.counting(app, [route.path for route in app.routes if isinstance(route, Route)])


class _Pages:
    def __init__(
        self,
        corpora: Corpora,
        models: Mapping[str, str],
        capacity: Capacity,
        metrics: Metrics,
        *,
        most: int,
        follow: bool,
    ) -> None:
        self._corpora = corpora
        self._session = corpora.all.session
        self._models = models
        self._capacity = capacity
        self._metrics = metrics
        self._most = most
        self._follow = follow
        self._answers: dict[str, dict[str, Any]] = {}  # the last ones, for links to them

    async def root(self, request: Request) -> Response:
        return page()

    async def health(self, request: Request) -> Response:
        return _json({"status": "ok", "requests": self._capacity.requests})

    async def metrics(self, request: Request) -> Response:
        counts = self._metrics.text(self._capacity.requests)
        return Response(counts, headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})

    async def document(self, request: Request) -> Response:
        indexed = await self._corpora.files()
        return await asyncio.to_thread(document, request.query_params.get("file", ""), indexed)

    async def text(self, request: Request) -> Response:
        given = request.query_params
        indexed = await self._corpora.files()
        formats = self._session.components.host.file_formats
        quoted = given.get("quote", ""), given.get("place", "")
        return _json(await asyncio.to_thread(text, given.get("file", ""), indexed, formats, *quoted))

    async def documents(self, request: Request) -> Response:
        remote = self._corpora.all
        names = [*await remote.run(self._session.files())]
        top, files = folder_of(names)
        folder = str(top) if files and len(files) == len(names) else ""
        shown = await remote.run(examples(self._session)) if names else []
        parts = self._session.components
        kept = any(parts.recorder(name) for name in parts.host.names("recorder"))
        where = {"folder": folder, "folders": self._corpora.folders(names), "dropped": self._corpora.dropped}
        return _json({"count": len(names), "examples": shown, "history": kept, **where})

    async def keep(self, request: Request) -> Response:
        content = await body(request, _LARGEST_FILE)  # another site's page may not send a PUT
        with self._capacity.admitted():
            async with self._capacity.turn():
                await self._corpora.keep(request.path_params["name"], content)
        return _json({"dropped": self._corpora.dropped})

    async def answer(self, request: Request) -> Response:
        found = self._answers.get(request.path_params["id"])
        if found is None:
            raise ApiError(404, "The server does not have this answer any more. Ask again.", code="answer_not_found")
        return _json(found)

    async def list_models(self, request: Request) -> Response:
        return _json({"object": "list", "data": [*map(self._model, self._models)]})

    async def show_model(self, request: Request) -> Response:
        self._strategy(request.path_params["name"])
        return _json(self._model(request.path_params["name"]))

    async def chat(self, request: Request) -> Response | Events:
        chat = await read(request, Chat, self._most)
        strategy = self._strategy(chat.model)
        base = str(request.base_url)
        completion = Completion(
            self._corpora.all, self._capacity, self._metrics, chat, strategy, base=base, follow=self._follow
        )
        if chat.stream:
            return Events(completion.events(), self._capacity)
        with self._capacity.admitted():
            return _json(await completion.whole())

    async def ask(self, request: Request) -> Response | Events:
        asked = await read(request, Ask, self._most)
        default, *_ = self._models
        name = self._strategy(default if asked.strategy is None else f"rqa/{asked.strategy}")
        question = asked.question()

        async def answer(watcher: Watcher | None = None) -> Answer:
            async with self._capacity.turn():
                remote = await self._corpora.of(asked.within)
                follow = self._follow and asked.follow
                completing = understood(remote.session, question.text, asked.messages(), follow=follow)
                alone = await remote.run(completing)
                if alone.asked_back:
                    return replace(alone.asked_back, strategy=name)
                whole = replace(question, text=alone.question)
                answering = remote.session.answer(whole, strategy=name, watcher=watcher)
                found = await self._metrics.counted(remote.run(answering))
                return replace(found, usage=alone.usage + found.usage)

        async def events() -> AsyncIterator[bytes]:
            growing = Growing()
            answering = asyncio.create_task(answer(growing))
            async with aclosing(growing.until(answering)) as changes:  # type: ignore[type-var]
                async for changed in changes:
                    yield as_event({"step": growing.doing, "text": growing.text}) if changed else ALIVE
            found = answering.result()
            id, whole = secrets.token_urlsafe(9), as_json(found)
            lead = printable(found.lead) if found.abstained else marked_answer(found)
            self._answers[id] = {"id": id, "question": question.text, "answer": {**whole, "trace": []}, "lead": lead}
            if len(self._answers) > _ANSWERS:
                del self._answers[next(iter(self._answers))]
            yield as_event({"id": id, "answer": whole, "lead": lead})

        if asked.stream:
            return Events(events(), self._capacity)
        with self._capacity.admitted():
            return _json(as_json(await answer()))

    def _model(self, name: str) -> dict[str, Any]:
        about = {each.name: each.summary for each in self._session.components.host.components("strategy")}
        described = about.get(self._models[name], "")
        return {"id": name, "object": "model", "created": 0, "owned_by": "rqa", "description": described}

    def _strategy(self, model: str) -> str:
        """Return the strategy of that model. Raises ApiError if there is none."""
        name = model if model in self._models else f"rqa/{model}"
        if name not in self._models:
            known = ", ".join(self._models)
            raise ApiError(404, f"There is no model {model!r}. The models are {known}.", code="model_not_found")
        return self._models[name]


async def _failed(request: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException):
        hint = f". {_DOORS}" if error.status_code == 404 else ""
        error = ApiError(error.status_code, f"{error.detail}: {request.method} {request.url.path}{hint}")
    elif isinstance(error, RqaError):
        error = api_error(error)
    assert isinstance(error, ApiError)
    response = _json(error.body, error.status)
    if error.status == 429:
        response.headers["retry-after"] = "1"
    return response


def _json(body: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(body), status, media_type="application/json")


def offered(session: Session, names: Sequence[str]) -> dict[str, str]:
    """Return strategies by model: `names`, or all that can run, the default one first.

    Raises RqaError if one of `names` cannot run, or if no strategy can.
    """
    if not names:
        default, _ = session.choose(has_passages=False)
        names = [default, *(name for name in session.strategies if name != default and _runs(session, name))]
    for name in names:
        session.choose(has_passages=False, strategy=name)
    return {f"rqa/{name}": name for name in names}


def _runs(session: Session, name: str) -> bool:
    try:
        session.choose(has_passages=False, strategy=name)
    except RqaError:
        return False
    return True
