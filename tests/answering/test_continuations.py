"""Texts that a strategy has continued: what the host does for such calls, and which readers can take them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from robust_qa import Answer, ConfigError, Passage, Question
from robust_qa.answering.session import Session
from robust_qa.config.layers import Config
from robust_qa.config.values import Layer
from robust_qa.host.loading import Host

PLUGIN = """
from dataclasses import dataclass
from robust_qa import Answer, Completion, Continuation, Reading, Token, UnavailableError, Usage, hookimpl

CALLS = []

class Raw:
    @dataclass
    class Options:
        gives: str = "fine"
        temperature: float = 0.0

    def __init__(self, options):
        self.options = options

    async def generate(self, messages, decoding):
        return Completion("?")

    async def continue_text(self, prompt, decoding, top):
        CALLS.append((prompt, decoding, top))
        if self.options.gives == "nonsense":
            return Completion("no tokens")
        if self.options.gives == "trouble" and len(CALLS) % 2:
            raise UnavailableError("busy", retry_after=0.01)
        return Continuation("b", (Token("b", -0.5, {"b": -0.5, "c": -1.0}),), Usage(1, 3, 1))

class Chat:
    async def generate(self, messages, decoding):
        return Completion("?")

class Points:
    def read(self, question, passages):
        return Reading(None)

class Continues:
    needs = frozenset({"continue_text"})

    async def answer(self, question, toolbox):
        found = await toolbox.continue_text("a" + question, top=2, max_tokens=7, stop=["x"])
        return Answer(f"{found.text} {found.tokens[0].top['c']}")

class Hands:
    needs = frozenset()
    hands_to = ("continues",)

    async def answer(self, question, toolbox):
        return await toolbox.answer_with("continues", [])

@hookimpl
def rqa_register(registry):
    for kind in (Raw, Chat, Points):
        registry.reader(kind.__name__.lower(), kind)
    registry.strategy("continues", Continues)
    registry.strategy("hands", Hands)
"""

Ask = Callable[..., Awaitable[Answer]]


@pytest.fixture
def calls() -> list[Any]:
    import sys

    return sys.modules["rqa_plugin_raw"].CALLS  # type: ignore[no-any-return]


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    (tmp_path / "raw.py").write_text(PLUGIN)
    host = Host(only=[], files=[tmp_path / "raw.py"], strict=True)

    async def run(reader: str | None = "raw", strategy: str = "continues", **options: Any) -> Answer:
        tree = {"defaults": {"strategy": strategy, **({"reader": reader} if reader else {})}}
        if options and reader:
            tree["reader"] = {reader: options}
        async with Session(Config([Layer("rqa.toml", tree)]), host) as session:
            return await session.answer(Question("?", passages=(Passage("p"),)))

    return run


async def test_the_reader_gets_text_decoding_and_number_of_alternatives(ask: Ask, calls: list[Any]) -> None:
    answer = await ask()
    assert answer.text == "b -1.0"
    ((prompt, decoding, top),) = calls
    assert (prompt, top, decoding.max_tokens, decoding.stop) == ("a?", 2, 7, ("x",))


async def test_a_continuation_is_cached_with_its_probabilities(ask: Ask, calls: list[Any]) -> None:
    answers = [await ask() for _ in range(2)]
    assert len(calls) == 1
    assert [answer.text for answer in answers] == ["b -1.0"] * 2
    assert [answer.usage.cached for answer in answers] == [0, 1]


async def test_a_continuation_is_traced_with_its_text_and_cost(ask: Ask) -> None:
    (step,) = (await ask()).trace
    assert (step.kind, step.component, step.usage.completion_tokens) == ("continue_text", "reader.raw", 1)
    assert (step.data["prompt"], step.data["reply"]) == ("a?", "b")


@pytest.mark.parametrize("strategy", ["continues", "hands"])
@pytest.mark.parametrize("reader", ["chat", "points"])
async def test_a_reader_without_probabilities_is_refused_and_others_are_suggested(
    ask: Ask, reader: str, strategy: str
) -> None:
    with pytest.raises(
        ConfigError, match=rf"'{strategy}' needs .* probabilities .* reader\.{reader} does not"
    ) as raised:
        await ask(reader, strategy)
    assert "token probabilities: raw." in raised.value.hint
