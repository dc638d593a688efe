"""Embedders on the command line, and an index that needs one."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Rqa = Callable[..., Any]

PLUGIN = """
import asyncio
from dataclasses import dataclass
from pathlib import Path
from robust_qa import EmbedderName, IndexReport, Passage, hookimpl

class Lengths:
    "Counts letters."

    def embed(self, texts):
        return [[len(text), 1.0] for text in texts]

class Slow:
    "Takes a minute."

    async def embed(self, texts):
        print("embedding", flush=True)
        await asyncio.sleep(60)

class Dense:
    "Searches vectors."

    @dataclass
    class Options:
        index: Path = Path("index")
        embedder: EmbedderName = EmbedderName("")

    def __init__(self, options, embedder):
        self.embedder = embedder

    async def index(self, paths, progress):
        vectors = await self.embedder.embed([str(path) for path in paths])
        return IndexReport(added=len(paths), passages=len(vectors))

    async def retrieve(self, query, k):
        return [Passage(str((await self.embedder.embed([query])).shape))]

@hookimpl
def rqa_register(registry):
    registry.embedder("lengths", Lengths, rank=3)
    registry.embedder("slow", Slow)
    registry.retriever("dense", Dense, rank=3)
"""


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    file = tmp_path / "dense.py"
    file.write_text(PLUGIN, "utf-8")
    return file


def test_plugins_lists_embedders(rqa: Rqa, plugin: Path) -> None:
    listed = json.loads(rqa("--plugin", plugin, "plugins", "--json").out)
    assert {row["name"] for row in listed if row["kind"] == "embedder"} >= {"lengths", "slow", "embedded", "openai"}


def test_the_environment_names_the_default_embedder(rqa: Rqa, plugin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RQA_EMBEDDER", "lenghts")
    ended = rqa("--plugin", plugin, "ask", "-r", "dense", "--reader", "lexical", "Where?")
    assert ended.code == 2
    assert "There is no embedder named 'lenghts'" in ended.err and "Did you mean 'lengths'?" in ended.err


def test_an_index_is_built_with_vectors(rqa: Rqa, plugin: Path) -> None:
    ended = rqa("--plugin", plugin, "index", "-r", "dense", "-O", "retriever.dense.embedder=lengths", plugin, "b.txt")
    assert (ended.code, "dense: 2 passages" in ended.err) == (0, True), ended.err


def test_an_unknown_embedder_stops_an_index_with_the_installed_ones(rqa: Rqa, plugin: Path) -> None:
    ended = rqa("--plugin", plugin, "index", "-r", "dense", "-O", "retriever.dense.embedder=nowhere", "b.txt")
    assert ended.code == 2
    assert "`retriever.dense.embedder`: There is no embedder named 'nowhere'. Installed: " in ended.err


def test_ctrl_c_ends_an_index_that_waits_for_vectors(plugin: Path) -> None:
    command = [sys.executable, "-m", "robust_qa", "--plugin", str(plugin), "index", "-r", "dense"]
    with subprocess.Popen(
        [*command, "-O", "retriever.dense.embedder=slow", "b.txt"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout and process.stdout.readline() == b"embedding\n"
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130 and b"Traceback" not in err, err
    assert time.monotonic() - began < 20


def test_an_unknown_default_embedder_stops_docs_before_they_are_indexed(rqa: Rqa, plugin: Path) -> None:
    options = ("-O", "defaults.embedder=nowhere", "-d", plugin.parent, "--reader", "lexical")
    ended = rqa("--plugin", plugin, "ask", *options, "Where?")
    assert ended.code == 2 and "There is no embedder named 'nowhere'" in ended.err
    assert not Path(os.environ["RQA_CACHE_DIR"], "docs").exists()
