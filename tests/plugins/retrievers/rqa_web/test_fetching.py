"""Pages are fetched concurrently and within limits. Snippets replace pages that cannot be read."""

from __future__ import annotations

import asyncio
import gzip
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from standins.certificates import certificate
from standins.openai import HANG, RESET, Fault
from standins.web import Web, html, plain, redirect, reply, serve

from robust_qa.kit import install_hint
from rqa_web import Web as Retriever
from rqa_web import fetching  # private: a public address cannot be had in a test

PAGE = html("<html><body><p>The lighthouse was built in 1871.</p><p>It stands on Skerry Point.</p></body></html>")
TEXT = "The lighthouse was built in 1871.\n\nIt stands on Skerry Point."


def found(web: Web, *paths: str, snippet: str = "A snippet.") -> None:
    """Make SearXNG return these pages, of the server or with full addresses."""
    urls = [path if "//" in path else web.url + path for path in paths]
    web.routes["/search"] = reply(results=[{"url": url, "title": url[-8:], "content": snippet} for url in urls])


async def read(web: Web, connect: Any, search: Any, page: Fault, **options: Any) -> tuple[str, list[str]]:
    """Return the text of one page, and the warnings."""
    web.routes["/page"] = page
    found(web, "/page")
    passages, remarks = await search(connect(robots=False, **options))
    return passages[0].text, remarks


async def test_pages_are_fetched_at_once_and_keep_their_order(web: Web, connect: Any, search: Any) -> None:
    paths = [f"/{n}" for n in range(5)]
    pages = {path: replace(html(f"<p>This is page number {path}.</p>"), pause=0.01) for path in paths}
    web.routes.update(pages)
    found(web, *paths)
    passages, _ = await search(connect(robots=False))
    assert [p.text for p in passages] == [f"This is page number {path}." for path in paths]
    assert web.peak == 5


async def test_the_first_pages_are_read_and_the_others_give_their_snippet(web: Web, connect: Any, search: Any) -> None:
    web.routes.update({"/1": PAGE, "/2": PAGE, "/3": PAGE})
    found(web, "/1", "/2", "/3")
    passages, _ = await search(connect(robots=False, pages=2))
    assert [p.text for p in passages] == [TEXT, TEXT, "A snippet."]
    assert web.asked("/3") == []


async def test_a_page_is_read_once_and_preferred_hosts_come_first(web: Web, connect: Any, search: Any) -> None:
    found(
        web,
        "https://a.example/x",
        "https://a.example/x#part",
        "https://en.wikipedia.org/wiki/X",
        "https://notwikipedia.org/",
    )
    passages, _ = await search(connect(pages=0))
    assert [p.source for p in passages] == [
        "https://en.wikipedia.org/wiki/X",
        "https://a.example/x",
        "https://notwikipedia.org/",
    ]


async def test_a_page_with_several_addresses_is_returned_once(web: Web, connect: Any, search: Any) -> None:
    web.routes.update({"/old": redirect("/page"), "/page": PAGE, "/next": html("<p>The tower was built in 1902.</p>")})
    paths = ("/old", "/page?utm_source=x", "/page", "/next")
    web.routes["/search"] = reply(results=[{"url": web.url + path, "title": "Skerry Point"} for path in paths])
    passages, _ = await search(connect(robots=False), k=2)
    assert [p.id.removeprefix(web.url) for p in passages] == ["/old", "/next"]


async def test_only_hosts_that_are_allowed_are_taken(web: Web, connect: Any, search: Any) -> None:
    found(web, "https://a.example/", "https://x.b.example/")
    retriever = connect(pages=0, hosts=["B.example"])
    assert [p.source for p in (await search(retriever))[0]] == ["https://x.b.example/"]


@pytest.mark.parametrize("entry", ["https://spam.example", "spam.example/", "spam.example:443"])
def test_an_invalid_host_name_is_an_error(entry: str) -> None:
    with pytest.raises(ValueError, match="in `hosts`, which is not a host name"):
        Retriever.Options(provider="mediawiki", hosts=[entry])


