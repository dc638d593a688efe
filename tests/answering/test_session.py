import asyncio
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from robust_qa import (
    Answer,
    Completion,
    ConfigError,
    InputError,
    MissingError,
    Passage,
    PluginError,
    Question,
    RqaError,
)
from robust_qa.answering.session import Session
from robust_qa.config.layers import Config
from robust_qa.config.values import Layer
from robust_qa.host.loading import Host

PLUGIN = Path(__file__).parents[1] / "standins" / "plugin.py"
SHELF = {"retriever": {"shelf": {"texts": ["alpha beta", "gamma"]}}}


@pytest.fixture
def host() -> Host:
    return Host(only=[], files=[PLUGIN], strict=True)


@pytest.fixture
def log(host: Host) -> list[tuple[str, Any]]:
    calls: list[tuple[str, Any]] = sys.modules["rqa_plugin_plugin"].LOG
    calls.clear()
    return calls


async def ask(host: Host, tree: dict[str, Any], question: str | Question = "Q?", **options: Any) -> Answer:
    config = Config([Layer("test.toml", tree)])
    async with Session(config, host, **options) as session:
        return await session.answer(Question(question) if isinstance(question, str) else question)


async def give_up(host: Host, log: list[Any]) -> None:
    """Ask a question, and cancel it when the reader has begun."""
    run = asyncio.create_task(ask(host, {"reader": {"parrot": {}}}))
    while ("begun", "parrot") not in log:
        await asyncio.sleep(0)
    run.cancel()
    await asyncio.wait({run})


async def test_the_host_fills_in_question_strategy_time_and_trace(host: Host) -> None:
    answer = await ask(host, SHELF)
    assert (answer.text, answer.question, answer.strategy) == ("alpha", "Q?", "reads")
    assert [step.kind for step in answer.trace] == ["retrieve", "read"] and answer.seconds > 0


async def test_the_default_is_the_best_strategy_that_works(host: Host) -> None:
    assert (await ask(host, {**SHELF, "reader": {"parrot": {}}})).strategy == "reads"
    assert (await ask(host, {"reader": {"parrot": {}}})).strategy == "writes"


async def test_a_question_of_more_than_20_000_characters_is_an_input_error(host: Host) -> None:
    async with Session(Config([Layer("t", SHELF)]), host) as session:
        assert (await session.answer(Question("q" * 20_000))).text == "alpha"
        with pytest.raises(InputError, match="has 20,001 characters"):
            await session.answer(Question("q" * 20_001))


async def test_an_empty_setup_raises_an_error_with_a_fix(host: Host) -> None:
    with pytest.raises(MissingError, match="nothing to answer from") as caught:
        await ask(host, {})
    assert "rqa index" in caught.value.hint and "`parrot pull`" in caught.value.hint


async def test_passages_of_the_question_replace_the_retriever(host: Host, log: list[Any]) -> None:
    question = Question("Q?", passages=(Passage("own words"),))
    assert (await ask(host, SHELF, question)).text == "own"
    assert [kind for kind, _ in log] == ["read"]


@pytest.mark.parametrize("retriever", ["given", "given & shelf"])
@pytest.mark.parametrize("strategy", [{"strategy": "reads"}, {}])
@pytest.mark.parametrize("model", [{"reader": {"parrot": {}}}, {}])
async def test_given_means_the_questions_own_passages_only(
    host: Host, retriever: str, strategy: dict[str, str], model: dict[str, Any]
) -> None:
    with pytest.raises(MissingError, match="`given` means the passages that come with a question"):
        await ask(host, {**SHELF, **model, "defaults": {"retriever": retriever, **strategy}})


@pytest.mark.parametrize(("retriever", "k"), [("shelf@3", 3), ("shelf", 10)])
async def test_k_comes_from_the_expression_or_the_default(host: Host, log: list[Any], retriever: str, k: int) -> None:
    await ask(host, {**SHELF, "defaults": {"retriever": retriever}})
    assert log[0] == ("retrieve", ("Q?", k))


async def test_extra_passages_of_a_retriever_are_dropped(host: Host) -> None:
    answer = await ask(host, {**SHELF, "defaults": {"retriever": "shelf@1", "strategy": "judged"}})
    assert answer.text == "alpha beta"


