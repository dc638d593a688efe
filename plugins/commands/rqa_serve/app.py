"""The web application: its pages and errors."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
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

from .capacity import Capacity
from .chat import Completion
from .examples import examples
from .metrics import Metrics
from .requests import ApiError, Ask, Chat, api_error, read
from .static import document, page
from .streaming import ALIVE, Events, Growing, as_event

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from robust_qa.answering import Session, Watcher


def application(session: Session, models: Mapping[str, str], capacity: Capacity, *, most: int) -> ASGIApp:
    """Return the application that answers with `session`.

    `models`: strategies by name of the model. `most`: bytes of a request.
    """
    metrics = Metrics()
    pages = _Pages(session, models, capacity, metrics, most)
    app = Starlette(
        routes=[
            Route("/", pages.root),
            Route("/health", pages.health),
            Route("/metrics", pages.metrics),
            Route("/v1/models", pages.list_models),
            Route("/v1/models/{name:path}", pages.show_model),
            Route("/v1/chat/completions", pages.chat, methods=["POST"]),
            Route("/v1/rqa/ask", pages.ask, methods=["POST"]),
            Route("/v1/rqa/document", pages.document),
            Route("/v1/rqa/documents", pages.documents),
        ],
        exception_handlers={ApiError: _failed, RqaError: _failed, HTTPException: _failed},
    )
    return metrics.counting(app, [route.path for route in app.routes if isinstance(route, Route)])


class _Pages:
    def __init__(
        self, session: Session, models: Mapping[str, str], capacity: Capacity, metrics: Metrics, most: int
    ) -> None:
        self._session = session
        self._models = models
        self._capacity = capacity
        self._metrics = metrics
        self._most = most

    async def root(self, request: Request) -> Response:
        return page()

    async def health(self, request: Request) -> Response:
        return _json({"status": "ok", "requests": self._capacity.requests})

    async def metrics(self, request: Request) -> Response:
        counts = self._metrics.text(self._capacity.requests)
        return Response(counts, headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})

    async def document(self, request: Request) -> Response:
        indexed = await self._session.documents()
        return await asyncio.to_thread(document, request.query_params.get("file", ""), indexed)

    async def documents(self, request: Request) -> Response:
        names = await self._session.documents()
        whole = [Path(name) for name in names if Path(name).is_absolute()]
        folder = os.path.commonpath([path.parent for path in whole]) if whole and len(whole) == len(names) else ""
        return _json(
            {"count": len(names), "folder": folder, "examples": await examples(self._session) if names else []}
        )

    async def list_models(self, request: Request) -> Response:
        return _json({"object": "list", "data": [*map(self._model, self._models)]})

    async def show_model(self, request: Request) -> Response:
        self._strategy(request.path_params["name"])
        return _json(self._model(request.path_params["name"]))

    async def chat(self, request: Request) -> Response | Events:
        chat = await read(request, Chat, self._most)
        completion = Completion(self._session, self._capacity, self._metrics, chat, self._strategy(chat.model))
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
                return await self._metrics.counted(self._session.answer(question, strategy=name, watcher=watcher))

        async def events() -> AsyncIterator[bytes]:
            growing = Growing()
            answering = asyncio.create_task(answer(growing))
            async with aclosing(growing.until(answering)) as changes:  # type: ignore[type-var]
                async for changed in changes:
                    yield as_event({"step": growing.doing, "text": growing.text}) if changed else ALIVE
            found = answering.result()
            yield as_event(
                {"answer": as_json(found), "lead": printable(found.lead) if found.abstained else marked_answer(found)}
            )

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
        if model not in self._models:
            known = ", ".join(self._models)
            raise ApiError(404, f"There is no model {model!r}. The models are {known}.", code="model_not_found")
        return self._models[model]


async def _failed(request: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException):
        error = ApiError(error.status_code, f"{error.detail}: {request.method} {request.url.path}")
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
