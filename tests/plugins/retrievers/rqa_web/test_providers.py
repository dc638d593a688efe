"""Requests and replies of each provider, as in its documentation."""

from __future__ import annotations

import gzip
from typing import Any

import pytest
from standins.openai import Fault
from standins.web import Web, html, parameters, reply

from robust_qa import CallError, ConfigError, Key, MissingError, RefusedError, ReplyError, UnavailableError
from rqa_web import Web as Retriever

KEY = Key("work", "s3cr3t-s3cr3t")
STACKED = gzip.compress(gzip.compress(bytes(64 << 20)))

REPLIES: dict[str, tuple[str, dict[str, Any]]] = {
    "serper": (
        "/search",
        {
            "searchParameters": {"q": "lighthouse", "type": "search", "engine": "google"},
            "answerBox": {"title": "Lighthouse", "answer": "1871"},
            "organic": [
                {"title": "One", "link": "https://a.example/1", "snippet": "The first.", "position": 1},
                {"title": "Two", "link": "https://b.example/2", "snippet": "The second.", "position": 2},
            ],
            "credits": 1,
        },
    ),
    "brave": (
        "/res/v1/web/search",
        {
            "type": "search",
            "query": {"original": "lighthouse", "more_results_available": True},
            "web": {
                "type": "search",
                "results": [
                    {"title": "One", "url": "https://a.example/1", "description": "The <strong>first</strong>."},
                    {"title": "Two", "url": "https://b.example/2", "description": "The second."},
                ],
            },
        },
    ),
    "tavily": (
        "/search",
        {
            "query": "lighthouse",
            "answer": None,
            "images": [],
            "results": [
                {"title": "One", "url": "https://a.example/1", "content": "The first.", "score": 0.9},
                {"title": "Two", "url": "https://b.example/2", "content": "The second.", "score": 0.8},
            ],
            "response_time": "1.09",
        },
    ),
    "google-cse": (
        "/customsearch/v1",
        {
            "kind": "customsearch#search",
            "queries": {"request": [{"totalResults": "2"}]},
            "items": [
                {"title": "One", "link": "https://a.example/1", "displayLink": "a.example", "snippet": "The first."},
                {"title": "Two", "link": "https://b.example/2", "displayLink": "b.example", "snippet": "The second."},
            ],
        },
    ),
    "searxng": (
        "/search",
        {
            "query": "lighthouse",
            "number_of_results": 0,
            "results": [
                {"title": "One", "url": "https://a.example/1", "content": "The first.", "engine": "bing", "score": 4.0},
                {"title": "Two", "url": "https://b.example/2", "content": "The second.", "engine": "bing"},
            ],
            "answers": [],
            "unresponsive_engines": [],
        },
    ),
    "mediawiki": (
        "/",
        {
            "batchcomplete": True,
            "query": {
                "pages": [  # in no order: each says its place
                    {"title": "Two", "index": 2, "fullurl": "https://b.example/2", "extract": "The second."},
                    {"title": "One", "index": 1, "fullurl": "https://a.example/1", "extract": "The first."},
                ]
            },
        },
    ),
}  # fmt: skip

Options = dict[str, Any]


def options(provider: str, web: Web, **further: Any) -> Options:
    """Return the options for a provider at the server, without reading pages."""
    engine = {"engine": "abc:1"} if provider == "google-cse" else {}
    return {"provider": provider, "base_url": web.url, "key": KEY, "pages": 0, **engine, **further}


@pytest.mark.parametrize("provider", REPLIES)
async def test_results_have_title_address_and_snippet_in_order(
    provider: str, web: Web, connect: Any, search: Any
) -> None:
    path, body = REPLIES[provider]
    web.routes[path] = reply(**body)
    passages, remarks = await search(connect(**options(provider, web)))
    assert [(p.title, p.source, p.text) for p in passages] == [
        ("One", "https://a.example/1", "The first."),
        ("Two", "https://b.example/2", "The second."),
    ]
    assert (passages[0].score > passages[1].score, remarks) == (True, [])


async def test_serper_is_asked_by_post_with_its_key_in_a_header(web: Web, connect: Any, search: Any) -> None:
    web.routes["/search"] = reply(organic=[])
    await search(connect(**options("serper", web)), "lighthouse")
    (asked,) = web.asked("/search")
    assert (asked.headers["x-api-key"], asked.body) == ("s3cr3t-s3cr3t", {"q": "lighthouse", "num": 10})


async def test_tavily_is_asked_by_post_with_a_bearer_token(web: Web, connect: Any, search: Any) -> None:
    web.routes["/search"] = reply(results=[])
    await search(connect(**options("tavily", web)), "lighthouse")
    (asked,) = web.asked("/search")
    assert asked.headers["authorization"] == "Bearer s3cr3t-s3cr3t"
    assert asked.body == {"query": "lighthouse", "max_results": 10}


