"""`rqa plugins check` as a process: components that take too long, block or print."""

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ..standins.process import RQA

PLUGIN = """
import asyncio, time
from dataclasses import dataclass
from pathlib import Path
from robust_qa import IndexReport, Passage, hookimpl

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
        environment = os.environ | {"RQA_PLUGINS": "plugins"}
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=60
        )

    return check


@pytest.mark.parametrize(
    "body",
    [
        "async def retrieve(self, query, k): await asyncio.sleep(600)",
        "def retrieve(self, query, k): time.sleep(600)",
        "def retrieve(self, query, k): raise KeyError('url')",
        "def retrieve(self, query, k): return ['text']",
    ],
)
def test_one_cause_is_one_failure(check: Check, body: str) -> None:
    ended = check(body, "--timeout", "0.2")
    assert ended.returncode == 1
    [failure] = [line for line in ended.stdout.splitlines() if line.startswith("FAILED")]
    assert failure.startswith("FAILED  it returns a list of passages: ")
    assert "retriever odd: 1 failed, 1 passed, " in ended.stderr


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("async def retrieve(self, query, k): time.sleep(600)", "it returns a list of passages"),
        ("async def retrieve(self, query, k): await asyncio.to_thread(time.sleep, 600)", "its tasks and threads end"),
        ("def __init__(self): time.sleep(600)\n    def retrieve(self, query, k): return []", "it can be built"),
        ("def retrieve(self, query, k): return []\n    async def close(self): time.sleep(600)", "`close` ends it"),
    ],
    ids=["loop", "to_thread", "build", "close"],
)
def test_a_component_that_blocks_the_process_is_one_failure_that_says_so(check: Check, body: str, name: str) -> None:
    began = time.monotonic()
    ended = check(body, "--timeout", "0.2")
    assert ended.returncode == 1 and time.monotonic() - began < 20
    assert ended.stdout.splitlines()[-1].startswith(
        f"FAILED  {name}: it blocks and cannot be stopped after 0.2 seconds"
    )
    assert "write a plain `def`" in ended.stdout and "File" not in ended.stderr


FILTERING = """@dataclass
    class Options:
        within: str = ""
        since: str = ""
        index: Path | None = None

    def __init__(self, options): self.options = options

    def retrieve(self, query, k):
        texts = ["Paris."] if not self.options.index else [self._file.read_text()]
        return [Passage(text) for text in texts if not self.options.within {and_since}][:k]

    def index(self, paths, progress=None):
        self.options.index.mkdir(exist_ok=True)
        self._file.write_text(paths[0].read_text())
        return IndexReport(passages=1)

    def fingerprint(self): return {fingerprint}

    @property
    def _file(self): return self.options.index / "text"
"""
AND_SINCE, FINGERPRINT = "and not self.options.since", "self._file.read_text() if self.options.index else ''"


@pytest.mark.parametrize(
    ("and_since", "fingerprint", "failure"),
    [
        (AND_SINCE, FINGERPRINT, None),
        ("", FINGERPRINT, "its filters, if it has any, leave out passages: with the option since = '9999-12-31'"),
        (AND_SINCE, "'1'", "it finds what its index holds now, and its `fingerprint` changes: `fingerprint` stays"),
    ],
)
def test_filters_and_a_changed_store_are_tried(check: Check, and_since: str, fingerprint: str, failure: str) -> None:
    ended = check(FILTERING.format(and_since=and_since, fingerprint=fingerprint))
    failures = [line.removeprefix("FAILED  ") for line in ended.stdout.splitlines() if line.startswith("FAILED")]
    assert ended.returncode == (1 if failure else 0)
    assert len(failures) == bool(failure) and all(each.startswith(failure) for each in failures), failures


def test_what_a_plugin_prints_does_not_mix_with_the_findings(check: Check) -> None:
    ended = check("def retrieve(self, query, k): print('noise'); return []")
    assert ended.returncode == 0 and "noise" in ended.stderr
    assert all(line.startswith(("ok", "skipped")) for line in ended.stdout.splitlines())


PARTS = """
import asyncio
import click
from robust_qa import hookimpl
from rqa_files import read_text, Blocks

def read(file, report):
    def blocks(text, line):
        found = Blocks()
        found.paragraph(text, line)
        return "", found.found
    return read_text(file, blocks)

class Deaf:
    async def run(self, rows, job):
        async for number, row in rows:
            while True:
                try:
                    job.take(await job.answer(number, row))
                    break
                except asyncio.CancelledError:
                    pass

class Kept:
    def add(self, answer, command): pass

@click.command(epilog="Example: rqa say")
def say():
    "Say it."

@hookimpl
def rqa_register(registry):
    registry.format("tide", read="parts:read", suffixes="tide")
    registry.engine("deaf", Deaf)
    registry.recorder("kept", Kept)
    registry.command("say", say)
    registry.metrics("parts:METRICS")
"""


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("tide", "--file", "a.tide"), 0, "ok      it reads the file in a worker process as it does here"),
        (("tide",), 2, "hint: Add `--file PATH`."),
        (("kept",), 0, "ok      `add` keeps an answer and returns None"),
        (("say",), 0, "ok      `rqa say --help` is shown in time"),
        (("deaf", "--timeout", "3"), 1, "FAILED  it stops when it is cancelled: "),
        (("parts",), 2, "It has: recorder 'kept', engine 'deaf', command 'say', format 'tide'."),
        (("tides",), 2, "Did you mean 'tide'?"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_every_kind_is_checked_or_says_what_to_do(
    tmp_path: Path, arguments: tuple[str, ...], code: int, text: str
) -> None:
    (tmp_path / "parts.py").write_text(PARTS)
    (tmp_path / "a.tide").write_text("High water at noon.")
    command = [*RQA, "--plugin", "parts.py", "plugins", "check", *arguments]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert ended.returncode == code and text in ended.stdout + ended.stderr, ended.stdout + ended.stderr


def test_the_check_of_the_history_leaves_the_history_alone(tmp_path: Path) -> None:
    environment = os.environ | {"RQA_DATA_DIR": str(tmp_path / "data")}
    command = [*RQA, "plugins", "check", "history", "--kind", "recorder"]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == 0 and not (tmp_path / "data").exists(), ended.stdout + ended.stderr