# -- what cannot be had


@pytest.mark.parametrize(
    ("page", "told"),
    [
        (Fault(404, "gone"), "status 404"),
        (RESET, ""),
        (HANG, "within 1 s"),
        (Fault(body="x" * 200, pause=0.05, headers={"Content-Type": "text/html"}), "within 1 s"),
        (plain("%PDF-1.7", "application/pdf"), "application/pdf"),
        (html(""), "no text"),
        (html(gzip.compress(b"<p>The lighthouse stands.</p>" * 9)[:-9], **{"Content-Encoding": "gzip"}), "broke off"),
        (redirect("/page"), "more than 5 redirects"),
        (redirect("file:///etc/passwd"), "not a web address"),
        (redirect("http://user:pw@127.0.0.1/"), "not a web address"),
        (redirect("http://no-such-host.invalid/"), "host name cannot be resolved"),
    ],
)  # fmt: skip
async def test_a_page_that_cannot_be_read_is_replaced_by_its_snippet_with_a_warning(
    page: Fault, told: str, web: Web, connect: Any, search: Any
) -> None:
    text, (remark,) = await read(web, connect, search, page, page_seconds=1)
    assert text == "A snippet."
    assert remark.startswith(f"{web.url}/page: ") and told in remark and "its snippet is used" in remark


async def test_redirects_are_followed(web: Web, connect: Any, search: Any) -> None:
    web.routes.update({"/2": redirect("/3", 308), "/3": PAGE})
    assert await read(web, connect, search, redirect("2")) == (TEXT, [])


async def test_a_redirect_to_a_host_that_is_not_read_is_not_followed(web: Web, connect: Any, search: Any) -> None:
    text, (remark,) = await read(web, connect, search, redirect("http://spam.example/"), hosts=["127.0.0.1"])
    assert text == "A snippet." and "spam.example is not an allowed host" in remark


async def test_a_page_that_decompresses_to_a_huge_size_is_cut(web: Web, connect: Any, search: Any) -> None:
    bomb = gzip.compress(b"This is a paragraph.\n\n" * 1_000_000)
    text, (remark,) = await read(
        web, connect, search, html(bomb, **{"Content-Type": "text/plain", "Content-Encoding": "gzip"})
    )
    assert text == "This is a paragraph." and "cut at 2000000 bytes" in remark


# -- where it may lead


async def test_a_page_on_this_machine_is_read_only_with_private(web: Web, connect: Any, search: Any) -> None:
    text, (remark,) = await read(web, connect, search, PAGE, private=False)
    assert (text, web.asked("/page")) == ("A snippet.", [])
    assert "127.0.0.1, which is not public" in remark


async def test_a_redirect_to_a_private_address_is_not_followed(
    web: Web, connect: Any, search: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The stand-in plays a public site; no other address of this machine is one.
    monkeypatch.setattr(fetching, "is_public", lambda address: address == "127.0.0.1")
    port = web.url.rpartition(":")[2]
    web.routes["/inner"] = PAGE
    text, (remark,) = await read(web, connect, search, redirect(f"http://127.0.0.2:{port}/inner"), private=False)
    assert (text, web.asked("/inner")) == ("A snippet.", [])
    assert "127.0.0.2, which is not public" in remark


@pytest.mark.parametrize("host", ["localhost", "2130706433", "0x7f000001", "169.254.169.254", "::1"])
async def test_every_notation_of_a_private_address_is_refused(host: str) -> None:
    with pytest.raises(PermissionError):
        await fetching.resolve(host, 80, private=False)


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1:248:1893:25c8:1946", True),
        ("127.0.0.1", False),
        ("100.64.0.1", False),
        ("224.0.0.1", False),
        ("fe80::1%eth0", False),
        ("::ffff:10.0.0.1", False),
        ("64:ff9b::7f00:1", False),
        ("2002:7f00:1::", False),
        ("::127.0.0.1", False),
    ],
)
def test_which_addresses_are_public(address: str, public: bool) -> None:
    assert fetching.is_public(address) is public