async def test_brave_is_asked_with_its_token_and_no_more_than_fifty_words(web: Web, connect: Any, search: Any) -> None:
    web.routes["/res/v1/web/search"] = reply(type="search")
    passages, _ = await search(connect(**options("brave", web, results=60)), "word " * 70)
    (asked,) = web.asked("/res/v1/web/search")
    assert asked.headers["x-subscription-token"] == "s3cr3t-s3cr3t"
    assert (parameters(asked)["count"], len(parameters(asked)["q"].split())) == ("20", 50)
    assert passages == []


async def test_google_is_asked_for_ten_results_of_an_engine_and_no_items_are_no_results(
    web: Web, connect: Any, search: Any
) -> None:
    web.routes["/customsearch/v1"] = reply(kind="customsearch#search")
    passages, _ = await search(connect(**options("google-cse", web, results=60)), "a & b")
    (asked,) = web.asked("/customsearch/v1")
    assert parameters(asked) == {"key": "s3cr3t-s3cr3t", "cx": "abc:1", "q": "a & b", "num": "10"}
    assert passages == []


async def test_searxng_is_asked_for_json_without_a_key(web: Web, connect: Any, search: Any) -> None:
    web.routes["/search"] = reply(results=[])
    await search(connect(), "lighthouse")
    (asked,) = web.asked("/search")
    assert parameters(asked) == {"q": "lighthouse", "format": "json"}
    assert "authorization" not in asked.headers


async def test_mediawiki_is_asked_for_addresses_and_introductions(web: Web, connect: Any, search: Any) -> None:
    web.routes["/w/api.php"] = reply(batchcomplete=True)
    wiki = connect(provider="mediawiki", base_url=f"{web.url}/w/api.php")
    passages, _ = await search(wiki, "lighthouse")
    (asked,) = web.asked("/w/api.php")
    wanted = {"generator": "search", "gsrsearch": "lighthouse", "gsrlimit": "10", "inprop": "url", "formatversion": "2"}
    assert wanted.items() <= parameters(asked).items()
    assert asked.headers["user-agent"].startswith("robust-qa/") and passages == []


@pytest.mark.parametrize(
    "results",
    [
        "none",
        None,
        [None, 3, "x", {}],
        [{"url": url} for url in (3, "javascript:alert(1)", "file:///etc/passwd", "//a.example", "https://")],
        [{"url": f"http://{rest}"} for rest in ("a b/", "[::1", "u:p@a.example/", "a.example\\@b/", "a.example:0/")],
    ],
)
async def test_invalid_results_are_left_out(results: Any, web: Web, connect: Any, search: Any) -> None:
    web.routes["/search"] = reply(results=results)
    if isinstance(results, list):
        assert await search(connect()) == ([], [])
    else:
        with pytest.raises(ReplyError, match="did not return search results"):
            await search(connect())


async def test_markup_and_control_characters_are_removed_from_results(web: Web, connect: Any, search: Any) -> None:
    result = {
        "url": "https://a.example/",
        "title": "<b>A</b> &amp; \x1b[31mB",
        "content": 'x <i>y</i>\n\x07<EM class="hit">z</EM>&#' + "9" * 5000 + "<" * 9999,
    }
    web.routes["/search"] = reply(results=[result])
    (passage,), _ = await search(connect(pages=0))
    assert passage.title == "A & [31mB"
    assert passage.text.startswith("x y z\ufffd<<<")
    assert len(passage.text) <= 5000


@pytest.mark.parametrize(
    "text",
    [
        "Water freezes if t < 0 °C; it boils if t > 100 °C at 1 atm.",
        "Write vector<int> in C++, and for (i = 0; i<b && b>0; i++)",
    ],
)
async def test_text_in_angle_brackets_is_kept(text: str, web: Web, connect: Any, search: Any) -> None:
    web.routes["/search"] = reply(results=[{"url": "https://a.example/", "content": text}])
    (passage,), _ = await search(connect(pages=0))
    assert passage.text == text


# -- when it does not answer

HTML = html("<!doctype html><title>\x1b[31mLog in</title>")


