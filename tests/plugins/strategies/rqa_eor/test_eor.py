"""The strategy eor: its pool, its vote, its failures and its number of calls."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from standins.openai import serve

from robust_qa import (
    Answer,
    Completion,
    ConfigError,
    ContextError,
    MissingError,
    Passage,
    Question,
    Reading,
    RefusedError,
    UnavailableError,
)
from robust_qa.answering.session import Session
from robust_qa.config.layers import Config
from robust_qa.config.values import Layer
from robust_qa.host.loading import Host
from robust_qa.testing import OverlapEvaluator, ScriptedModel, StaticRetriever, assert_conforms, toolbox
from rqa_eor import Eor
from rqa_eor.answers import PAPER

QUESTION = "Who wrote Emma?"


class Pointing:
    """An extractive reader that answers with the title of the first passage. The title "?" means no answer."""

    cached = False

    def __init__(self, score: float | None = None) -> None:
        self.calls: list[list[str]] = []
        self.score = score

    async def read(self, question: str, passages: list[Passage]) -> Reading:
        self.calls.append([passage.id for passage in passages])
        title = passages[0].title
        return Reading(None) if title == "?" else Reading(title, self.score, (0,), 0, 1)


def passages(*titles: str) -> tuple[Passage, ...]:
    return tuple(Passage(f"It is {title}.", id=str(n), title=title) for n, title in enumerate(titles, 1))


def ask(
    *titles: str, reader: Any = None, evaluator: Any = None, names: Any = None, **options: Any
) -> tuple[Answer, list[str]]:
    """Ask a question with passages of these titles. Returns the answer and the notes in the trace."""
    brought = passages(*titles) if titles else None
    tools = toolbox(Question(QUESTION, passages=brought), reader=reader or Pointing(), evaluator=evaluator, names=names)
    answer = asyncio.run(Eor(Eor.Options(**options)).answer(QUESTION, tools))
    return answer, [step.what for step in tools.trace.steps if step.kind == "note"]


def answers(answer: Answer) -> dict[str, str | None]:
    return {entry["retriever"]: entry["answer"] for entry in answer.details["retrievers"]}


# -- the pool


def test_a_retriever_without_passages_has_no_vote_to_lose() -> None:
    _, notes = ask("Austen", evaluator=OverlapEvaluator())  # given-last and given-even are empty
    assert "'Austen' has 100% of the vote, by given, given-first, given-odd, given@rr@5" in " ".join(notes)


def test_default_pool_splits_the_given_passages() -> None:
    reader = Pointing()
    answer, notes = ask("Austen", "Brontë", "Austen", "Austen", reader=reader, evaluator=OverlapEvaluator())
    assert answers(answer) == {
        "given": "Austen",
        "given-first": "Austen",
        "given-last": "Austen",
        "given-odd": "Austen",
        "given-even": "Brontë",
        "given@rr@5": "Austen",
    }
    assert answer.text == "Austen"
    assert notes[0] == "none is left out: The reader cannot answer without passages."


def test_equal_passages_are_read_once() -> None:
    reader = Pointing()
    ask("Austen", reader=reader)  # all of one passage is the first half of it, and each odd one; the rest is nothing
    assert reader.calls == [["1"]]


def test_paper_pool_leaves_out_retrievers_that_are_not_configured() -> None:
    web = StaticRetriever(passages("Austen", "Austen"))
    answer, notes = ask(names={"web": web})
    assert set(answers(answer)) == {"web@1@cut1000", "web@4@cut250"}
    assert set(answer.details["left_out"]) == set(PAPER) - {"web@1@cut1000", "web@4@cut250"}
    assert any(note.startswith("wiki@10 is left out: ") for note in notes)
    assert any(note.startswith("pk is left out: ") and "language model" in note for note in notes)


def test_default_pool_splits_the_results_of_the_configured_retriever() -> None:
    retriever = StaticRetriever(passages("Austen", "Brontë"))
    tools = toolbox(QUESTION, retriever=retriever, reader=Pointing())
    answer = asyncio.run(Eor(Eor.Options()).answer(QUESTION, tools))
    assert list(answers(answer)) == ["test@10", "test@5", "test@3"]
    assert retriever.queries == [QUESTION]


@pytest.mark.parametrize("brought", [(), ("Brontë",)])
async def test_retriever_requested_by_name_replaces_the_default_pool(tmp_path: Path, brought: tuple[str, ...]) -> None:
    (tmp_path / "sources.py").write_text(SOURCES)
    host = Host(only=["eor", "lexical"], files=[tmp_path / "sources.py"], strict=True)
    tree = {"defaults": {"strategy": "eor", "retriever": "wiki@7"}}
    question = Question("Who says Austen?", passages=passages(*brought) if brought else None)
    pools = []
    for asked_for in (True, False):
        async with Session(Config([Layer("rqa.toml", tree)]), host, prefer_retriever=asked_for) as session:
            pools.append(set(answers(await session.answer(question))))
    by_default = {"given", "given-first", "given-odd"} if brought else {"web@1@cut1000", "wiki@10"}
    assert pools[0] == {"wiki@7@10", "wiki@7@5", "wiki@7@3", "wiki@7@rr@5"} and by_default <= pools[1]


async def test_given_requested_by_name_is_split() -> None:
    host = Host(only=["eor", "lexical"], strict=True)
    config = Config([Layer("rqa.toml", {"defaults": {"strategy": "eor", "retriever": "given"}})])
    async with Session(config, host, prefer_retriever=True) as session:
        answer = await session.answer(Question("Who is Austen?", passages=passages("Austen")))
    assert set(answers(answer)) >= {"given", "given-first", "given-odd"}


def test_configured_pool_keeps_its_order() -> None:
    names = {"notes": StaticRetriever(passages("Austen")), "mail": StaticRetriever(passages("Brontë"))}
    answer, _ = ask(names=names, pool=["mail@1", "notes@2"])
    assert answers(answer) == {"mail@1": "Brontë", "notes@2": "Austen"}


def test_retriever_of_weight_0_is_not_called() -> None:
    names = {"notes": StaticRetriever(passages("Austen")), "mail": StaticRetriever(passages("Brontë"))}
    answer, _ = ask(names=names, pool=["mail@1", "notes@2"], weights=[0, 0.4])
    assert answers(answer) == {"notes@2": "Austen"}
    assert names["mail"].queries == []


def test_empty_pool_is_an_error_in_one_line() -> None:
    with pytest.raises(MissingError, match=r"No retriever of the pool can be used. wiki@10: .*'wiki'") as caught:
        ask()
    assert "\n" not in caught.value.message and "[strategy.eor]" in caught.value.hint


# -- the similarities


def test_bertscore_without_vectors_is_refused_before_the_first_call() -> None:
    reader, web = Pointing(), StaticRetriever(passages("Austen"))
    with pytest.raises(ConfigError, match=r"evaluator\.test compares no tokens"):
        ask(names={"web": web}, pool=["web@1"], reader=reader, evaluator=OverlapEvaluator(), similarities=["bertscore"])
    assert reader.calls == [] and web.queries == []


async def test_answers_are_compared_by_the_configured_embedder(tmp_path: Path) -> None:
    (tmp_path / "sources.py").write_text(SOURCES)
    embedding = """from robust_qa import MissingError, hookimpl