@pytest.mark.parametrize(
    ("url", "private", "asked"),
    [
        ("http://no-such-host.invalid:81/page", False, True),
        ("http://localhost/page", False, False),
        ("http://127.0.0.1/page", False, False),
        ("http://localhost/page", True, True),
    ],
)
async def test_a_proxy_is_asked_for_a_page_by_its_name(
    web: Web,
    connect: Any,
    search: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    url: str,
    private: bool,
    asked: bool,
) -> None:
    monkeypatch.setenv("HTTP_PROXY", web.url)
    web.routes[url] = PAGE  # as the request line has it (RFC 9112, 3.2.2)
    (tmp_path / "found.jsonl").write_text(json.dumps({"url": url, "title": "Page", "snippet": "A snippet."}))
    retriever = connect(provider="static", file=tmp_path / "found.jsonl", robots=False, private=private)
    (passage,), _ = await search(retriever, "page")
    assert passage.text == (TEXT if asked else "A snippet.")
    assert [request.headers["host"] for request in web.requests] == [url.split("/")[2]] * asked


async def test_the_certificate_is_checked_against_the_host_name(
    connect: Any, search: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, tls = certificate(tmp_path, "localhost")
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    with serve({"/page": PAGE}, tls=tls) as site, serve() as web:
        port = site.url.rpartition(":")[2]
        found(web, f"https://localhost:{port}/page", f"https://127.0.0.1:{port}/page")
        passages, (remark,) = await search(connect(provider="searxng", base_url=web.url, robots=False))
    assert [p.text for p in passages] == [TEXT, "A snippet."]
    assert "127.0.0.1" in remark and "certificate" in remark.lower()


# -- robots.txt


@pytest.mark.parametrize(
    ("robots", "allowed"),
    [(plain("\x00 no rules \xff"), True), (Fault(404, ""), True), (Fault(503, ""), False)],
)
async def test_a_site_without_a_readable_robots_txt_is_read_unless_it_fails(
    robots: Fault, allowed: bool, web: Web, connect: Any, search: Any
) -> None:
    web.routes.update({"/robots.txt": robots, "/page": PAGE})
    found(web, "/page")
    passages, remarks = await search(connect())
    assert passages[0].text == (TEXT if allowed else "A snippet.")
    assert [("robots.txt" in remark) for remark in remarks] == [True] * (not allowed)


async def test_the_robots_txt_of_a_site_that_a_page_is_redirected_to_is_respected(
    web: Web, connect: Any, search: Any
) -> None:
    web.routes.update({"/robots.txt": plain("User-agent: *\nDisallow: /closed"), "/closed": PAGE})
    web.routes["/page"] = redirect("/closed")
    found(web, "/page")
    (passage,), (remark,) = await search(connect())
    assert passage.text == "A snippet." and "robots.txt" in remark
    assert web.asked("/closed") == []


async def test_without_protego_a_site_with_a_robots_txt_is_not_read(
    web: Web, connect: Any, search: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "protego", None)
    web.routes.update({"/robots.txt": plain("User-agent: *\nDisallow: /closed"), "/page": PAGE})
    found(web, "/page")
    (passage,), (warning,) = await search(connect())
    assert passage.text == "A snippet." and "reading it needs protego" in warning and install_hint("web") in warning
    assert web.asked("/page") == []


async def test_robots_txt_is_fetched_once_per_site(web: Web, connect: Any, search: Any) -> None:
    web.routes.update({f"/{n}": PAGE for n in range(5)})
    found(web, *(f"/{n}" for n in range(5)))
    retriever = connect()
    await asyncio.gather(search(retriever), search(retriever))
    assert len(web.asked("/robots.txt")) == 1
