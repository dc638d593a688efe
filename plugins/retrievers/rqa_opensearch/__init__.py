"""Retriever `opensearch`: passages from an index of OpenSearch or Elasticsearch.

    [retriever.docs]
    plugin = "opensearch"
    url = "https://search.example.org:9200"
    index = "docs"
    user = "reader"
    key = "search"

The request is a search (https://docs.opensearch.org/latest/api-reference/search-apis/search/), which both servers
understand. It only reads.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any
from urllib.parse import quote

from msgspec import Meta, Struct
from msgspec import field as named

from robust_qa import Key, MissingError, Passage, RqaError, Url
from robust_qa.kit import DocumentFields, JsonReply, JsonServer, warn, whole_characters

_QUESTION = "{question}"
_MOST_WORDS = 256  # of a question: Lucene refuses more than 1024 clauses, one for each word in each field


class OpenSearch:
    """Documents that match the question in some fields, or a search of your own.

    `Passage.score` is the server's score, which has no upper bound.
    """

    cached = False  # the index may change

    @dataclass(kw_only=True)
    class Options(DocumentFields):
        """The index, how it is searched, and the fields of its documents."""

        url: Url  # the server's address
        index: Annotated[str, Meta(min_length=1)]  # an index, an alias, or several with commas and *
        user: str | None = None  # user name whose password is `key`; default: `key` is an API key
        key: Key | None = None  # name of a stored key; by default no key is sent
        fields: list[str] = field(default_factory=list)  # fields to search, as in "title^2"; default: title and text
        body: str | None = None  # JSON of a search of your own; each string "{question}" in it becomes the question

        def __post_init__(self) -> None:
            if self.user is not None and self.key is None:
                raise ValueError("has `user` without `key`, the name of the stored password")
            if self.user is not None and ":" in self.user:
                raise ValueError(f"has the user {self.user!r}, but a user's name cannot contain a colon")
            if self.body is not None:
                _check_template(self.body)

    def __init__(self, options: Options) -> None:
        """Raises MissingError if the key is not stored, ConfigError if it is bound to another server."""
        self._options = options
        self._server = JsonServer("OpenSearch", options.url, options.key, self._authorisation)

    async def retrieve(self, query: str, k: int) -> list[Passage]:
        """Return the `k` best documents.

        Raises MissingError if there is no index, UnavailableError or CallTimeout if a retry may help, RefusedError
        if it will not, ReplyError if the reply is not a search result, and ConfigError if no document has text.
        """
        question = whole_characters(" ".join(query.split()[:_MOST_WORDS]))
        if not question or k < 1:
            return []
        reply = await self._server.post(f"{quote(self._options.index, safe=',*')}/_search", self._request(question, k))
        if reply.status != 200:
            raise self._error(reply)
        found = reply.decoded(_Found)
        if found.timed_out:
            warn(f"{self._server.name} ran into its own timeout and returned only what it had found")
        if found.shards.failed:
            warn(f"{found.shards.failed} of {found.shards.total} shards of {self._server.name} failed")
        hits = found.hits.hits
        documents = ((f"{hit.index}/{hit.id}", hit.score or 0.0, hit.source) for hit in hits)
        return self._options.passages(documents, self._server.name)

    async def close(self) -> None:
        await self._server.close()

    def _request(self, question: str, k: int) -> dict[str, Any]:
        options = self._options
        if options.body is not None:
            search = _bound(json.loads(options.body), question)
        else:
            fields = options.fields or [options.title, options.text]
            search = {"query": {"multi_match": {"query": question, "fields": fields}}}
        return {**search, "size": k, "_source": options.document_fields}

    def _authorisation(self, secret: str) -> Mapping[str, str]:
        if self._options.user is None:
            return {"Authorization": f"ApiKey {secret}"}
        return {"Authorization": f"Basic {base64.b64encode(f'{self._options.user}:{secret}'.encode()).decode()}"}

    def _error(self, reply: JsonReply) -> RqaError:
        kind, reason = _cause(reply.json)
        if kind == "index_not_found_exception":
            return MissingError(
                f"{self._server.name} has no index {self._options.index!r}.",
                hint="Correct the option `index`. The server lists its indices at /_cat/indices.",
                general=True,
            )
        return self._server.refusal(reply, f"{kind}: {reason}" if kind else reason)


class _Hit(Struct):
    index: str = named(name="_index")
    id: str = named(name="_id")
    score: float | None = named(name="_score", default=None)  # none if `body` sorts
    source: dict[str, Any] = named(name="_source", default_factory=dict)


class _Hits(Struct):
    hits: list[_Hit]


class _Shards(Struct):
    total: int = 0
    failed: int = 0


class _Found(Struct):
    hits: _Hits
    timed_out: bool = False
    shards: _Shards = named(name="_shards", default_factory=_Shards)


def _cause(body: Any) -> tuple[str, str]:
    """Return type and reason of the first cause in an error, "" if the body has another form."""
    error = body.get("error") if isinstance(body, dict) else None
    if isinstance(error, dict):
        causes = error.get("root_cause")
        error = causes[0] if isinstance(causes, list) and causes and isinstance(causes[0], dict) else error
        return str(error.get("type") or ""), str(error.get("reason") or "")
    return "", error if isinstance(error, str) else ""


def _check_template(body: str) -> None:
    """Raise ValueError unless `body` is a JSON object in which {question} is a string of its own."""
    try:
        template = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"has a `body` that is not JSON: {error}") from error
    strings = list(_strings(template))
    if pasted := [string for string in strings if _QUESTION in string and string != _QUESTION]:
        raise ValueError(
            f"has {pasted[0]!r} in `body`, where the question would become part of a query: "
            f'write "{_QUESTION}" as a string of its own'
        )
    if not isinstance(template, dict) or _QUESTION not in strings:
        raise ValueError(f'has a `body` that is not a JSON object with the string "{_QUESTION}" for the question')


def _strings(template: Any) -> Iterator[str]:
    if isinstance(template, dict | list):
        for part in template.values() if isinstance(template, dict) else template:
            yield from _strings(part)
    elif isinstance(template, str):
        yield template


def _bound(template: Any, question: str) -> Any:
    """Return the template with the question as the value of each string that is {question}."""
    if isinstance(template, dict):
        return {name: _bound(part, question) for name, part in template.items()}
    if isinstance(template, list):
        return [_bound(part, question) for part in template]
    return question if template == _QUESTION else template
