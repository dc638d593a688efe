"""The web application: its pages and errors."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from robust_qa import RqaError
from robust_qa.cli import as_json

from .capacity import Capacity, ClientGone, unless_gone
from .chat import Completion
from .errors import ApiError, api_error
from .requests import Ask, Chat, read

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from robust_qa.answering import Session

_ROOT = "rqa serve: POST /v1/chat/completions or /v1/rqa/ask, GET /v1/models or /health. See `rqa help serve`.\n"
_LEFT = 499  # nobody reads this status, as the client has left


def application(session: Session, models: Mapping[str, str], capacity: Capacity, *, most: int) -> Starlette:
    """Return the application that answers with `session`.

    `models`: strategies by name of the model. `most`: bytes of a request.
    """
    pages = _Pages(session, models, capacity, most)
    return Starlette(
        routes=[
            Route("/", pages.root),
            Route("/health", pages.health),
            Route("/v1/models", pages.list_models),
            Route("/v1/models/{name:path}", pages.show_model),
            Route("/v1/chat/completions", pages.chat, methods=["POST"]),
            Route("/v1/rqa/ask", pages.ask, methods=["POST"]),
        ],
        exception_handlers={ApiError: _failed, RqaError: _failed, HTTPException: _failed, ClientGone: _left},
    )


class _Pages:
    def __init__(self, session: Session, models: Mapping[str, str], capacity: Capacity, most: int) -> None:
        self._session = session
        self._models = models
        self._capacity = capacity
        self._most = most

    async def root(self, request: Request) -> Response:
        return Response(_ROOT, media_type="text/plain")

    async def health(self, request: Request) -> Response:
        return _json({"status": "ok", "requests": self._capacity.requests})

    async def list_models(self, request: Request) -> Response:
        return _json({"object": "list", "data": [*map(_model, self._models)]})

    async def show_model(self, request: Request) -> Response:
        self._strategy(request.path_params["name"])
        return _json(_model(request.path_params["name"]))

    async def chat(self, request: Request) -> Response | _Events:
        chat = await read(request, Chat, self._most)
        completion = Completion(self._session, self._capacity, chat, self._strategy(chat.model))
        if chat.stream:
            return _Events(completion.events(), self._capacity)
        with self._capacity.admitted():
            return _json(await unless_gone(request.receive, completion.whole()))

    async def ask(self, request: Request) -> Response:
        asked = await read(request, Ask, self._most)
        default, *_ = self._models
        name = self._strategy(default if asked.strategy is None else f"rqa/{asked.strategy}")
        question = asked.question()

        async def answer() -> dict[str, Any]:
            async with self._capacity.turn():
                return as_json(await self._session.answer(question, strategy=name))

        with self._capacity.admitted():
            return _json(await unless_gone(request.receive, answer()))

    def _strategy(self, model: str) -> str:
        """Return the strategy of that model. Raises ApiError if there is none."""
        if model not in self._models:
            known = ", ".join(self._models)
            raise ApiError(404, f"There is no model {model!r}. The models are {known}.", code="model_not_found")
        return self._models[model]


class _Events:
    """A stream of server-sent events, which ends when the client leaves."""

    def __init__(self, events: AsyncIterator[bytes], capacity: Capacity) -> None:
        self._events = events
        self._capacity = capacity

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._capacity.admitted():
            try:
                await unless_gone(receive, self._send_to(send))
            except ClientGone:
                return

    async def _send_to(self, send: Send) -> None:
        headers = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-cache")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        async with aclosing(self._events) as events:  # type: ignore[type-var]
            async for event in events:
                await send({"type": "http.response.body", "body": event, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


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


async def _left(request: Request, error: Exception) -> Response:
    return Response(status_code=_LEFT)


def _json(body: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(body), status, media_type="application/json")


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "rqa"}
