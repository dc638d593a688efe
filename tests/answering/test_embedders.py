"""Components that use an embedder: which one they get, and when it is built."""

import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from robust_qa import ConfigError, Question
from robust_qa.answering import indexing
from robust_qa.answering.components import Components
from robust_qa.answering.session import Session
from robust_qa.config.layers import Config
from robust_qa.config.values import Layer
from robust_qa.host.loading import Host

PLUGIN = """
from dataclasses import dataclass, field
from robust_qa import Answer, EmbedderHandle, EmbedderName, IndexReport, MissingError, Passage, hookimpl

LOG = []

class Letters:
    "Counts letters."
    cached = False

    @dataclass
    class Options:
        letters: str = "ab"

    def __init__(self, options):
        self.letters = options.letters
        LOG.append(f"built {self.letters}")

    def fingerprint(self):
        return "1"

    def embed(self, texts):
        LOG.append(list(texts))
        return [[text.count(letter) + 1 for letter in self.letters] for text in texts]

    def close(self):
        LOG.append(f"closed {self.letters}")

class Lacking(Letters):
    def fingerprint(self):
        raise MissingError("There is no model.")

class Near:
    "The text with the nearest vector."

    @dataclass
    class Options:
        index: str = ""
        embedder: EmbedderName = EmbedderName("")
        texts: list[str] = field(default_factory=lambda: ["aaab", "abbb"])
        dense: bool = True

    def __init__(self, options, embedder: EmbedderHandle):
        self.options, self.embedder = options, embedder

    async def index(self, paths, progress):
        if self.options.dense:
            vectors = await self.embedder.embed([path.name for path in paths])
            LOG.append((self.embedder.name, vectors.shape))
        return IndexReport(passages=len(paths))

    async def retrieve(self, query, k):
        if not self.options.dense:
            return [Passage(self.options.texts[0])]
        vectors = await self.embedder.embed([*self.options.texts, query])
        best = (vectors[:-1] @ vectors[-1]).argmax()
        return [Passage(self.options.texts[best], source=self.embedder.name + " " + self.embedder.identity)]

class First:
    "The first passage."
    needs = {"retrieve"}

    async def answer(self, question, toolbox):
        found = await toolbox.retrieve()
        return Answer(found[0].text, details={"source": found[0].source})

class Circle(Letters):
    @dataclass
    class Options:
        embedder: EmbedderName = EmbedderName("")

@hookimpl
def rqa_register(registry):
    registry.embedder("letters", Letters, rank=5)
    registry.embedder("lacking", Lacking, rank=9)
    registry.embedder("circle", Circle)
    registry.retriever("near", Near, rank=5)
    registry.strategy("first", First, rank=5)
"""


@pytest.fixture
def host(tmp_path: Path) -> Host:
    file = tmp_path / "with_vectors.py"
    file.write_text(PLUGIN, "utf-8")
    return Host(only=[], files=[file], strict=True)


@pytest.fixture
def log(host: Host) -> list[Any]:
    calls: list[Any] = sys.modules["rqa_plugin_with_vectors"].LOG
    calls.clear()
    return calls


Ask = Callable[..., Awaitable[tuple[str | None, str]]]


@pytest.fixture
def ask(host: Host) -> Ask:
    async def asked(question: str = "b", **tree: Any) -> tuple[str | None, str]:
        tree.setdefault("retriever", {"near": {}})
        async with Session(Config([Layer("test.toml", {"cache": {"enabled": False}, **tree})]), host) as session:
            answer = await session.answer(Question(question))
        return answer.text, answer.details["source"]

    return asked


async def test_a_retriever_gets_the_installed_embedder_of_highest_rank_that_works(ask: Ask, log: list[Any]) -> None:
    assert (await ask("a"))[0] == "aaab"
    text, source = await ask("b")
    assert text == "abbb" and source.startswith("letters ")
    assert log.count("built ab") == 4 and log.count("closed ab") == 4  # of two sessions, with the one without a model


async def test_an_option_and_the_defaults_name_the_embedder(ask: Ask, log: list[Any]) -> None:
    tables = {"mine": {"plugin": "letters", "letters": "cd"}, "other": {"plugin": "letters", "letters": "ef"}}
    named = await ask(retriever={"near": {"embedder": "mine"}}, embedder=tables, defaults={"embedder": "other"})
    default = await ask(embedder=tables, defaults={"embedder": "other"})
    assert [source.split()[0] for _, source in (named, default)] == ["mine", "other"]
    assert "built ab" not in log


async def test_an_unknown_embedder_is_an_error_at_the_start(host: Host, ask: Ask) -> None:
    with pytest.raises(ConfigError, match=r"test.toml: `retriever.near.embedder`: There is no embedder named 'leters'"):
        await ask(retriever={"near": {"embedder": "leters", "dense": False}})
    with pytest.raises(ConfigError, match="There is no embedder named 'leters'"):
        await ask(defaults={"embedder": "leters"}, retriever={"near": {"dense": False}})


def test_vectors_of_an_index_are_cached(host: Host, log: list[Any], tmp_path: Path) -> None:
    letters = sys.modules["rqa_plugin_with_vectors"].Letters
    letters.cached = True
    for _ in range(2):
        components = Components(Config([Layer("t", {"cache": {"folder": str(tmp_path / "cache")}})]), host)
        indexing.index(components, "near", [Path("aa"), Path("b")])
    assert log.count(["aa", "b"]) == 1
