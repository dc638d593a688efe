"""A stand-in for OpenSearch and Elasticsearch: searches on loopback, in the published format.

    with serve({"manuals": {"1": {"title": "Boiler", "text": "..."}}}) as server:
        ...  # call server.url
        assert server.requests[0].path == "/manuals/_search"

It refuses what the server refuses, and also queries that it does not know. A document's score is the number of words
that its best field shares with the query, times the boost of that field.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import unquote

from standins.openai import Fault, Request, Server, running

Documents = Mapping[str, dict[str, Any]]  # by id

# Of the request body, in OpenSearch and in Elasticsearch.
_BODY = set(
    "aggs collapse docvalue_fields explain ext fields from highlight indices_boost knn min_score pit post_filter"
    " profile query rank rescore retriever runtime_mappings script_fields search_after seq_no_primary_term size slice"
    " sort _source stats stored_fields suggest terminate_after timeout track_scores track_total_hits version".split()
)
_MULTI_MATCH = set(
    "query fields type operator analyzer boost fuzziness lenient max_expansions minimum_should_match prefix_length slop"
    " tie_breaker zero_terms_query auto_generate_synonyms_phrase_query fuzzy_transpositions _name".split()
)
_MOST_CLAUSES, _LARGEST_WINDOW = 1024, 10_000


class RefusedError(Exception):
    """The request is refused: status, type and reason."""


class OpenSearch(Server):
    """Serves `indices` to requests with the header `authorisation`, to all if it is empty.

    `faults` are sent first, one for each request.
    """

    def __init__(self, indices: Mapping[str, Documents], authorisation: str) -> None:
        super().__init__(lambda request, n: "", 0.0, record=True)
        self.indices = dict(indices)
        self.authorisation = authorisation
        self.faults: list[Fault] = []
        self.failed_shards, self.timed_out = 0, False

    def _reply(self, request: Request, number: int) -> Fault:
        if self.faults:
            return self.faults.pop(0)
        try:
            return Fault(body=self._search(request))
        except RefusedError as error:
            status, kind, reason = error.args
            cause = {"type": kind, "reason": reason}
            return Fault(status, {"error": {"root_cause": [cause], **cause}, "status": status})

    def _search(self, request: Request) -> dict[str, Any]:
        if self.authorisation and request.headers.get("authorization") != self.authorisation:
            raise RefusedError(401, "security_exception", "missing authentication credentials for REST request")
        if request.headers.get("content-type") != "application/json":
            raise RefusedError(406, "media_type_header_exception", "Invalid media-type value on header [Content-Type]")
        match = re.fullmatch(r"/([^/]+)/_search", request.path)
        if not match:
            raise RefusedError(400, "illegal_argument_exception", f"no handler found for uri [{request.path}]")
        body = request.body
        if unknown := set(body) - _BODY:
            raise RefusedError(400, "parsing_exception", f"Unknown key for a START_OBJECT in [{min(unknown)}].")
        if body["size"] > _LARGEST_WINDOW:
            raise RefusedError(400, "illegal_argument_exception", "Result window is too large")
        hits = [
            {"_index": index, "_id": name, "_score": score, "_source": _filtered(document, body["_source"])}
            for index in self._named(unquote(match[1]))
            for name, document in self.indices[index].items()
            if (score := _score(body["query"], document))
        ]
        hits.sort(key=lambda hit: -hit["_score"])
        return {
            "took": 3,
            "timed_out": self.timed_out,
            "_shards": {"total": 5, "successful": 5 - self.failed_shards, "skipped": 0, "failed": self.failed_shards},
            "hits": {
                "total": {"value": len(hits), "relation": "eq"},
                "max_score": hits[0]["_score"] if hits else None,
                "hits": hits[: body["size"]],
            },
        }

    def _named(self, pattern: str) -> list[str]:
        found = []
        for part in pattern.split(","):
            names = [name for name in self.indices if fnmatchcase(name, part)]
            if not names and "*" not in part:
                raise RefusedError(404, "index_not_found_exception", f"no such index [{part}]")
            found += names
        return found


def _score(query: Any, document: dict[str, Any]) -> float:
    """The score of a document, 0 if it does not match."""
    [(kind, clause)] = query.items()
    if kind == "bool":
        if any(not _score(part, document) for part in _several(clause.get("filter", []))):
            return 0
        scores = [_score(part, document) for part in _several(clause.get("must", []))]
        return sum(scores) if all(scores) else 0
    if kind == "term":
        [(field, value)] = clause.items()
        return float(document.get(field) == value)
    if kind == "match":
        [(field, text)] = clause.items()
        return _shared(text, field, document)
    if kind != "multi_match":
        raise RefusedError(400, "parsing_exception", f"unknown query [{kind}]")
    if unknown := set(clause) - _MULTI_MATCH:
        raise RefusedError(400, "parsing_exception", f"[multi_match] query does not support [{min(unknown)}]")
    if len(_words(clause["query"])) * len(clause["fields"]) > _MOST_CLAUSES:
        raise RefusedError(400, "too_many_nested_clauses", "Query contains too many nested clauses")
    boosted = (field.partition("^") for field in clause["fields"])
    return max(float(boost or 1) * _shared(clause["query"], field, document) for field, _, boost in boosted)


def _several(clause: Any) -> list[Any]:
    return clause if isinstance(clause, list) else [clause]


def _shared(text: str, field: str, document: Any) -> float:
    for part in field.split("."):
        document = document.get(part, {})
    return float(len(set(_words(text)) & set(_words(str(document)))))


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _filtered(document: Any, fields: list[str]) -> Any:
    """The document with these fields alone, and with the objects that they are in."""
    kept = {}
    for name, value in document.items():
        inner = [field.removeprefix(f"{name}.") for field in fields if field.startswith(f"{name}.")]
        if name in fields:
            kept[name] = value
        elif inner and isinstance(value, dict):
            kept[name] = _filtered(value, inner)
    return kept


@contextmanager
def serve(indices: Mapping[str, Documents], *, authorisation: str = "") -> Iterator[OpenSearch]:
    """A running stand-in; its `url` has no path."""
    server = OpenSearch(indices, authorisation)
    with running(server):
        server.url = server.url.removesuffix("/v1")
        yield server
