"""A stand-in for Qdrant: queries of collections on loopback, in the published format.

    notes = Collection({"": 2}, {1: ([1.0, 0.0], {"text": "..."})})
    with serve({"notes": notes}) as server:
        ...  # call server.url

It refuses what the server refuses, and also unknown fields of a request, which the server ignores.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import unquote

import numpy as np
from standins.openai import Fault, Request, Server, running

_BODY = set(
    "shard_key prefetch query using filter params score_threshold limit offset with_vector with_payload"
    " lookup_from".split()
)


@dataclass
class Collection:
    """`sizes` has the width of each vector by name, "" for the only one. A point is its vector and its payload."""

    sizes: Mapping[str, int]
    points: Mapping[int | str, tuple[Sequence[float], dict[str, Any]]]
    distance: Literal["Cosine", "Dot", "Euclid"] = "Cosine"


class RefusedError(Exception):
    """The request is refused: status and reason."""


class Qdrant(Server):
    """Serves `collections` to requests with the API key `key`, to all if it is empty.

    `faults` are sent first, one for each request.
    """

    def __init__(self, collections: Mapping[str, Collection], key: str) -> None:
        super().__init__(lambda request, n: "", 0.0, record=True)
        self.collections = collections
        self.key = key
        self.faults: list[Fault] = []

    def _reply(self, request: Request, number: int) -> Fault:
        if self.faults:
            return self.faults.pop(0)
        if self.key and request.headers.get("api-key") != self.key:
            return Fault(401, "Must provide an API key or an Authorization bearer token")
        match = re.fullmatch(r"/collections/([^/]+)/points/query", request.path)
        if not match:
            return Fault(404)
        try:
            points = self._query(unquote(match[1]), request.body)
        except RefusedError as error:
            status, reason = error.args
            return Fault(status, {"status": {"error": reason}, "time": 0.0001})
        return Fault(body={"result": {"points": points}, "status": "ok", "time": 0.001})

    def _query(self, name: str, body: dict[str, Any]) -> list[dict[str, Any]]:
        if unknown := set(body) - _BODY:
            raise RefusedError(400, f"Format error in JSON body: unknown field `{min(unknown)}`")
        if body["limit"] < 1:
            raise RefusedError(422, "Validation error in JSON body: [limit: value 0 invalid, must be 1 or larger]")
        if name not in self.collections:
            raise RefusedError(404, f"Not found: Collection `{name}` doesn't exist!")
        collection, using = self.collections[name], body.get("using", "")
        if using not in collection.sizes:
            raise RefusedError(400, f"Wrong input: Not existing vector name error: {using}")
        vector = body["query"]["nearest"] if isinstance(body["query"], dict) else body["query"]
        query, size = np.array(vector, float), collection.sizes[using]
        if len(query) != size:
            raise RefusedError(400, f"Wrong input: Vector dimension error: expected dim: {size}, got {len(query)}")
        found = [
            {
                "id": point,
                "version": 0,
                "score": _score(query, np.array(vector, float), collection.distance),
                "payload": {name: value for name, value in payload.items() if name in _outer(body["with_payload"])},
            }
            for point, (vector, payload) in collection.points.items()
        ]
        nearest_last = collection.distance != "Euclid"
        return sorted(found, key=lambda point: point["score"], reverse=nearest_last)[: body["limit"]]


def _outer(fields: list[str]) -> set[str]:
    return {field.partition(".")[0] for field in fields}


def _score(query: Any, vector: Any, distance: str) -> float:
    if distance == "Euclid":
        return float(np.linalg.norm(query - vector))
    lengths = np.linalg.norm(query) * np.linalg.norm(vector) if distance == "Cosine" else 1
    return float(query @ vector / lengths)


@contextmanager
def serve(collections: Mapping[str, Collection], *, key: str = "") -> Iterator[Qdrant]:
    """A running stand-in; its `url` has no path."""
    server = Qdrant(collections, key)
    with running(server):
        server.url = server.url.removesuffix("/v1")
        yield server
