"""What a site's robots.txt closes (RFC 9309)."""

from __future__ import annotations

import re
from urllib.robotparser import RobotFileParser


class Robots:
    """The rules of one site, from the reply to a request for its robots.txt."""

    def __init__(self, status: int, text: str) -> None:
        self._parser: RobotFileParser | None = None
        # 2.3.1.3: without a robots.txt there are no rules; 2.3.1.4: a site that cannot be asked is closed.
        self._open = 400 <= status < 500
        if status == 200:
            self._parser = RobotFileParser()
            self._parser.parse(text.splitlines())

    def allow(self, agent: str, url: str) -> bool:
        """Whether the robot of that User-Agent may fetch `url`; "robust-qa/0.1.0 (...)" is the robot robust-qa."""
        if self._parser is None:
            return self._open
        return self._parser.can_fetch(re.split(r"[/\s(]", agent, maxsplit=1)[0], url)
