"""`rqa plugins check` as a process: components that block, and what a plugin does to the process."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

RQA = [sys.executable, "-c", "from robust_qa.main import main; main()"]
PLUGIN = """
import asyncio, ctypes, os, signal, threading, time
from contextlib import suppress
from robust_qa import hookimpl

{top}

class Odd:
    "Does odd things."

    {body}

@hookimpl
def rqa_register(registry):
    registry.retriever("odd", Odd)
"""
Check = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def check(tmp_path: Path) -> Check:
    def check(body: str, *arguments: str, top: str = "") -> "subprocess.CompletedProcess[str]":
        (tmp_path / "odd.py").write_text(PLUGIN.format(body=body, top=top))
        command = [*RQA, "--plugin", "odd.py", "plugins", "check", "odd", *arguments]
        environment = os.environ | {"RQA_PLUGINS": "none"}
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=60
        )

    return check


@pytest.mark.parametrize(
    "body",
    [
        "async def retrieve(self, query, k): await asyncio.sleep(600)",
        "def retrieve(self, query, k): time.sleep(600)",
        "async def retrieve(self, query, k): time.sleep(600)",
        "async def retrieve(self, query, k): await asyncio.to_thread(time.sleep, 600)",
        "async def retrieve(self, query, k):\n        while True:\n"
        "            with suppress(asyncio.CancelledError): await asyncio.sleep(600)",
        "def __init__(self): time.sleep(600)\n    def retrieve(self, query, k): return []",
        "def retrieve(self, query, k): return []\n    def close(self): time.sleep(600)",
    ],
    ids=["async", "thread", "loop", "to_thread", "swallow", "build", "close"],
)
def test_every_check_of_a_component_that_hangs_ends_with_a_verdict(check: Check, body: str) -> None:
    began = time.monotonic()
    ended = check(body, "--timeout", "0.2")
    assert ended.returncode == 1 and time.monotonic() - began < 20
    lines = ended.stdout.splitlines()
    assert any(line.startswith("FAILED") and "0.2 seconds" in line for line in lines)
    assert all(line.startswith(("ok", "FAILED", "skipped")) for line in lines)
    assert ended.stderr.startswith("retriever odd: ") or "def __init__" in body


def test_c_code_that_never_lets_python_run_ends_too(check: Check) -> None:
    ended = check("def retrieve(self, query, k): ctypes.PyDLL(None).sleep(600)", "--timeout", "0.2")
    assert ended.returncode == 1 and "ok      it has a method" in ended.stdout
    assert "odd.py" in ended.stderr and "in retrieve" in ended.stderr


@pytest.mark.parametrize("phase", ["loaded", "built", "called"])
def test_what_a_plugin_does_to_the_process_is_reported(check: Check, phase: str) -> None:
    odd = (
        "os.write(1, b'noise'); (os.path.exists('sub') or os.mkdir('sub') or os.chdir('sub')); "
        "signal.signal(signal.SIGTERM, lambda *_: None)"
    )
    retrieve = "async def retrieve(self, query, k): {}return []"
    if phase == "loaded":
        ended = check(retrieve.format(""), top=odd)
    elif phase == "built":
        ended = check(f"def __init__(self): {odd}\n    {retrieve.format('')}")
    else:
        ended = check(retrieve.format(odd + "; "))
    assert ended.returncode == 1
    found = [line for line in ended.stdout.splitlines() if line.startswith("FAILED")]
    names = ["it writes nothing to file descriptor 1", "it keeps the working directory", "it keeps the signal handlers"]
    assert [line.partition(": ")[0] for line in found] == [f"FAILED  {name}" for name in names]
    assert all(phase in line for line in found) and "'noise" in found[0] and "SIGTERM" in found[2]
    assert "noise" in ended.stderr


def test_a_component_that_keeps_to_itself_passes(check: Check) -> None:
    ended = check("def retrieve(self, query, k): return []")
    assert ended.returncode == 0
    assert "ok      it writes nothing to file descriptor 1" in ended.stdout
