"""The built-in strategies as the host sees them: loaded as plugins, configured in TOML, run in a session."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from robust_qa import Answer, ConfigError, Question, UnavailableError
from robust_qa.answering.session import Session
from robust_qa.config.layers import Config
from robust_qa.config.values import Layer
from robust_qa.host.loading import Host

PLUGINS = Path(__file__).parents[2] / "plugins"

MODEL = """
from robust_qa import Completion, UnavailableError, hookimpl

class Echo:
    async def generate(self, messages, decoding):
        if "unavailable" in messages[-1].content:
            raise UnavailableError("the provider is down", retry_after=1000)
        return Completion("Documents: 1\\nAnswer: Jane Austen\\n<<<ANSWER>>> Jane Austen <<</ANSWER>>>")

@hookimpl
def rqa_register(registry):
    registry.reader("echo", Echo)
"""


@pytest.fixture
def host(tmp_path: Path) -> Host:
    (tmp_path / "echo.py").write_text(MODEL)
    return Host(only=["norag", "rag", "astute", "activerag"], files=[tmp_path / "echo.py"], strict=True)


async def ask(host: Host, tree: dict[str, Any], question: str = "Who wrote Emma?") -> Answer:
    layer = Layer("rqa.toml", {"defaults": {"reader": "echo"}, "cache": {"enabled": False}} | tree)
    async with Session(Config([layer]), host) as session:
        return await session.answer(Question(question, passages=()))


def test_the_more_robust_a_strategy_the_higher_its_rank(host: Host) -> None:
    assert [r.name for r in host.components("strategy")] == ["astute", "activerag", "rag", "norag"]


def test_each_needs_what_it_calls(host: Host) -> None:
    needs = {r.name: r.factory.needs for r in host.components("strategy")}
    assert needs == {
        "astute": {"retrieve", "generate"},
        "activerag": {"retrieve", "generate"},
        "rag": {"retrieve", "read"},
        "norag": {"generate"},
    }


@pytest.mark.parametrize(
    ("strategy", "option", "value"),
    [
        ("norag", "temperature", -3),
        ("norag", "max_tokens", -5),
        ("norag", "max_tokens", 0),
        ("astute", "temperature", -0.1),
        ("activerag", "temperature", -1),
    ],
)
async def test_a_decoding_that_cannot_be_is_refused(host: Host, strategy: str, option: str, value: float) -> None:
    tree = {"defaults": {"reader": "echo", "strategy": strategy}, "strategy": {strategy: {option: value}}}
    with pytest.raises(ConfigError, match=option):
        await ask(host, tree)


async def test_astute_runs_in_a_session(host: Host) -> None:
    answer = await ask(host, {"strategy": {"astute": {"iterations": 3, "order": "random", "seed": 4}}})
    assert (answer.text, answer.strategy, answer.usage.calls) == ("Jane Austen", "astute", 4)
    assert answer.citations[0].origin == "memory"


async def test_an_error_in_what_is_done_at_once_comes_out_as_itself(host: Host) -> None:
    with pytest.raises(UnavailableError, match="the provider is down"):
        await ask(host, {}, "Are you unavailable?")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"iterations": 0}, "`strategy.astute.iterations`"),
        ({"iteration": 1}, "`iteration`"),
        ({"order": "sideways"}, "`strategy.astute.order`"),
        ({"prompts": {"finalize": "x.txt"}}, "finalise"),
    ],
    ids=["too small", "unknown", "not a choice", "no such prompt"],
)
async def test_a_wrong_option_is_named(host: Host, options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        await ask(host, {"strategy": {"astute": options}})


def test_importing_them_loads_no_engine_and_no_event_loop() -> None:
    modules = "rqa_norag, rqa_rag, rqa_astute, rqa_activerag"
    check = f"import sys, {modules}; print(*{{'asyncio', 'aiohttp', 'httpx'}} & set(sys.modules))"
    path = os.pathsep.join([str(PLUGINS / "strategies"), str(PLUGINS.parent)])
    done = subprocess.run([sys.executable, "-c", check], env={"PYTHONPATH": path}, capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("", "")
