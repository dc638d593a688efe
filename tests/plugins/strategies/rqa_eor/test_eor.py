"""The strategy eor: its pool, its vote, its failures and its number of calls."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from standins.openai import serve

import robust_qa
from robust_qa import (
    Answer,
    ConfigError,
    MissingError,
    Passage,
    Question,
    Reading,
    RefusedError,
    open_session,
)
from robust_qa.testing import OverlapEvaluator, ScriptedModel, StaticRetriever, toolbox
from rqa_eor import Eor

QUESTION = "Who wrote Emma?"
# Appendix C.1: `web` is the search engine, `wiki` is Wikipedia, `pk` is what the model writes from memory.
UNCOMPRESSED = [
    "wiki@10",
    "web@1@cut1000",
    "web@4@cut250",
    "web@chunk100@rr@10",
    "web@2@cut250 & wiki@5",
    "web@chunk100@rr@5 & wiki@5",
    "((web & pk)@chunk100 & wiki@20)@rr@10",
]
PAPER = [*UNCOMPRESSED, "pk", *(f"{expression} @cp" for expression in UNCOMPRESSED), "none"]


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


@pytest.mark.parametrize("brought", [None, passages("Brontë")])
@pytest.mark.parametrize("retriever", ["wiki@7", None])
async def test_retriever_requested_by_name_replaces_the_default_pool(
    sources: Path, brought: Any, retriever: str | None
) -> None:
    by_default = {"given", "given-first", "given-odd"} if brought else {"web@1@cut1000", "wiki@10"}
    how = {"reader": "lexical", "evaluator": "longest", "settings": NAMED, "plugins": sources}
    async with open_session(strategy="eor", retriever=retriever, **how) as session:
        pool = set(answers(await session.answer(Question("Who says Austen?", passages=brought))))
    assert pool >= ({"wiki@7@10", "wiki@7@5", "wiki@7@3", "wiki@7@rr@5"} if retriever else by_default)


def test_configured_pool_keeps_its_order() -> None:
    names = {"notes": StaticRetriever(passages("Austen")), "mail": StaticRetriever(passages("Brontë"))}
    answer, _ = ask(names=names, pool=["mail@1", "notes@2"])
    assert answers(answer) == {"mail@1": "Brontë", "notes@2": "Austen"}


def test_empty_pool_is_an_error_in_one_line() -> None:
    with pytest.raises(MissingError, match=r"No retriever of the pool can be used. wiki@10: .*'wiki'") as caught:
        ask()
    assert "\n" not in caught.value.message and "[strategy.eor]" in caught.value.hint


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


def test_a_retriever_without_an_answer_does_not_vote_but_counts_in_the_share() -> None:
    answer, _ = ask("?", "Austen")  # all, first and odd: none; last and even: Austen
    assert answer.text == "Austen" and answer.confidence == pytest.approx(2 / 5)


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


def test_none_asks_the_model_without_passages() -> None:
    model = ScriptedModel(lambda messages, _: "Austen" if "from memory" in messages[0].content else "UNKNOWN")
    answer, _ = ask("A", reader=model, pool=["given", "none"])
    assert answers(answer) == {"given": None, "none": "Austen"}


# -- failures


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


def test_failed_call_is_an_error_and_no_abstention() -> None:
    names = {"web": Refusing(), "wiki": StaticRetriever(passages("?"))}
    with pytest.raises(RefusedError, match="The key is wrong"):
        ask(names=names, pool=["web@4", "wiki@1"])


# -- options


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"pool": []}, "needs at least one entry in `pool`"),
        ({"pool": ["given", "given"]}, "has a duplicate entry in `pool`"),
        ({"pool": ["given"], "weights": [0.2, 0.3]}, "has 2 `weights` for 1 `pool`"),
        ({"pool": ["given"], "weights": [0]}, "needs at least one of `weights` above 0"),
        ({"lambdas": [0.2]}, "has 1 `lambdas` for 2 `similarities`"),
        ({"pool": ["given", "nowhere@3"]}, "'nowhere'"),
        ({"nli_model": "models/nli", "similarities": ["nli"]}, "nli is not a classifier"),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_a_wrong_option_is_named(options: dict[str, Any], complaint: str) -> None:
    async with open_session(strategy={"plugin": "eor", **options}, reader="lexical") as session:
        with pytest.raises((ConfigError, MissingError), match=complaint):
            await session.answer(Question(QUESTION, passages=passages("Austen")))


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
    registry.retriever("pages", Web)
    registry.retriever("articles", Wiki)
    registry.evaluator("longest", Judge)
"""


NAMED = {"retriever": {"web": {"plugin": "pages"}, "wiki": {"plugin": "articles"}}}


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    file = tmp_path / "sources.py"
    file.write_text(SOURCES)
    return file


@pytest.fixture
def over_http(sources: Path) -> Callable[..., tuple[Answer, Any]]:
    def run(script: Any, *, latency: float = 0.0, **options: Any) -> tuple[Answer, Any]:
        with serve(script, latency=latency) as server:
            answer = robust_qa.ask(
                QUESTION,
                strategy={"plugin": "eor", **options},
                reader={"plugin": "openai", "base_url": server.url, "model": "stand-in", "retries": 0},
                evaluator="longest",
                settings=NAMED | {"cache": {"enabled": False}},
                plugins=sources,
            )
        return answer, server

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
    answer, server = over_http(reply, latency=0.2)
    assert answer.details["left_out"] == {}
    assert [entry["retriever"] for entry in answer.details["retrievers"]] == PAPER
    assert (answer.text, answer.confidence, server.count) == ("Austen", 1, 24)
    assert answer.usage.calls == 24
    assert 0.6 <= answer.seconds < 2.4  # one after another they would take 4.8
