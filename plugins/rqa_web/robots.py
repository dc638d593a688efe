"""What a site's robots.txt closes (RFC 9309)."""

from __future__ import annotations

import re
from urllib.parse import quote, urlsplit

_ESCAPED = re.compile(r"%[0-9A-Fa-f]{2}")
_UNRESERVED = re.compile(r"[A-Za-z0-9._~-]")
_PRINTABLE = "".join(map(chr, range(0x21, 0x7F)))


class Robots:
    """What a site's robots.txt says to one robot."""

    def __init__(self, status: int, text: str, agent: str) -> None:
        """From the reply to a request for it; `agent` is a User-Agent: "robust-qa/0.1.0 (...)" is robust-qa."""
        # 2.3.1.3: without a robots.txt there are no rules; 2.3.1.4: a site that cannot be asked is closed.
        self.known = status == 200 or 400 <= status < 500
        robot = re.split(r"[/\s(]", agent, maxsplit=1)[0].lower()
        self._rules = _rules(text if status == 200 else "", robot)

    def allow(self, url: str) -> bool:
        """Whether the robot may fetch `url`."""
        parts = urlsplit(url)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        path = _normal(path).replace("*", "%2A").replace("$", "%24")
        # 2.2.2: the longest match counts, and of two equal ones the one that allows.
        matching = [(len(pattern), allowed) for pattern, allowed in self._rules if _matches(pattern, path)]
        return self.known and max(matching, default=(0, True))[1]


def _rules(text: str, robot: str) -> list[tuple[str, bool]]:
    """(pattern, whether it allows) of the groups of `robot`, which count as one (2.2.1), or else of those of all."""
    rules: dict[str, list[tuple[str, bool]]] = {}
    group: set[str] = set()  # which of the two it is for
    begun = False  # whether that group has a rule yet
    for line in re.split(r"[\r\n]+", text.removeprefix("\ufeff")):
        key, _, value = (part.strip() for part in line.partition("#")[0].partition(":"))
        if key.lower() == "user-agent":
            group = set() if begun else group
            begun = False
            name = re.split(r"[/\s]", value, maxsplit=1)[0].lower()
            if name in {robot, "*"}:
                group.add(name)
                rules.setdefault(name, [])  # also a group without rules is one
        elif key.lower() in ("allow", "disallow"):
            begun = True
            if value and group:
                rule = _normal(value), key.lower() == "allow"
                for name in group:
                    rules[name].append(rule)
    return rules.get(robot, rules.get("*", []))


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
