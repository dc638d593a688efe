"""The toolbox: token vectors, components by name, sampling and order of passages."""

import asyncio
import re
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from robust_qa import Completion, ConfigError, Judgment, Passage
from robust_qa.kit import Prompt
from robust_qa.testing import OverlapEvaluator, ScriptedModel, toolbox
from robust_qa.types import ORDERS, Order


class Encoder:
    """An evaluator with one token vector per word: the length of the word."""

    concurrency = 1

    def score(self, question: str, texts: list[str]) -> list[float]:
        return [0.5 for _ in texts]

    def token_vectors(self, texts: list[str]) -> list[Any]:
        return [[[1.0, 0.0] for _ in text.split()] for text in texts]

    def tokens(self, texts: list[str]) -> list[list[str]]:
        return [text.split() for text in texts if text != "lost"]


async def test_token_vectors_come_from_the_evaluator() -> None:
    tools = toolbox("Who?", evaluator=Encoder())
    assert await tools.token_vectors(["a b", "c"]) == [[[1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0]]]
    assert await tools.tokens(["a b", "c"]) == [["a", "b"], ["c"]]
    assert await tools.token_vectors([]) == []


async def test_claims_are_judged_by_the_evaluator() -> None:
    class Literal(Encoder):
        def judge(self, claim: str, texts: list[str]) -> list[Judgment]:
            return [Judgment(float(claim in text), 0.0) for text in texts]

    tools = toolbox("Who?", evaluator=Literal())
    assert await tools.judge("It is open.", ["It is open. Come!", "It is shut."]) == [(1.0, 0.0), (0.0, 0.0)]
    with pytest.raises(ConfigError, match="judges no claims"):
        await toolbox("Who?", evaluator=Encoder()).judge("It is open.", ["a"])


async def test_an_evaluator_without_them_is_a_configuration_error() -> None:
    with pytest.raises(ConfigError, match=r"evaluator\.test compares no tokens: it has no token_vectors"):
        await toolbox("Who?", evaluator=OverlapEvaluator()).token_vectors(["a"])


async def test_an_evaluator_can_be_asked_by_name() -> None:
    tools = toolbox("Who?", evaluator=OverlapEvaluator(), names={"encoder": Encoder()})
    assert await tools.score("Who?", ["a", "b"], evaluator="encoder") == [0.5, 0.5]
    with pytest.raises(ConfigError, match="'decoder'"):
        await tools.score("Who?", ["a"], evaluator="decoder")


class OnTop:
    """Halves the scores of another evaluator (default: the configured one)."""

    needs = frozenset({"score"})
    concurrency = 1

    def __init__(self, base: str | None = None) -> None:
        self.base = base

    async def score(self, question: str, texts: list[str], toolbox: Any) -> list[float]:
        return [score / 2 for score in await toolbox.score(question, texts, evaluator=self.base)]


@pytest.mark.parametrize("by_name", [True, False])
async def test_an_evaluator_may_use_other_scores_but_not_its_own(by_name: bool) -> None:
    tools = toolbox("Who?", evaluator=OnTop("encoder"), names={"encoder": Encoder(), "top": OnTop()})
    assert await tools.score("Who?", ["a"]) == [0.25]
    assert await tools.score("Who?", ["a"], evaluator="top") == [0.125]
    tools = toolbox("Who?", evaluator=OnTop("other"), names={"other": OnTop("other" if by_name else None)})
    with pytest.raises(ConfigError, match="would judge with its own scores"):
        await asyncio.wait_for(tools.score("Who?", ["a"]), 5)


async def shuffled(question: str, reader_seed: int | None = None, **given: int) -> tuple[str, int | None]:
    """The order of six passages in the prompt, and the sampling seed."""
    model = ScriptedModel("Ada.")
    tools = toolbox(question, reader=model)
    tools._reader().options = SimpleNamespace(seed=reader_seed)  # `toolbox` takes a reader without a table of options
    await tools.generate(
        Prompt("{passages}"), passages=[Passage(f"It was {n}.") for n in range(6)], order="random", **given
    )
    [([message], decoding)] = model.calls
    return "".join(re.findall(r"It was (\d)", message.content)), decoding.seed


@pytest.mark.parametrize("order", ORDERS)
async def test_numbered_matches_the_prompt_in_every_order(order: Order) -> None:
    passages = [*(Passage(f"It was {n}.") for n in range(6)), Passage("I know.", origin="memory")]
    model = ScriptedModel("Documents: 2\nAnswer: it was")
    tools = toolbox("Who?", reader=model)
    await tools.generate(Prompt("{passages}"), passages=passages, order=order, seed=3)
    shown = re.findall(r'number="(\d)">\n(.*)', model.calls[0][0][0].content)
    numbered = tools.numbered(passages, order=order, seed=3)
    assert shown == [(str(n), passage.text) for n, passage in enumerate(numbered, start=1)]
    assert shown[-1][1] == "I know."
    reading = await tools.read("Who?", passages, order=order, seed=3)
    assert [passages[n] for n in reading.passages] == [numbered[1]]


async def test_the_random_order_depends_on_the_question() -> None:
    questions = [*(f"Who was number {n}?" for n in range(20)), "Who was \ud800?"]
    orders = [await shuffled(question) for question in questions]
    assert len(set(orders)) > 15
    assert orders == [await shuffled(question) for question in questions]


async def test_the_random_order_depends_on_the_seed_of_strategy_or_reader() -> None:
    orders = [(await shuffled("Who?", reader_seed=seed))[0] for seed in range(8)]
    assert len(set(orders)) > 5
    assert orders[0] == (await shuffled("Who?"))[0]
    assert orders == [(await shuffled("Who?", reader_seed=3, seed=seed))[0] for seed in range(8)]


async def test_samples_of_one_prompt_share_an_order_and_differ_in_seed() -> None:
    order, _ = await shuffled("Who?", seed=7)
    assert [await shuffled("Who?", seed=7, sample=n) for n in range(3)] == [(order, 7), (order, 8), (order, 9)]
    order, _ = await shuffled("Who?", reader_seed=5)
    found = [await shuffled("Who?", reader_seed=5, sample=n) for n in range(3)]
    assert found == [(order, None), (order, 6), (order, 7)]


async def test_a_reader_that_counts_tokens_tells_its_window_in_a_thread_as_it_may_have_to_load_for_it() -> None:
    asked: list[threading.Thread] = []

    class Engine:
        @property
        def window(self) -> int:
            asked.append(threading.current_thread())
            return 4096

        def count_tokens(self, messages: Any) -> int:
            asked.append(threading.current_thread())
            return 9

        async def generate(self, messages: Any, decoding: Any) -> Completion:
            return Completion("Ada.")

    await toolbox("Who?", reader=Engine()).generate(Prompt("{question}"))
    assert len(asked) >= 2
    assert threading.main_thread() not in asked
