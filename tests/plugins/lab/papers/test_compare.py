from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from standins.mind import WORLD, question, says

STRATEGIES = """
import asyncio, os, signal
from robust_qa import Answer, hookimpl

class Quick:
    needs = frozenset()

    async def answer(self, question, toolbox):
        return Answer("Gg")

class Stopped:
    needs = frozenset()

    async def answer(self, question, toolbox):
        await asyncio.sleep(0.5)
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(60)

@hookimpl
def rqa_register(registry):
    registry.strategy("quick", Quick)
    registry.strategy("stopped", Stopped)
"""


@pytest.fixture
def compare(rqa: Any, reader: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Compares on the capital of Gondal, of which passages and memory say different things."""

    def run(strategies: str, *options: str, model: Any = WORLD) -> Any:
        Path("passages.txt").write_text(says("Gondal", "Gg"), "utf-8")
        with reader(model):
            return rqa("compare", question("Gondal"), "-s", strategies, "--passages", "passages.txt", *options)

    return run


def test_each_answer_stands_below_the_strategies_that_give_it(compare: Any) -> None:
    out = compare("norag,rag").out
    wrong, right = out.index("norag\nWrong"), out.index("rag\nGg\n\n[1] ")
    assert wrong >= 0 and right >= 0


def test_equal_answers_are_together(compare: Any) -> None:
    out = compare("rag,norag,crag").out
    assert out.startswith("rag, crag\nGg\n")
    assert out.count("“The capital of Gondal is Gg.”") == 1
    assert "\nrag · 1 call · " in out and "\ncrag · " in out  # the cost of each


@pytest.mark.parametrize("chosen", [(), ("-s", "all")])
def test_all_strategies_that_can_run_are_the_default(rqa: Any, chosen: tuple[str, ...]) -> None:
    Path("passages.txt").write_text("The capital of Gondal is Gg.", encoding="utf-8")
    ended = rqa("compare", "What is the capital of Gondal?", "--passages", "passages.txt", *chosen, "-v")
    assert ended.code == 0
    assert "rag" in ended.out.replace(",", "").split()
    assert "norag" not in ended.out  # the offline reader does not write
    assert "This configuration cannot run: " in ended.err and "norag" in ended.err


def test_citations_and_costs_are_below_the_answers(compare: Any) -> None:
    out = compare("rag").out
    assert "[1] passages.txt\n    “The capital of Gondal is Gg.”" in out
    assert "1 call · 7 + 3 tokens" in out


def test_a_strategy_that_fails_says_what_to_do(rqa: Any) -> None:
    Path("passages.txt").write_text("The capital of Gondal is Gg.", encoding="utf-8")
    ended = rqa("compare", "What is the capital of Gondal?", "--passages", "passages.txt", "-s", "rag,norag")
    assert ended.code == 3
    assert "needs a language model" in ended.out  # the offline reader does not write
    assert "create a configuration with `rqa init`." in " ".join(ended.out.split())


def test_ctrl_c_shows_the_strategies_that_have_answered(rqa: Any) -> None:
    Path("strategies.py").write_text(STRATEGIES, encoding="utf-8")
    ended = rqa("--plugin", "strategies.py", "compare", "What is the capital of Gondal?", "-s", "stopped,quick")
    assert ended.code == 130
    assert ended.out.startswith("quick\nGg\n")
    assert "stopped before stopped had answered" in ended.err


def test_text_from_outside_cannot_steer_the_terminal(compare: Any) -> None:
    ended = compare("norag", model=lambda request, number: "red \x1b[31m text")
    assert "red [31m text" in ended.out
    assert "\x1b" not in ended.out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((" ", "-s", "norag"), "The question is empty"),
        (("Q?", "-s", "norag,asstute"), "Did you mean 'astute'?"),
        (("Q?", "-s", "rag", "--passages", "none.txt"), "Cannot read passages from none.txt"),
        (("Q?", "-s", "rag", "--passages", "p.txt", "-r", "bm25"), "Use either"),
    ],
)
def test_invalid_arguments_are_usage_errors(rqa: Any, arguments: Any, complaint: str) -> None:
    ended = rqa("compare", *arguments)
    assert (ended.code, complaint in ended.err) == (2, True)
