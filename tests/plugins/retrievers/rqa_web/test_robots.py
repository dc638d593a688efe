"""robots.txt, by RFC 9309."""

from __future__ import annotations

import time

import pytest

from rqa_web.fetching import UnreadableError, _Robots

ROBOT = "robust-qa"


def allows(text: str, path: str) -> bool:
    try:
        _Robots.parse(200, text).check(f"https://a.example{path}", ROBOT)
    except UnreadableError:
        return False
    return True


@pytest.mark.parametrize(
    ("rules", "path", "allowed"),
    [
        ("Allow: /\nDisallow: /private/", "/private/x", False),
        ("Allow: /\nDisallow: /private/", "/public", True),
        ("Disallow: /\nAllow: /page", "/page/2", True),
        ("Allow: /page\nDisallow: /page", "/page", True),
        ("Disallow: /page\nAllow: /*e", "/page", False),
        ("Disallow: /*?print=", "/page?print=1", False),
        ("Disallow: /*?print=", "/page?id=1", True),
        ("Disallow: /*.pdf$", "/a.pdf", False),
        ("Disallow: /*.pdf$", "/a.pdf?x", True),
        ("Disallow: /$", "/", False),
        ("Disallow: /$", "", False),
        ("Disallow: /$", "/page", True),
        ("Disallow: /a*b*c$", "/a-c-b", True),
        ("Disallow: /a*b*c$", "/a-c-b-c", False),
        ("Disallow: /*bc*cd$", "/bcd", True),
        ("Disallow: /a$b", "/a$b", False),
        ("Disallow: /a%2Ab", "/a*b", False),
        ("Disallow: /a%2Ab", "/axb", True),
        ("Disallow: /caf%C3%A9", "/café", False),
        ("Disallow: /café", "/caf%c3%a9", False),
        ("Disallow: /%7Ejoe", "/~joe/x", False),
        ("Disallow: /a%2fb", "/a%2Fb", False),
        ("Disallow: /a%2fb", "/a/b", True),
        ("Disallow:", "/page", True),
        ("disallow : /page # for all", "/page", False),
    ],
)
def test_the_longest_matching_rule_applies(rules: str, path: str, allowed: bool) -> None:
    assert allows(f"User-agent: *\n{rules}", path) is allowed


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("User-agent: *\nDisallow: /\n\nUser-agent: Robust-QA\nDisallow: /x", True),
        ("User-agent: robust-qa\nSitemap: /s.xml\n\nUser-agent: other\nDisallow: /", False),
        ("User-agent: robust-qa\nDisallow: /x\nUser-agent: other\nDisallow: /", True),
        ("User-agent: robust-qa\nDisallow: /x\n\nUser-agent: robust-qa\nDisallow: /page", False),
        ("User-agent: robust-qa\n\nUser-agent: *\nDisallow: /", False),
        ("User-agent: *\nDisallow: /\nUser-agent: robust-qa", True),
        ("Disallow: /", True),
    ],
)
def test_the_rules_for_robust_qa_override_those_for_all(text: str, allowed: bool) -> None:
    assert allows(text, "/page") is allowed


def test_no_pattern_takes_long() -> None:
    began = time.perf_counter()
    allows("User-agent: *\nDisallow: /" + "*a" * 10_000 + "*b$", "/" + "a" * 50_000)
    assert time.perf_counter() - began < 1


@pytest.mark.parametrize(
    "text",
    [
        "User-agent: *\n" * 8_000 + "Allow: /\n" * 12_000,
        "User-agent: robust-qa\n" * 5_000 + "Disallow: /x\n" * 8_000,
        "User-agent: *\n" + "Allow: /*ab\n" * 40_000,
    ],
)
def test_no_file_takes_long(text: str) -> None:
    began = time.process_time()
    assert allows(text, "/" + "a" * 2000)
    assert time.process_time() - began < 1
