"""`rqa serve` or `rqa mcp` as a process on a free port of loopback."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .process import RQA, endpoint


@dataclass(frozen=True)
class Serving:
    """A running server. `url` ends in /v1, or in /mcp."""

    url: str
    process: subprocess.Popen[str]

    def stop(self) -> int:
        """Send SIGTERM and return the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(20)


def environment(folder: Path, reader: str = "") -> dict[str, str]:
    """Variables of a process with its folders below `folder`. `reader` is the URL of a language model's endpoint."""
    folders = {f"RQA_{name}_DIR": str(folder / name.lower()) for name in ("CONFIG", "DATA", "CACHE")}
    return folders | (endpoint(reader, RETRIES="0") if reader else {})


@contextmanager
def serving(
    folder: Path, *arguments: object, command: Sequence[str] = ("serve",), reader: str = "", **variables: str
) -> Iterator[Serving]:
    """The server that `command` starts."""
    process = subprocess.Popen(
        [*RQA, *command, "--port", "0", *map(str, arguments)],
        env={**os.environ, **environment(folder, reader), **variables},
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr
    try:
        lines: list[str] = []
        for line in process.stderr:
            lines.append(line)
            if found := re.search(r" at (http://\S+/(?:v1|mcp))\.", line):
                yield Serving(found[1], process)
                return
        raise AssertionError(f"the server did not start: {''.join(lines)}")
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