async def test_k_limits_a_questions_own_passages_only_when_it_is_set(host: Host) -> None:
    question = Question("Q?", passages=(Passage("a"), Passage("a much longer one")))
    judged = {"defaults": {"strategy": "judged"}}
    assert (await ask(host, judged, question)).text == "a much longer one"
    assert (await ask(host, {"defaults": {"strategy": "judged", "k": 1}}, question)).text == "a"


async def test_a_strategy_without_a_model_says_how_to_get_one_or_which_to_choose(host: Host) -> None:
    with pytest.raises(MissingError) as caught:
        await ask(host, {**SHELF, "defaults": {"strategy": "writes"}})
    assert "`parrot pull`" in caught.value.hint and "`rqa init`" in caught.value.hint
    configured = {"reader": {"first": {}, "bird": {"plugin": "parrot"}}}
    with pytest.raises(ConfigError) as caught_too:
        await ask(host, {**SHELF, **configured, "defaults": {"strategy": "writes", "reader": "first"}})
    assert "--reader: bird." in caught_too.value.hint


async def test_an_error_in_one_of_several_configured_components_is_raised(host: Host) -> None:
    with pytest.raises(ConfigError, match=r"\[reader\.first\] sets `speed`"):
        await ask(host, {**SHELF, "reader": {"first": {"speed": 2}, "parrot": {}}})


async def test_an_unknown_plugin_names_file_table_and_a_suggestion(host: Host) -> None:
    with pytest.raises(ConfigError, match=r"test\.toml: \[reader\.mine\] .*'parot'") as caught:
        await ask(host, {"reader": {"mine": {"plugin": "parot"}}})
    assert "'parrot'" in caught.value.hint


async def test_the_same_plugin_serves_under_two_names(host: Host) -> None:
    readers = {"a": {"plugin": "parrot", "reply": "A"}, "b": {"plugin": "parrot", "reply": "B"}}
    assert (await ask(host, {"reader": readers, "defaults": {"reader": "b"}})).text == "B"


async def test_limits_are_the_hosts_and_no_option_of_the_plugin(host: Host) -> None:
    tree = {"reader": {"parrot": {"concurrency": 2, "rpm": 600, "timeout": 5, "retries": 0}}}
    assert (await ask(host, tree)).text is not None
    with pytest.raises(ConfigError, match=r"`reader\.parrot\.concurrency` must be a whole number"):
        await ask(host, {"reader": {"parrot": {"concurrency": "two"}}})


async def test_the_most_telling_of_concurrent_errors_is_raised(host: Host) -> None:
    tree = {"reader": {"parrot": {}}, "defaults": {"strategy": "fails"}}
    with pytest.raises(MissingError, match="gone"):
        await ask(host, tree)
    with pytest.raises(PluginError, match="Strategy 'fails' failed with KeyError"):
        await ask(host, tree, "bug")


@pytest.mark.parametrize(
    ("options", "calls"),
    [({"temperature": 0.7}, 2), ({"temperature": 0.7, "seed": 1}, 1), ({"temperature": 0.0}, 1)],
)
async def test_a_sampled_reply_is_cached_only_with_its_seed(
    host: Host, log: list[Any], options: dict[str, Any], calls: int
) -> None:
    for _ in range(2):
        await ask(host, {"reader": {"parrot": options}})
    assert sum(kind == "generate" for kind, _ in log) == calls


async def test_an_edited_plugin_file_does_not_use_old_cached_calls(tmp_path: Path) -> None:
    source, tree = PLUGIN.read_text(), {"reader": {"parrot": {}}}
    counts = []
    for content in (source, source, f"{source}# edited\n"):
        (tmp_path / "edited.py").write_text(content)
        answer = await ask(Host(only=[], files=[tmp_path / "edited.py"], strict=True), tree)
        counts.append(answer.usage.cached)
    assert counts == [0, 1, 0]


