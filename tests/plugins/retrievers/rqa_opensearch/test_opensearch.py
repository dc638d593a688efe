"""The retriever `opensearch`, against a stand-in that follows the published format."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from standins.openai import HTML, RESET, Fault, rate_limited
from standins.opensearch import OpenSearch as Server
from standins.opensearch import serve

from robust_qa import (
    CallError,
    ConfigError,
    Key,
    MissingError,
    Passage,
    RefusedError,
    ReplyError,
    UnavailableError,
    Url,
)
from robust_qa.testing import check, toolbox
from rqa_opensearch import OpenSearch

MANUALS = {
    "1": {"title": "Boiler", "text": "The boiler was last serviced by Ada Quill.", "date": "2024-05-31T10:00:00Z"},
    "2": {"title": "Ferry", "text": "The ferry was last serviced in May.", "source": "ferry.md", "vector": [0.1] * 99},
    "3": {"title": "Lamp", "text": "Bo Renn cleans every lamp."},
}
QUESTION = "Who serviced the boiler?"
Connect = Callable[..., OpenSearch]


@pytest.fixture
def server() -> Iterator[Server]:
    with serve({"manuals": MANUALS}) as running:
        yield running


@pytest.fixture
async def connect(server: Server) -> AsyncIterator[Connect]:
    """Return a function that makes retrievers for the index `manuals` of the server."""
    made: list[OpenSearch] = []

    def make(**options: Any) -> OpenSearch:
        made.append(OpenSearch(OpenSearch.Options(**{"url": Url(server.url), "index": "manuals", **options})))
        return made[-1]

    yield make
    for retriever in made:
        await retriever.close()


async def search(retriever: OpenSearch, query: str = QUESTION, k: int = 10) -> tuple[list[Passage], list[str]]:
    """The passages, and the warnings in the trace."""
    tools = toolbox(query, retriever=retriever)
    passages = await tools.retrieve(k=k)
    return passages, list(tools.trace.steps[-1].data.get("remarks", ()))


def test_it_conforms() -> None:
    with serve({"manuals": MANUALS}) as server:
        component = OpenSearch(OpenSearch.Options(url=Url(server.url), index="manuals"))
        findings = check("retriever", component, query=QUESTION, close=True)
    assert [str(finding) for finding in findings if finding.state != "passed"] == []


# -- the request


async def test_title_and_text_are_searched_and_only_the_needed_fields_are_requested(
    server: Server, connect: Connect
) -> None:
    await search(connect(), k=3)
    (request,) = server.requests
    assert request.path == "/manuals/_search" and "authorization" not in request.headers
    assert request.body == {
        "query": {"multi_match": {"query": QUESTION, "fields": ["title", "text"]}},
        "size": 3,
        "_source": ["text", "title", "source", "date"],
    }


async def test_a_field_can_count_more(connect: Connect) -> None:
    boosted, _ = await search(connect(fields=["title^9", "text"]), "Who serviced the lamp?")
    plain, _ = await search(connect(), "Who serviced the lamp?")
    assert (boosted[0].title, plain[0].title) == ("Lamp", "Boiler")


async def test_an_index_name_stays_one_part_of_the_path(server: Server, connect: Connect) -> None:
    server.indices["a/_doc?x"] = MANUALS
    passages, _ = await search(connect(index="a/_doc?x"))
    assert server.requests[0].path == "/a%2F_doc%3Fx/_search" and len(passages) == 2


# -- a search of one's own

TEMPLATE = """{"query": {"bool": {
  "must": [{"match": {"text": "{question}"}}],
  "filter": {"term": {"title": "Ferry"}}
}}, "size": 1, "_source": true}"""


async def test_the_question_is_bound_in_a_search_of_ones_own(server: Server, connect: Connect) -> None:
    question = 'serviced"}}], "must_not": [{"match": {"text": "{question}'
    passages, _ = await search(connect(body=TEMPLATE), question)
    assert [passage.title for passage in passages] == ["Ferry"]
    sent = server.requests[0].body
    assert sent["query"]["bool"]["must"] == [{"match": {"text": question}}]
    assert sent["size"] == 10 and sent["_source"] == ["text", "title", "source", "date"]


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("{query", "not JSON"),
        ('["{question}"]', "not a JSON object"),
        ('{"query": {"match_all": {}}}', 'the string "{question}"'),
        ('{"query": {"query_string": {"query": "title:{question}"}}}', "'title:{question}' in `body`"),
    ],
)
def test_a_search_that_cannot_bind_the_question_is_a_configuration_error(body: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        OpenSearch.Options(url=Url("http://localhost:9200"), index="manuals", body=body)


# -- the passages


async def test_a_document_becomes_a_passage(connect: Connect) -> None:
    passages, warnings = await search(connect())
    assert warnings == []
    assert passages[0] == Passage(
        MANUALS["1"]["text"], "manuals/1", "Boiler", "manuals/1", passages[0].score, date="2024-05-31"
    )
    assert passages[0].score > passages[1].score > 0
    assert passages[1].source == "ferry.md"


async def test_fields_have_other_names_and_lie_in_objects(server: Server, connect: Connect) -> None:
    server.indices["pages"] = {
        "1": {
            "body": ["The boiler was", "last serviced by Ada."],
            "meta": {"name": "B", "url": "b.html", "year": 2024, "secret": 1},
            "key": 7,
        }
    }
    fields = {"text": "body", "title": "meta.name", "id": "key", "source": "meta.url", "date": "meta.year"}
    (passage,), _ = await search(connect(index="pages", **fields))
    score = passage.score
    assert passage == Passage("The boiler was\n\nlast serviced by Ada.", "7", "B", "b.html", score, date="2024")


async def test_a_document_without_text_is_left_out_with_a_warning(server: Server, connect: Connect) -> None:
    server.indices["manuals"] = {**MANUALS, "4": {"title": "Who serviced the boiler?", "text": None}}
    passages, warnings = await search(connect())
    assert [passage.title for passage in passages] == ["Boiler", "Ferry"]
    assert warnings == ["1 of 3 documents have no text in the field 'text'"]


async def test_a_wrong_name_of_the_text_is_an_error(connect: Connect) -> None:
    with pytest.raises(
        ConfigError, match=r"None of the 2 documents that OpenSearch at .* found has text in the field 'body'"
    ):
        await search(connect(text="body", fields=["text"]))


async def test_an_incomplete_search_is_reported(server: Server, connect: Connect) -> None:
    server.failed_shards, server.timed_out = 2, True
    passages, warnings = await search(connect())
    assert len(passages) == 2
    assert "2 of 5 shards" in warnings[1] and "timeout" in warnings[0]


# -- keys


@pytest.mark.parametrize(
    ("options", "header"),
    [({}, "ApiKey s3cr3t"), ({"user": "ada"}, f"Basic {base64.b64encode(b'ada:s3cr3t').decode()}")],
)
async def test_the_key_is_an_api_key_or_the_password_of_the_user(
    options: dict[str, str], header: str, server: Server, connect: Connect
) -> None:
    server.authorisation = header
    passages, _ = await search(connect(key=Key("search", "s3cr3t", server.url), **options))
    assert passages[0].title == "Boiler"


async def test_a_key_for_another_server_is_not_sent(server: Server, connect: Connect) -> None:
    with pytest.raises(ConfigError, match=r"bound to https://search\.example\.org"):
        connect(key=Key("search", "s3cr3t", "https://search.example.org"))
    with pytest.raises(MissingError, match=r"'search'.* is not stored"):
        connect(key=Key("search"))
    with pytest.raises(ConfigError, match="characters that HTTP headers do not allow") as caught:
        connect(key=Key("search", "s3cr3t\n"))
    assert "s3cr3t" not in caught.value.message and server.count == 0


@pytest.mark.parametrize(
    ("options", "problem"), [({"user": "ada"}, "without `key`"), ({"user": "a:b", "key": Key("k", "x")}, "a colon")]
)
def test_a_user_needs_a_password(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        OpenSearch.Options(url=Url("http://localhost:9200"), index="manuals", **options)


@pytest.mark.parametrize("url", ["https://evil.example", "http://10.0.0.1:9200"])
def test_an_untrusted_file_cannot_direct_questions_to_a_server(rqa: Callable[..., Any], url: str) -> None:
    Path("rqa.toml").write_text(f'[retriever.opensearch]\nurl = "{url}"\nindex = "x"\n', "utf-8")
    ended = rqa("ask", "-r", "opensearch", QUESTION)
    assert ended.code == 2 and "an untrusted file cannot send questions and passages to" in ended.err


# -- errors


def error(status: int, kind: str, reason: str, **headers: str) -> Fault:
    cause = {"type": kind, "reason": reason}
    return Fault(status, {"error": {"root_cause": [cause], **cause}, "status": status}, headers)


@pytest.mark.parametrize(
    ("fault", "kind", "message", "hint", "general"),
    [
        (
            error(401, "security_exception", "unable to authenticate s3cr3t"),
            RefusedError,
            r"status 401: security_exception: unable to authenticate \*\*\*$",
            "Check that the key 'search' is right",
            True,
        ),
        (Fault(401, "Unauthorized"), RefusedError, "status 401: Unauthorized", "rqa keys set search --host http", True),
        (error(400, "parsing_exception", "no"), RefusedError, "status 400: parsing_exception: no", "", False),
        (Fault(400, {"error": "no handler found"}), RefusedError, "status 400: no handler found", "", False),
        (Fault(302, headers={"Location": "/login"}), RefusedError, "status 302", "redirects", True),
        (Fault(404, "<html>"), RefusedError, "status 404: <html>", "", True),
        (error(503, "cluster_block_exception", "blocked"), UnavailableError, "status 503: cluster_block", "", False),
        (RESET, UnavailableError, "Lost the connection to OpenSearch at", "with https if the server uses TLS", False),
        (HTML, ReplyError, "did not return search results", "Check `url`", False),
        (Fault(body={"took": 3}), ReplyError, "did not return search results: .*hits", "Check `url`", False),
        (Fault(body="x" * (33 << 20)), ReplyError, "more than 32 MiB", "", False),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else None,
)
async def test_a_failure_says_what_failed_and_what_to_do(
    fault: Fault, kind: type[CallError], message: str, hint: str, general: bool, server: Server, connect: Connect
) -> None:
    server.faults = [fault]
    with pytest.raises(kind, match=message) as caught:
        await connect(key=Key("search", "s3cr3t", server.url)).retrieve(QUESTION, 5)
    assert hint in caught.value.hint and caught.value.general is general
    assert "s3cr3t" not in caught.value.message


async def test_a_missing_index_is_a_missing_error(connect: Connect) -> None:
    with pytest.raises(MissingError, match="has no index 'nope'") as caught:
        await connect(index="nope").retrieve(QUESTION, 5)
    assert "/_cat/indices" in caught.value.hint and caught.value.general


@pytest.mark.parametrize(
    ("fault", "wait"), [(rate_limited("7"), 7.0), (error(429, "circuit_breaking_exception", "data too large"), None)]
)
async def test_a_rate_limit_is_passed_on(fault: Fault, wait: float | None, server: Server, connect: Connect) -> None:
    server.faults = [fault]
    with pytest.raises(UnavailableError, match="status 429") as caught:
        await connect().retrieve(QUESTION, 5)
    assert (caught.value.limited, caught.value.retry_after) == (True, wait)


def test_the_command_line_retries_and_answers(server: Server, rqa: Callable[..., Any], tmp_path: Path) -> None:
    server.faults = [error(503, "search_phase_execution_exception", "all shards failed")]
    config = tmp_path / "own.toml"
    config.write_text(f'[retriever.docs]\nplugin = "opensearch"\nurl = "{server.url}"\nindex = "manuals"\n', "utf-8")
    ended = rqa("--config", config, "ask", "--json", "-r", "docs", "Who last serviced the boiler?")
    assert ended.code == 0, ended.err
    answer = json.loads(ended.out)
    assert answer["answer"] == "Ada Quill" and answer["citations"][0]["source"] == "manuals/1"
    assert server.count == 2