class Absent:
    def embed(self, texts):
        raise MissingError("There are no vectors.")

@hookimpl
def rqa_register(registry):
    registry.embedder("absent", Absent)
"""
    (tmp_path / "embedding.py").write_text(embedding)
    files = [tmp_path / "sources.py", tmp_path / "embedding.py"]
    tree = {"defaults": {"strategy": "eor"}, "strategy": {"eor": {"similarities": ["cosine"], "embedder": "absent"}}}
    async with Session(
        Config([Layer("rqa.toml", tree)]), Host(only=["eor", "lexical"], files=files, strict=True)
    ) as session:
        with pytest.raises(MissingError, match="There are no vectors"):
            await session.answer(Question("Who says Austen?"))


# -- the vote


def test_majority_wins_and_its_share_is_the_confidence() -> None:
    answer, notes = ask("Jane Austen", "Brontë", "Brontë", "Brontë", "Austen")
    # first, odd and all: Jane Austen; last and even: Brontë.
    assert (answer.text, answer.confidence) == ("Jane Austen", pytest.approx(3 / 5))
    assert [(side.text, side.confidence, side.chosen) for side in answer.conflicts] == [
        ("Jane Austen", pytest.approx(3 / 5), True),
        ("Brontë", pytest.approx(2 / 5), False),
    ]
    assert answer.reason == "Said by given, given-first, given-odd; 'Brontë' by given-last, given-even."
    doubted, _ = ask("Jane Austen", "Brontë", "Brontë", "Brontë", "Austen", reader=Pointing(0.5))
    assert [side.confidence for side in doubted.conflicts] == [pytest.approx(0.3), pytest.approx(0.2)]
    assert notes[-2:] == [
        "'Jane Austen' has 60% of the vote, by given, given-first, given-odd, whose answers are 100% alike",
        "'Brontë' has 40% of the vote, by given-last, given-even, whose answers are 100% alike",
    ]


def test_equivalent_answers_are_no_conflict() -> None:
    answer, _ = ask("Austen", "Miss Austen", similarities=["em"])
    assert answer.confidence == 1 and answer.conflicts == ()
    assert answer.details["groups"][0]["agreement"] == 1


@pytest.mark.parametrize(("one", "other"), [("15 million", "1.5 million"), ("15", "-15")])
def test_numbers_that_differ_in_a_point_or_a_sign_are_a_conflict(one: str, other: str) -> None:
    answer, _ = ask(one, other, pool=["given-first", "given-last"])
    assert [position.text for position in answer.conflicts] == [one, other]


def test_weights_outvote_numbers() -> None:
    # Of three equal and two equal answers: 0.1 * 2 / 4 each against 0.6 * 1 / 4.
    answer, _ = ask(
        "Austen",
        "Brontë",
        "Brontë",
        "Brontë",
        pool=["given", "given-first", "given-odd", "given-last", "given-even"],
        weights=[0.1, 0.1, 0.1, 0.6, 0.6],
    )
    assert answer.text == "Brontë"
    assert answer.confidence == pytest.approx(1.2 / 1.5)


def test_the_sentences_of_the_winners_passages_are_cited() -> None:
    answer, _ = ask("Austen", "Brontë", "Austen")
    assert [(citation.id, citation.quote) for citation in answer.citations] == [
        ("1", "It is Austen."),
        ("3", "It is Austen."),
    ]


def test_a_retriever_without_an_answer_does_not_vote_but_counts_in_the_share() -> None:
    answer, _ = ask("?", "Austen")  # all, first and odd: none; last and even: Austen
    assert answer.text == "Austen" and answer.confidence == pytest.approx(2 / 5)


def test_it_abstains_when_nobody_has_an_answer() -> None:
    answer, _ = ask("?", "?")
    assert answer.text is None and answer.reason == "None of 5 retrievers leads to an answer."
    assert answer.details["answers"] == []


def test_details_hold_all_inputs_of_the_vote() -> None:
    answer, _ = ask("Austen", "Miss Austen", pool=["given-first", "given-last"], weights=[0.4, 0.2], lambdas=[0.5, 0.1])
    assert answer.details == {
        "retrievers": [
            # f1 is 2 * 1 / 3; 0.4 * (0.5 * 1 + 0.1 * 2 / 3) = 0.22667, and 0.2 of that is half.
            {
                "retriever": "given-first",
                "weight": 0.4,
                "answer": "Austen",
                "score": pytest.approx(0.226667, abs=1e-6),
                "passages": [1],
                "error": "",
            },
            {
                "retriever": "given-last",
                "weight": 0.2,
                "answer": "Miss Austen",
                "score": pytest.approx(0.113333, abs=1e-6),
                "passages": [2],
                "error": "",
            },
        ],
        "left_out": {},
        "pooling": "mean",
        "threshold": 0.8,
        "lambdas": {"em": 0.5, "f1": 0.1},
        "groups": [
            {
                "answer": "Austen",
                "retrievers": ["given-first", "given-last"],
                "share": 1,
                "agreement": pytest.approx(0.944444, abs=1e-6),
            }
        ],
        "answers": ["Austen", "Miss Austen"],
        "similarities": {"em": [[1, 1], [1, 1]], "f1": [[1, 0.666666666667], [0.666666666667, 1]]},
        "passages": [
            {"id": "1", "title": "Austen", "text": "It is Austen."},
            {"id": "2", "title": "Miss Austen", "text": "It is Miss Austen."},
        ],
    }


# -- a language model


def test_samples_of_one_retriever_vote_among_themselves_first() -> None:
    """Counted together, Brontë has 3 of 6 votes. Counted by retriever it has 1 of 2, and the first one wins."""
    replies = {"is A.": ["Austen", "Brontë", "Austen"], "is B.": ["Brontë", "Brontë", "Dickens"]}

    def reply(messages: Any, decoding: Any) -> str:
        key = next(key for key in replies if key in messages[-1].content)
        assert decoding.temperature == 0.7
        return replies[key][decoding.seed - 5]

    model = ScriptedModel(reply)
    answer, _ = ask("A", "B", reader=model, pool=["given-first", "given-last"], samples=3, temperature=0.7, seed=5)
    assert answers(answer) == {"given-first": "Austen", "given-last": "Brontë"}
    assert answer.text == "Austen" and len(model.calls) == 6


def test_samples_share_a_prompt_and_differ_in_seed() -> None:
    model = ScriptedModel("Documents: 1\nAnswer: Austen")
    ask(*"ABCDEF", reader=model, pool=["given"], samples=3, seed=4, order="random")
    assert len({messages[-1].content for messages, _ in model.calls}) == 1
    assert [(d.temperature, d.seed) for _, d in model.calls] == [(0.7, 4), (0.7, 5), (0.7, 6)]


@pytest.mark.parametrize(("options", "temperature"), [({}, None), ({"samples": 2, "temperature": 0}, 0)])
def test_default_temperature_applies_only_to_several_samples(
    options: dict[str, Any], temperature: float | None
) -> None:
    model = ScriptedModel("Documents: 1\nAnswer: Austen")
    ask("A", reader=model, pool=["given"], **options)
    assert {decoding.temperature for _, decoding in model.calls} == {temperature}


def test_both_prompts_can_be_replaced(tmp_path: Path) -> None:
    prompts = {name: tmp_path / f"{name}.txt" for name in ("read", "recall")}
    for name, path in prompts.items():
        path.write_text(f"My own {name}: {{question}}")
    model = ScriptedModel("Documents: 1\nAnswer: Austen")
    ask("A", reader=model, pool=["given", "none"], prompts=prompts)
    assert {messages[-1].content for messages, _ in model.calls} == {f"My own {name}: {QUESTION}" for name in prompts}


def test_none_asks_the_model_without_passages() -> None:
    model = ScriptedModel(lambda messages, _: "Austen" if "from memory" in messages[0].content else "UNKNOWN")
    answer, _ = ask("A", reader=model, pool=["given", "none"])
    assert answers(answer) == {"given": None, "none": "Austen"}


@pytest.mark.parametrize("reply", ["I don't know", "UNKNOWN", "Answer: UNKNOWN", "<<<ANSWER>>>unknown<<</ANSWER>>>"])
def test_a_model_that_does_not_know_does_not_vote(reply: str) -> None:
    answer, _ = ask("A", reader=ScriptedModel(reply), pool=["none"])
    assert answer.text is None


@pytest.mark.parametrize("reply", ["Answer: Austen", '{"answer": "Austen"}', "It is early.\n**Final answer:** Austen"])
def test_an_answer_from_memory_is_read_without_its_label(reply: str) -> None:
    answer, _ = ask("A", reader=ScriptedModel(reply), pool=["none"])
    assert answer.text == "Austen"


@pytest.mark.parametrize("abstain", [True, False])
def test_the_model_may_say_that_it_does_not_know_unless_abstain_is_off(abstain: bool) -> None:
    model = ScriptedModel("Austen")
    ask("A", reader=model, pool=["none"], abstain=abstain)
    ((messages, _),) = model.calls
    assert ("UNKNOWN" in messages[-1].content) is abstain


# -- failures


def test_truncated_reply_without_an_answer_is_noted_and_the_others_vote() -> None:
    def reply(messages: Any, decoding: Any) -> str | Completion:
        memory = "from memory" in messages[0].content
        return Completion("<think>Let me see", finish="length") if memory else "Austen"

    answer, notes = ask("A", reader=ScriptedModel(reply), pool=["given", "none"])
    assert answer.text == "Austen"
    assert any(note.startswith("none failed and does not vote: The language model's reply was cut") for note in notes)


class Refusing:
    cached = False

    async def retrieve(self, query: str, k: int) -> list[Passage]:
        raise RefusedError("The key is wrong.")


def test_failed_retriever_is_noted_and_the_others_vote() -> None:
    names = {"web": Refusing(), "wiki": StaticRetriever(passages("Austen"))}
    answer, notes = ask(names=names, pool=["web@4", "wiki@1"])
    assert answer.text == "Austen"
    assert "web@4 failed and does not vote: The key is wrong." in notes
    assert answer.details["retrievers"][0]["error"] == "The key is wrong."


class Narrow:
    """A reader whose provider turns down more than one passage."""

    async def read(self, question: str, passages: list[Passage]) -> Reading:
        if len(passages) > 1:
            raise ContextError("The prompt overflows the window.")
        return Reading(passages[0].title, 0.5, (0,), 0, 1)


def test_context_overflow_is_noted_and_the_others_vote() -> None:
    names = {"long": StaticRetriever(passages("Bronte", "Bronte")), "wiki": StaticRetriever(passages("Austen"))}
    answer, notes = ask(names=names, reader=Narrow(), pool=["long@2", "wiki@1"])
    assert answer.text == "Austen"
    assert "long@2 failed and does not vote: The prompt overflows the window." in notes


def test_failed_call_is_an_error_and_no_abstention() -> None:
    names = {"web": Refusing(), "wiki": StaticRetriever(passages("?"))}
    with pytest.raises(RefusedError, match="The key is wrong"):
        ask(names=names, pool=["web@4", "wiki@1"])


def test_failed_sample_fails_its_retriever_after_all_samples_end() -> None:
    ended: list[int] = []

    class Flaky:
        async def generate(self, messages: Any, decoding: Any) -> Completion:
            if decoding.seed == 0:
                raise RefusedError("The key is wrong.")
            await asyncio.sleep(0.05)
            ended.append(decoding.seed)
            return Completion("Austen")

    with pytest.raises(RefusedError):
        ask("A", reader=Flaky(), pool=["given"], samples=3, temperature=1)
    assert ended == [1, 2]


async def test_cancelling_a_question_cancels_its_readings() -> None:
    started, ended = asyncio.Event(), list[str]()

    class Slow:
        async def read(self, question: str, passages: list[Passage]) -> Reading:
            started.set()
            try:
                await asyncio.sleep(60)
            finally:
                ended.append("read")
            return Reading(None)

    tools = toolbox(Question(QUESTION, passages=passages("A", "B")), reader=Slow())
    asking = asyncio.create_task(Eor(Eor.Options()).answer(QUESTION, tools))
    await started.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert ended


# -- options


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"pool": []}, "needs at least one entry in `pool`"),
        ({"pool": ["given", "given"]}, "has a duplicate entry in `pool`"),
        ({"pool": ["given"], "weights": [0.2, 0.3]}, "has 2 `weights` for 1 `pool`"),
        ({"weights": [0.2, 0.3]}, "set `pool` too"),
        ({"pool": ["given"], "weights": [0]}, "needs at least one of `weights` above 0"),
        ({"similarities": []}, "needs at least one entry in `similarities`"),
        ({"lambdas": [0.2]}, "has 1 `lambdas` for 2 `similarities`"),
        ({"pool": ["given", "nowhere@3"]}, "'nowhere'"),
        ({"pool": ["given @@ 3"]}, r"\^"),
        ({"pooling": "median"}, "`strategy.eor.pooling`"),
        ({"nli_model": "models/nli", "similarities": ["nli"]}, "nli is not a classifier"),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_a_wrong_option_is_named(options: dict[str, Any], complaint: str) -> None:
    host = Host(only=["eor", "lexical"], strict=True)
    tree = {"strategy": {"eor": options}, "defaults": {"strategy": "eor"}, "cache": {"enabled": False}}
    async with Session(Config([Layer("rqa.toml", tree)]), host) as session:
        with pytest.raises((ConfigError, MissingError), match=complaint):
            await session.answer(Question(QUESTION, passages=passages("Austen")))


def test_it_keeps_to_the_contract() -> None:
    assert_conforms("strategy", Eor(Eor.Options()))


# -- over HTTP

SOURCES = """
from robust_qa import Passage, hookimpl