async def test_all_built_components_and_strategies_are_closed(
    host: Host, log: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    plugin = sys.modules["rqa_plugin_plugin"]
    monkeypatch.setattr(plugin.Shelf, "close", lambda self: log.append(("close", "shelf")), raising=False)
    monkeypatch.setattr(plugin.Writes, "close", lambda self: log.append(("close", "writes")), raising=False)
    await ask(host, {"reader": {"parrot": {}}})
    assert sorted(name for kind, name in log if kind == "close") == ["parrot", "shelf", "writes"]


@pytest.mark.parametrize("error", [KeyError("handle"), asyncio.CancelledError("handle"), BaseException("handle")])
async def test_a_component_that_fails_to_close_leaves_the_others_closed_and_cached_calls_kept(
    host: Host, log: list[Any], monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def close(self: Any) -> None:
        raise error

    monkeypatch.setattr(sys.modules["rqa_plugin_plugin"].Shelf, "close", close, raising=False)
    tree = {**SHELF, "reader": {"parrot": {}}}
    session = Session(Config([Layer("test.toml", tree)]), host)
    async with session:
        assert (await session.answer(Question("Who?"))).text
    assert session.trouble == f"retriever.shelf cannot be closed: {type(error).__name__}: {error}."
    assert log[-1] == ("close", "parrot")
    monkeypatch.undo()
    assert (await ask(host, tree, "Who?")).usage.cached == 1


async def test_a_session_that_has_ended_says_so(host: Host) -> None:
    async with Session(Config([Layer("test.toml", SHELF)]), host) as session:
        await session.answer(Question("Who?"))
    with pytest.raises(RqaError, match="This session has ended"):
        await session.answer(Question("Where?"))
    with pytest.raises(RqaError, match="This session has ended"):
        await session.__aenter__()


async def sleeping(self: Any) -> None:
    await asyncio.sleep(60)


@pytest.mark.parametrize("close", [sleeping, lambda self: time.sleep(5)])
async def test_a_component_that_does_not_close_in_time_is_abandoned(
    host: Host, monkeypatch: pytest.MonkeyPatch, close: Any
) -> None:
    monkeypatch.setattr("robust_qa.calls.contract._CLOSING", 0.01)  # users cannot set it, and 30 s are long for a test
    monkeypatch.setattr(sys.modules["rqa_plugin_plugin"].Parrot, "close", close)
    session = Session(Config([Layer("test.toml", {"reader": {"parrot": {}}})]), host)
    async with session:
        await session.answer(Question("Q?"))
    assert session.trouble == "reader.parrot did not close within 0.01 s, so rqa went on without it."


async def test_cancelled_calls_end_before_the_component_is_closed(
    host: Host, log: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def generate(*_: Any) -> Completion:
        log.append(("begun", "parrot"))
        try:
            await asyncio.sleep(60)
        finally:
            for _ in range(9):  # to hang up, say
                await asyncio.sleep(0)
            log.append(("ended", "parrot"))
        raise AssertionError("unreachable")

    monkeypatch.setattr(sys.modules["rqa_plugin_plugin"].Parrot, "generate", generate)
    await give_up(host, log)
    assert log == [("begun", "parrot"), ("ended", "parrot"), ("close", "parrot")]


async def test_a_component_with_unfinished_calls_is_not_closed(
    host: Host, log: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    go = asyncio.Event()

    async def generate(*_: Any) -> Completion:
        log.append(("begun", "parrot"))
        try:
            await asyncio.sleep(60)
        finally:
            await go.wait()
        raise AssertionError("unreachable")

    monkeypatch.setattr("robust_qa.calls.pipeline._ENDING", 0.01)  # users cannot set it, and 5 s are long for a test
    monkeypatch.setattr(sys.modules["rqa_plugin_plugin"].Parrot, "generate", generate)
    await give_up(host, log)
    go.set()
    assert log == [("begun", "parrot")]


@pytest.mark.parametrize("method", ["generate", "score_many", "count_tokens"])
async def test_a_component_with_a_running_thread_is_not_closed(
    host: Host, log: list[Any], monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    begun, go = threading.Event(), threading.Event()

    def work(*_: Any) -> Any:
        begun.set()
        go.wait(60)

    plugin = sys.modules["rqa_plugin_plugin"]
    owner, other = (plugin.Length, plugin.Parrot) if method == "score_many" else (plugin.Parrot, plugin.Length)
    monkeypatch.setattr(owner, method, work, raising=False)
    monkeypatch.setattr(owner, "close", lambda _: log.append(("close", "busy")), raising=False)
    monkeypatch.setattr(other, "close", lambda _: log.append(("close", "idle")), raising=False)
    names = {"strategy": "judged" if method == "score_many" else "reads", "evaluator": "length", "reader": "parrot"}
    tree = {**SHELF, "reader": {"parrot": {"window": 4096}}, "defaults": {**names, "retriever": "shelf@rr"}}
    run = asyncio.create_task(ask(host, tree))
    try:
        while not begun.is_set():
            await asyncio.sleep(0.001)
        run.cancel()
        await asyncio.wait({run})
        assert ("close", "busy") not in log
    finally:
        go.set()


async def test_a_generative_reader_reads_with_the_hosts_prompt(host: Host, log: list[Any]) -> None:
    answer = await ask(host, {**SHELF, "reader": {"parrot": {}}})
    messages, decoding = log[-2][1]
    assert answer.text == "yes" and decoding.max_tokens == 50
    assert '<document number="1">\nalpha beta\n</document>' in messages[1].content


async def test_passages_that_overflow_the_window_are_cut_and_the_trace_says_so(host: Host) -> None:
    tree = {
        "retriever": {"shelf": {"texts": ["Short one.", "Word " * 2000]}},
        "reader": {"parrot": {"window": 700}},
    }
    answer = await ask(host, tree)
    notes = [step for step in answer.trace if step.kind == "note"]
    assert notes[0].data == {"dropped": [], "shortened": [2]}


async def nothing(*_: Any) -> None:
    return None


async def cancelled(*_: Any) -> Answer:
    raise asyncio.CancelledError


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("answer", nothing, "returned None, not an Answer"),
        ("answer", cancelled, "Strategy 'reads' let a cancellation of its own escape"),
        ("answer", lambda *_: Answer("x"), r"`answer` of strategy 'reads' is a plain `def`\. Write `async def`"),
        ("needs", {"retrive", "read"}, r"Strategy 'reads' needs 'retrive'\. It can need continue_text, "),
    ],
)
async def test_a_strategy_that_breaks_its_contract_is_named(
    host: Host, monkeypatch: pytest.MonkeyPatch, name: str, value: Any, message: str
) -> None:
    monkeypatch.setattr(sys.modules["rqa_plugin_plugin"].Reads, name, value)
    with pytest.raises(PluginError, match=message):
        await ask(host, {**SHELF, "defaults": {"strategy": "reads"}})


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ({"retrieve": None}, "Retriever 'shelf' lacks the method `retrieve`"),
        ({"concurrency": "many"}, "Retriever 'shelf' has 'many' as `concurrency`, not a whole number of 1 or more"),
        ({"max_age": "1h"}, "Retriever 'shelf' has '1h' as `max_age`, not a number of 0 or more"),
        ({"needs": {"genrate"}}, "Retriever 'shelf' needs 'genrate'. It can need"),
        ({"needs": None}, "Retriever 'shelf' has None as `needs`, not a set"),
    ],
)
async def test_an_incomplete_component_is_named(
    host: Host, monkeypatch: pytest.MonkeyPatch, fault: dict[str, Any], told: str
) -> None:
    for name, value in fault.items():
        monkeypatch.setattr(sys.modules["rqa_plugin_plugin"].Shelf, name, value, raising=False)
    with pytest.raises(PluginError, match=told):
        await ask(host, SHELF)


async def test_a_strategy_without_its_evaluator_is_an_error(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "components", lambda kind=None: [])
    with pytest.raises(ConfigError, match="Strategy 'judged' needs an evaluator, and none is configured"):
        await ask(host, {**SHELF, "defaults": {"strategy": "judged", "reader": "first", "retriever": "shelf"}})


# -- for commands that ask several strategies


async def test_an_evaluator_is_built_only_if_it_may_be_used(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    def build(_: Any) -> None:
        raise MissingError("Its model is not there.")

    monkeypatch.setattr(sys.modules["rqa_plugin_plugin"].Length, "__init__", build)
    tree = {**SHELF, "defaults": {"evaluator": "length"}}
    assert (await ask(host, tree)).text == "alpha"
    for judged in ({"strategy": "judged"}, {"retriever": "shelf@rr"}):
        with pytest.raises(MissingError, match="Its model is not there"):
            await ask(host, {**tree, "defaults": {**tree["defaults"], **judged}})


async def test_a_strategy_can_be_asked_by_name(host: Host) -> None:
    async with Session(Config([Layer("test.toml", SHELF)]), host) as session:
        answers = [await session.answer(Question("Q?"), strategy=name) for name in ("judged", "reads", None)]
    assert [(answer.strategy, answer.text) for answer in answers] == [
        ("judged", "alpha beta"),
        ("reads", "alpha"),
        ("reads", "alpha"),
    ]


@pytest.mark.parametrize(
    ("prices", "cost"),
    [
        ({}, None),
        ({"prompt_price": 2.0, "completion_price": 4.0}, 7 * 2e-6 + 3 * 4e-6),
        ({"completion_price": 4.0}, 3 * 4e-6),
    ],
)
async def test_cost_applies_the_readers_prices(host: Host, prices: dict[str, float], cost: float | None) -> None:
    tree = {"reader": {"parrot": prices}}
    async with Session(Config([Layer("test.toml", tree)]), host) as session:
        answer = await session.answer(Question("Q?"))
        assert session.cost(answer.trace) == (cost and pytest.approx(cost))


async def test_cost_applies_the_prices_of_each_reader(host: Host) -> None:
    readers = {"parrot": {"prompt_price": 1.0}, "dear": {"plugin": "parrot", "prompt_price": 100.0}}
    tree = {"defaults": {"reader": "parrot"}, "reader": readers}
    async with Session(Config([Layer("test.toml", tree)]), host) as session:
        cheap, dear = [await session.answer(Question("Q?"), strategy=name) for name in ("writes", "writes:dear")]
        assert session.cost([*cheap.trace, *dear.trace]) == pytest.approx(7 * 1e-6 + 7 * 100e-6)


CITING = """
from dataclasses import dataclass
from robust_qa import Answer, Citation, Position, hookimpl
from robust_qa.kit import cite

class Citing:
    needs = frozenset({{"retrieve"}})

    async def answer(self, question, toolbox):
        passages = await toolbox.retrieve()
        made_up = Citation("Alpha won.", source="press.html", id="press")
        return {answer}

@hookimpl
def rqa_register(registry):
    registry.strategy("citing", Citing)
"""


@pytest.mark.parametrize(
    "answer",
    [
        'Answer("alpha", citations=(made_up,))',
        'Answer("alpha", conflicts=(Position("alpha", citations=(cite(passages[0]), made_up)),))',
        'Answer(None, closest=(made_up,), reason="No.")',
        'Answer("alpha", citations=(Citation("Alpha won.", id=passages[0].id, source=passages[0].source),))',
    ],
)
async def test_a_citation_of_what_was_not_retrieved_is_a_fault_of_the_plugin(tmp_path: Path, answer: str) -> None:
    (tmp_path / "citing.py").write_text(CITING.format(answer=answer))
    host = Host(only=[], files=[PLUGIN, tmp_path / "citing.py"], strict=True)
    with pytest.raises(PluginError, match=r"Strategy 'citing' returned a citation of .* in no passage it got") as error:
        await ask(host, {**SHELF, "defaults": {"strategy": "citing"}})
    assert "rqa plugins check citing" in error.value.hint


@pytest.mark.parametrize(
    "cited",
    [
        "cite(passages[0])",
        'Citation("It was alpha.", id="memory-1", origin="memory")',
        '*(cite(each) for each in await toolbox.pool(["shelf@1@chunk1"]).retrieve("shelf@1@chunk1"))',
    ],
)
async def test_passages_that_were_retrieved_and_memory_may_be_cited(tmp_path: Path, cited: str) -> None:
    (tmp_path / "citing.py").write_text(CITING.format(answer=f'Answer("alpha", citations=({cited},))'))
    host = Host(only=[], files=[PLUGIN, tmp_path / "citing.py"], strict=True)
    assert (await ask(host, {**SHELF, "defaults": {"strategy": "citing"}})).citations
