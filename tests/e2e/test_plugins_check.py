"""`rqa plugins check` as a process: components that take too long, block or print."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

RQA = [sys.executable, "-c", "from robust_qa.main import main; main()"]
PLUGIN = """
import asyncio, ctypes, time
from robust_qa import hookimpl

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
    def check(body: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
        (tmp_path / "odd.py").write_text(PLUGIN.format(body=body))
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
    ],
)
def test_a_check_that_takes_too_long_fails_and_the_others_go_on(check: Check, body: str) -> None:
    ended = check(body, "--timeout", "0.2")
    assert ended.returncode == 1
    assert "FAILED  it returns a list of passages: no result within 0.2 seconds" in ended.stdout
    assert ended.stdout.splitlines()[-1].startswith(("ok", "skipped", "FAILED"))
    assert "retriever odd: " in ended.stderr


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ("async def retrieve(self, query, k): time.sleep(600)", "in retrieve"),
        ("def retrieve(self, query, k): ctypes.PyDLL(None).sleep(600)", "in retrieve"),
        ("async def retrieve(self, query, k): await asyncio.to_thread(time.sleep, 600)", "in shutdown"),
        ("def __init__(self): time.sleep(600)\n    def retrieve(self, query, k): return []", "in __init__"),
        ("def retrieve(self, query, k): return []\n    def close(self): time.sleep(600)", "in close"),
    ],
    ids=["loop", "GIL", "to_thread", "build", "close"],
)
def test_a_component_that_blocks_the_process_is_ended_with_the_place(check: Check, body: str, where: str) -> None:
    began = time.monotonic()
    ended = check(body, "--timeout", "0.2")
    assert ended.returncode == 1 and time.monotonic() - began < 20
    assert where in ended.stderr


def test_what_a_plugin_prints_does_not_mix_with_the_findings(check: Check) -> None:
    ended = check("def retrieve(self, query, k): print('noise'); return []")
    assert ended.returncode == 0 and "noise" in ended.stderr
    assert all(line.startswith(("ok", "skipped")) for line in ended.stdout.splitlines())
