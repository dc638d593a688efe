"""What a site's robots.txt closes (RFC 9309)."""

from __future__ import annotations

import re
from collections import defaultdict
from urllib.parse import quote, urlsplit

_ESCAPED = re.compile(r"%[0-9A-Fa-f]{2}")
_UNRESERVED = re.compile(r"[A-Za-z0-9._~-]")
_PRINTABLE = "".join(map(chr, range(0x21, 0x7F)))


class Robots:
    """The rules of one site, from the reply to a request for its robots.txt."""

    def __init__(self, status: int, text: str) -> None:
        # 2.3.1.3: without a robots.txt there are no rules; 2.3.1.4: a site that cannot be asked is closed.
        self._open = status == 200 or 400 <= status < 500
        self._rules = _rules(text if status == 200 else "")

    def allow(self, agent: str, url: str) -> bool:
        """Whether the robot of that User-Agent may fetch `url`; "robust-qa/0.1.0 (...)" is the robot robust-qa."""
        robot = re.split(r"[/\s(]", agent, maxsplit=1)[0].lower()
        rules = self._rules.get(robot, self._rules.get("*", []))
        parts = urlsplit(url)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        path = _normal(path).replace("*", "%2A").replace("$", "%24")
        # 2.2.2: the longest match counts, and of two equal ones the one that allows.
        matching = [(len(pattern), allowed) for pattern, allowed in rules if _matches(pattern, path)]
        return self._open and max(matching, default=(0, True))[1]


def _rules(text: str) -> dict[str, list[tuple[str, bool]]]:
    """(pattern, whether it allows) by robot, in small letters; groups of the same robot count as one (2.2.1)."""
    rules: defaultdict[str, list[tuple[str, bool]]] = defaultdict(list)
    robots: list[str] = []  # whose group it is
    begun = False  # whether that group has a rule yet
    for line in re.split(r"[\r\n]+", text.removeprefix("\ufeff")):
        key, _, value = (part.strip() for part in line.partition("#")[0].partition(":"))
        if key.lower() == "user-agent":
            robots = [] if begun else robots
            begun = False
            robots.append(re.split(r"[/\s]", value, maxsplit=1)[0].lower())
            rules[robots[-1]]  # also a group without rules is one
        elif key.lower() in ("allow", "disallow"):
            begun = True
            for robot in robots if value else ():
                rules[robot].append((_normal(value), key.lower() == "allow"))
    return dict(rules)


def _normal(path: str) -> str:
    """`path` with everything percent-encoded that is not ASCII, and nothing that needs not be (2.2.2)."""

    def unescaped(match: re.Match[str]) -> str:
        character = chr(int(match[0][1:], 16))
        return character if _UNRESERVED.fullmatch(character) else match[0].upper()

    return _ESCAPED.sub(unescaped, quote(path, safe=_PRINTABLE, errors="replace"))


def _matches(pattern: str, path: str) -> bool:
    """Whether `path` begins as `pattern` says, in which * stands for anything and $ for the end (2.2.3)."""
    whole = pattern.endswith("$")
    first, *others = pattern.removesuffix("$").replace("$", "%24").split("*")
    if not path.startswith(first):
        return False
    if whole and not others:
        return path == first
    at = len(first)
    last = others.pop() if whole else ""
    for part in others:  # each as far left as it goes: in linear time, whatever a site writes
        if (found := path.find(part, at)) < 0:
            return False
        at = found + len(part)
    return path.endswith(last) and len(path) - len(last) >= at
