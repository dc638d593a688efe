"""robots.txt, by RFC 9309."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from standins.web import Web, html, plain, reply

PAGE = html("<p>The lighthouse was built in 1871.</p>")
Allows = Callable[..., Awaitable[bool]]


@pytest.fixture
def allows(web: Web, connect: Any, search: Any) -> Allows:
    """Whether a page of a site with this robots.txt is read."""

    async def read(robots: str, path: str = "/page") -> bool:
        web.routes = {"/robots.txt": plain(robots)}
        web.routes["/search"] = reply(results=[{"url": web.url + path, "title": "Page", "content": "A snippet."}])
        web.routes.update({asked: PAGE for asked in (path.partition("?")[0], *ESCAPED) if asked != "/robots.txt"})
        (passage,), _ = await search(connect())
        return bool(passage.text != "A snippet.")

    return read


ESCAPED = ("/caf%C3%A9", "/caf%c3%a9", "/a%2Fb", "/~joe/x", "/")


@pytest.mark.parametrize(
    ("rules", "path", "allowed"),
    [
        ("Allow: /\nDisallow: /private/", "/private/x", False),
        ("Disallow: /\nAllow: /page", "/page/2", True),
        ("Allow: /page\nDisallow: /page", "/page", True),
        ("Disallow: /page\nAllow: /*e", "/page", False),
        ("Disallow: /*?print=", "/page?print=1", False),
        ("Disallow: /*.pdf$", "/a.pdf", False),
        ("Disallow: /$", "", False),
        ("Disallow: /a*b*c$", "/a-c-b-c", False),
        ("Disallow: /café", "/caf%c3%a9", False),
        ("Disallow: /%7Ejoe", "/~joe/x", False),
        ("disallow : /page # for all", "/page", False),
    ],
)
async def test_the_longest_matching_rule_applies(rules: str, path: str, allowed: bool, allows: Allows) -> None:
    assert await allows(f"User-agent: *\n{rules}", path) is allowed


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("User-agent: *\nDisallow: /\n\nUser-agent: Robust-QA\nDisallow: /x", True),
        ("User-agent: robust-qa\nSitemap: /s.xml\n\nUser-agent: other\nDisallow: /", False),
        ("User-agent: robust-qa\n\nUser-agent: *\nDisallow: /", False),
    ],
)
async def test_the_rules_for_robust_qa_override_those_for_all(text: str, allowed: bool, allows: Allows) -> None:
    assert await allows(text) is allowed


async def test_no_pattern_takes_long(allows: Allows) -> None:
    began = time.process_time()
    await allows("User-agent: *\nDisallow: /" + "*a" * 10_000 + "*b$", "/" + "a" * 1_500)
    assert time.process_time() - began < 2
