"""Real servers that speak OpenAI's chat completions, in processes of their own on loopback.

They are looked for in the environment of these tests and in those that SERVER_ENVIRONMENTS names, which is a list of
folders as PATH is one: some servers want other versions of what rqa and its tests use.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx

STARTING_SECONDS, LONGEST_SECONDS = 120, 900


def environment(*modules: str) -> Path | None:
    """The folder of the first environment that has all of `modules`, None where none has."""
    others = filter(None, os.environ.get("SERVER_ENVIRONMENTS", "").split(os.pathsep))
    for prefix in (sys.prefix, *others):
        python = Path(prefix, "bin", "python")
        code = "import sys; from importlib.util import find_spec; sys.exit(not all(map(find_spec, sys.argv[1:])))"
        if python.exists() and subprocess.run([python, "-c", code, *modules], check=False).returncode == 0:
            return Path(prefix)
    return None


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


@contextmanager
def running(
    command: Sequence[object], port: int, log: Path, *, ready: str = "/v1/models", **variables: str
) -> Iterator[str]:
    """The base URL of the server that `command` starts on `port`, once it has the page `ready`; stopped on leaving."""
    root = f"http://127.0.0.1:{port}"
    limit = ["timeout", str(LONGEST_SECONDS)] if shutil.which("timeout") else []  # where the tests are killed
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*limit, *map(str, command)],
            stdout=output,
            stderr=subprocess.STDOUT,
            env=_variables(variables),
            cwd=log.parent,
        )
        try:
            _wait(process, root + ready, log)
            yield f"{root}/v1"
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _variables(further: Mapping[str, str]) -> dict[str, str]:
    """The environment of a server: that of the tests without its proxies, keys and paths of modules."""
    kept = {
        name: value for name, value in os.environ.items() if not name.upper().endswith(("_PROXY", "_KEY", "PYTHONPATH"))
    }
    return {**kept, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", **further}


def _wait(process: subprocess.Popen[bytes], page: str, log: Path) -> None:
    end = time.monotonic() + STARTING_SECONDS
    with httpx.Client(trust_env=False, timeout=2) as client:
        while process.poll() is None and time.monotonic() < end:
            try:
                if client.get(page).status_code == 200:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.1)
    raise AssertionError(f"the server did not start: {log.read_text('utf-8', 'replace')[-3000:]}")