class Source:
    cached = False
    def retrieve(self, query, k):
        return [Passage(f"{type(self).__name__} {n} says Austen.", id=f"{type(self).__name__}-{n}") for n in range(k)]

class Web(Source): "Pages."
class Wiki(Source): "Articles."

class Judge:
    "The longer the better."
    def score(self, question, texts):
        return [-1 / (1 + len(text)) for text in texts]

@hookimpl
def rqa_register(registry):
    registry.retriever("web", Web)
    registry.retriever("wiki", Wiki)
    registry.evaluator("judge", Judge, rank=1)
"""


@pytest.fixture
def over_http(tmp_path: Path) -> Callable[..., tuple[Answer, Any, float]]:
    (tmp_path / "sources.py").write_text(SOURCES)

    def run(script: Any, *, latency: float = 0.0, **options: Any) -> tuple[Answer, Any, float]:
        host = Host(only=["eor", "openai"], files=[tmp_path / "sources.py"], strict=True)

        async def ask(url: str) -> tuple[Answer, float]:
            reader = {"base_url": url, "model": "stand-in", "retries": 0}
            tree = {"strategy": {"eor": options}, "reader": {"openai": reader}, "cache": {"enabled": False}}
            tree["defaults"] = {"strategy": "eor", "reader": "openai"}
            async with Session(Config([Layer("rqa.toml", tree)]), host) as session:
                began = time.monotonic()
                return await session.answer(Question(QUESTION)), time.monotonic() - began

        with serve(script, latency=latency) as server:
            answer, seconds = asyncio.run(ask(server.url))
        return answer, server, seconds

    return run


def prompt_text(body: dict[str, Any]) -> str:
    return "\n".join(message["content"] for message in body["messages"])


def reply(body: dict[str, Any], number: int) -> str:
    prompt = prompt_text(body)
    if '"documents"' in prompt:
        return '{"documents": [1], "answer": "Austen"}'
    if "<document" in prompt:
        return f"Summary {number}: Austen."
    return "Emma was written by Austen." if "background" in prompt else "Austen"


def test_the_papers_pool_takes_24_calls_in_three_rounds(over_http: Any) -> None:
    # 7 compressed readings need their summaries, one of these and two more readings the model's own passage:
    # 1 passage, then 7 summaries, and 16 readings, of which the last waits for a summary of that passage.
    answer, server, seconds = over_http(reply, latency=0.2)
    assert answer.details["left_out"] == {}
    assert [entry["retriever"] for entry in answer.details["retrievers"]] == PAPER
    assert (answer.text, answer.confidence, server.count) == ("Austen", 1, 24)
    assert answer.usage.calls == 24
    assert 0.6 <= seconds < 2.4  # one after another they would take 4.8


def test_sixteen_retrievers_are_read_in_one_round(over_http: Any) -> None:
    pool = [*(f"web@{k}" for k in range(1, 9)), *(f"wiki@{k}" for k in range(1, 8)), "none"]
    answer, server, seconds = over_http(reply, latency=0.2, pool=pool)
    assert (answer.text, server.count, server.peak) == ("Austen", 16, 16)
    assert seconds >= 0.2


def test_readings_of_the_same_passages_share_a_call(over_http: Any) -> None:
    _, server, _ = over_http(reply, pool=["web@4", "web@8@4", "wiki@4"])
    assert server.count == 2


def test_each_reading_sees_its_own_passages_and_memory_sees_none(over_http: Any) -> None:
    _, server, _ = over_http(reply, pool=["web@1", "web@1 & wiki@1", "none"])
    prompts = sorted(
        (prompt_text(request.body) for request in server.requests), key=lambda text: text.count("<document")
    )
    assert [text.count("<document ") for text in prompts] == [0, 1, 2]
    assert "Web 0 says" in prompts[1] and "Wiki 0 says" in prompts[2]
    assert all(QUESTION in text for text in prompts)


@pytest.mark.parametrize("garbage", ["", "{", "null", '{"answer": 7}', "<<<", "\u202e" * 30, "x" * 20_000])
def test_malformed_replies_do_not_fail(over_http: Any, garbage: str) -> None:
    answer, _, _ = over_http(lambda body, number: garbage if number % 2 else "Austen", pool=["web@1", "wiki@1", "none"])
    assert answer.text is None or answer.text.strip()


def test_an_endpoint_that_is_down_fails_the_question(over_http: Any) -> None:
    from standins.openai import Fault

    with pytest.raises(UnavailableError):
        over_http(lambda body, number: Fault(503, {"detail": "down"}))


@pytest.mark.parametrize("abstain", [True, False])
def test_abstaining_can_be_left_out_of_every_prompt(abstain: bool) -> None:
    model = ScriptedModel("Austen")
    ask(names={"web": StaticRetriever(passages("Austen"))}, pool=["web@1", "none"], reader=model, abstain=abstain)
    prompts = ["".join(message.content for message in messages) for messages, _ in model.calls]
    assert len(prompts) == 2
    assert all(("Always give an answer" in prompt) is not abstain for prompt in prompts)