@pytest.mark.parametrize(
    ("fault", "kind", "told"),
    [
        (HTML, ReplyError, r"did not return search results: <!doctype html><title>\[31mLog in</title>"),
        (Fault(body="[" * 5000), ReplyError, "did not return search results"),
        (Fault(403, {"error": {"message": "denied s3cr3t-s3cr3t"}}), RefusedError, r"status 403: denied \*\*\*"),
        (Fault(422, {"detail": {"error": "Query is too long."}}), RefusedError, "status 422: Query is too long."),
        (Fault(429, {"message": "Slow down."}), UnavailableError, "status 429: Slow down."),
        (Fault(302, headers={"Location": "https://a.example"}), RefusedError, "status 302"),
        (Fault(reset=True), UnavailableError, "Lost the connection"),
        (Fault(body="x" * (9 << 20)), ReplyError, "more than 8 MiB"),
        (Fault(body=STACKED, headers={"Content-Encoding": "gzip, gzip"}), ReplyError, "'gzip, gzip'"),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else None,
)
async def test_a_failure_names_the_provider_and_quotes_its_message(
    fault: Fault, kind: type[CallError], told: str, web: Web, connect: Any
) -> None:
    web.routes["/search"] = fault
    with pytest.raises(kind, match=told) as caught:
        await connect(**options("serper", web)).retrieve("lighthouse", 10)
    assert caught.value.message.startswith(("serper at 127.0.0.1", "Lost the connection to serper at 127.0.0.1"))
    assert "s3cr3t" not in caught.value.message


@pytest.mark.parametrize(
    ("code", "kind", "limited", "general"),
    [
        ("ratelimited", UnavailableError, True, False),
        ("cirrussearch-too-busy-error", UnavailableError, True, False),  # by its wish to wait
        ("readapidenied", RefusedError, False, True),
    ],
)
async def test_an_error_of_mediawiki_is_quoted(
    code: str, kind: type[CallError], limited: bool, general: bool, web: Web, connect: Any
) -> None:
    web.routes["/"] = Fault(body={"error": {"code": code, "info": "It says why."}}, headers={"Retry-After": "7"})
    with pytest.raises(kind, match=rf"mediawiki at .* did not search: {code}: It says why\.") as caught:
        await connect(provider="mediawiki", base_url=web.url).retrieve("lighthouse", 10)
    told = caught.value
    assert (getattr(told, "retry_after", None), getattr(told, "limited", False)) == (7.0 if limited else None, limited)
    assert (told.general, told.hint) == (general, "")


async def test_no_results_from_failed_engines_are_an_error(web: Web, connect: Any, search: Any) -> None:
    down = [["google", "Suspended: CAPTCHA"], ["brave", "too many requests"], "bing"]
    web.routes["/search"] = reply(results=[], unresponsive_engines=down)
    why = "did not search: engines do not respond: google: Suspended: CAPTCHA, brave: too many requests, bing"
    with pytest.raises(UnavailableError, match=why):
        await connect().retrieve("lighthouse", 10)
    found = {"title": "One", "url": "https://a.example/1", "content": "The first."}
    web.routes["/search"] = reply(results=[found], unresponsive_engines=down)
    passages, remarks = await search(connect(pages=0))
    assert ([passage.text for passage in passages], remarks) == (["The first."], [])


@pytest.mark.parametrize("provider", REPLIES)
async def test_an_unknown_reply_is_not_an_empty_result(provider: str, web: Web, connect: Any) -> None:
    web.routes[REPLIES[provider][0]] = reply(login=1)
    with pytest.raises(ReplyError, match="did not return search results"):
        await connect(**options(provider, web)).retrieve("lighthouse", 10)


@pytest.mark.parametrize(
    ("provider", "status", "body", "hint"),
    [
        ("brave", 422, {"error": {"code": "SUBSCRIPTION_TOKEN_INVALID", "detail": "It is invalid."}}, "Check the key"),
        ("google-cse", 400, {"error": {"message": "API key not valid. Please pass a valid API key."}}, "Check the key"),
    ],
)
async def test_a_rejected_key_is_a_general_error(
    provider: str, status: int, body: Any, hint: str, web: Web, connect: Any
) -> None:
    web.routes[REPLIES[provider][0]] = Fault(status, body)
    with pytest.raises(RefusedError) as caught:
        await connect(**options(provider, web)).retrieve("lighthouse", 10)
    assert caught.value.general and caught.value.hint.startswith(hint)


async def test_searxng_without_json_has_a_hint(web: Web, connect: Any) -> None:
    web.routes["/search"] = Fault(403, "Forbidden")
    with pytest.raises(RefusedError) as caught:
        await connect().retrieve("lighthouse", 10)
    assert "search.formats" in caught.value.hint


# -- configuration


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"provider": "serper"}, "`key`"),
        ({"provider": "google-cse", "key": KEY}, "`engine`"),
        ({"provider": "searxng"}, "`base_url`"),
    ],
)
def test_a_missing_option_is_named(given: Options, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        Retriever.Options(**given)


async def test_a_key_that_is_not_stored_is_missed_before_the_first_question(connect: Any) -> None:
    with pytest.raises(MissingError, match="'nope'"):
        connect(provider="serper", key=Key("nope"))


async def test_a_key_bound_to_another_host_is_not_sent(connect: Any) -> None:
    with pytest.raises(ConfigError, match=r"bound to api\.tavily\.com"):
        connect(provider="serper", key=Key("work", "secret", "api.tavily.com"))
