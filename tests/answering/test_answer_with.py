"""One strategy hands passages to another: what it is given, what is checked beforehand, and where it goes wrong."""

from pathlib import Path
from typing import Any

import pytest

from robust_qa import Answer, ConfigError, Passage, Question
from robust_qa.answering.session import Session
from robust_qa.config.layers import Config
from robust_qa.config.values import Layer
from robust_qa.host.loading import Host
from robust_qa.testing import OverlapEvaluator, toolbox

PLUGIN = """
from dataclasses import dataclass

from robust_qa import Answer, Passage, hookimpl

class Hands:
    "Hands its first passage on."
    needs = frozenset({"retrieve"})

    @dataclass
    class Options:
        then: str = "reads"

    def __init__(self, options):
        self.hands_to = (options.then,)

    async def answer(self, question, toolbox):
        return await toolbox.answer_with(self.hands_to[0], (await toolbox.retrieve(question))[:1])

class Reads:
    "Reads what is retrieved."
    needs = frozenset({"retrieve", "read"})

    async def answer(self, question, toolbox):
        reading = await toolbox.read(question, await toolbox.retrieve(question))
        return Answer(reading.text, details={"passages": len(await toolbox.retrieve(k=5))})

class Writes:
    "Writes."
    needs = frozenset({"generate"})

    async def answer(self, question, toolbox):
        return Answer("written")

class First:
    "Reads the first passage."
    def read(self, question, passages):
        from robust_qa import Reading
        return Reading(passages[0].text, 1.0, (0,))

class Last:
    "Reads the last passage, and writes."
    def read(self, question, passages):
        from robust_qa import Reading
        return Reading("the last")
    def generate(self, messages, decoding):
        from robust_qa import Completion
        return Completion("written")

@hookimpl
def rqa_register(registry):
    registry.reader("last", Last)
    registry.strategy("hands", Hands)
    registry.strategy("reads", Reads)
    registry.strategy("writes", Writes)
    registry.reader("first", First)
"""
PASSAGES = tuple(Passage(text, id=text) for text in ("one", "two", "three"))


@pytest.fixture
def host(tmp_path: Path) -> Host:
    (tmp_path / "handing.py").write_text(PLUGIN)
    return Host(only=[], files=[tmp_path / "handing.py"], strict=True)


async def ask(host: Host, then: str, *, reader: str | None = "first") -> Answer:
    tree: dict[str, Any] = {"defaults": {"strategy": "hands"}, "strategy": {"hands": {"then": then}}}
    if reader:
        tree["defaults"]["reader"] = reader
    async with Session(Config([Layer("rqa.toml", tree | {"cache": {"enabled": False}})]), host) as session:
        return await session.answer(Question("Which?", passages=PASSAGES))


async def test_the_second_strategy_retrieves_only_the_passages_handed_on(host: Host) -> None:
    answer = await ask(host, "reads")
    assert (answer.text, answer.details, answer.strategy) == ("one", {"passages": 1}, "hands")


async def test_the_needs_of_the_second_strategy_are_checked_before_the_first_call(host: Host) -> None:
    with pytest.raises(ConfigError, match="Strategy 'hands' needs a reader"):
        await ask(host, "reads", reader=None)
    with pytest.raises(ConfigError, match="Strategy 'hands' needs a language model"):
        await ask(host, "writes")


async def test_an_unknown_second_strategy_is_an_error(host: Host) -> None:
    with pytest.raises(ConfigError, match="no strategy named 'reeds'") as caught:
        await ask(host, "reeds")
    assert "reads" in caught.value.hint


async def test_another_reader_can_be_named(host: Host) -> None:
    answer = await ask(host, "reads:last")
    assert answer.text == "the last"
    assert [step.component for step in answer.trace if step.kind == "read"] == ["reader.last"]


async def test_a_question_can_be_answered_with_a_strategy_and_a_reader(host: Host) -> None:
    layer = Layer("rqa.toml", {"defaults": {"reader": "first"}, "cache": {"enabled": False}})
    async with Session(Config([layer]), host) as session:
        answer = await session.answer(Question("Which?", passages=PASSAGES), strategy="reads:last")
    assert (answer.text, answer.strategy) == ("the last", "reads:last")


async def test_a_circle_is_refused(host: Host) -> None:
    with pytest.raises(ConfigError, match="hands -> hands hand their passages on in a circle"):
        await ask(host, "hands")


class Sure(OverlapEvaluator):
    upper = 0.7
    lower = -1


def test_the_thresholds_of_an_evaluator_are_known_to_a_strategy() -> None:
    tools = toolbox("Which?", evaluator=Sure(), names={"plain": OverlapEvaluator()})
    assert (tools.thresholds(), tools.thresholds("plain")) == ((0.7, -1.0), None)
    with pytest.raises(ConfigError, match="'other'"):
        tools.thresholds("other")
