"""`crag` as people run it: from the configuration, with the strategy, the search and the judge that it names."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from standins.openai import serve

from robust_qa import Answer, ConfigError, Passage, Question, open_session

QUESTION = "When was the lighthouse at Skerry Point built?"
BUILT = "The lighthouse at Skerry Point was built in 1871."
GOOD = Passage(BUILT, id="good")
BAD = Passage("Ferries run twice a day here.", id="bad")


@pytest.fixture
def results(tmp_path: Path) -> Path:
    file = tmp_path / "results.jsonl"
    text = f"Boats for sale here.\n\n{BUILT}"
    row = {"title": "Skerry Point", "url": "https://a.example/", "text": text}
    file.write_text(json.dumps(row))
    return file


async def ask(*passages: Passage, **tree: Any) -> Answer:
    settings = {"defaults": {"strategy": "crag", "reader": "lexical", "evaluator": "lexical"}} | tree
    async with open_session(settings={"cache": {"enabled": False}} | settings) as session:
        return await session.answer(Question(QUESTION, passages=passages))


async def test_on_a_machine_without_a_model_it_judges_and_reads_by_words() -> None:
    answer = await ask(BAD, GOOD)
    assert (answer.text, answer.strategy, answer.details["dropped"]) == (BUILT, "crag", [1])
    assert (answer.details["upper"], answer.details["lower"]) == (0.33, -0.34)


async def test_the_packaged_model_judges_unless_another_evaluator_is_named() -> None:
    answer = await ask(BAD, GOOD, defaults={"strategy": "crag", "reader": "lexical"})
    assert {step.component for step in answer.trace if step.kind == "score"} == {"evaluator.embedded"}


async def test_what_is_not_there_is_searched_for_and_cited(results: Path) -> None:
    web = {"web": {"provider": "static", "file": str(results)}}
    answer = await ask(BAD, retriever=web, strategy={"crag": {"search": "web@5"}})
    assert (answer.text, answer.citations[0].source) == (BUILT, "https://a.example/")
    assert answer.citations[0].quote == BUILT


async def test_memory_without_a_language_model_is_refused_before_the_first_call() -> None:
    with pytest.raises(ConfigError, match="Strategy 'crag' needs a language model"):
        await ask(
            BAD,
            strategy={"crag": {"without_search": "memory"}},
        )


@pytest.mark.parametrize(
    ("options", "complaint"),
    [({"upper": -0.5}, "`lower` -0.34 above `upper` -0.5"), ({"search": "lexical"}, "no retriever named 'lexical'")],
    ids=str,
)
async def test_what_only_the_evaluator_tells_is_refused_before_the_first_question(
    options: dict[str, Any], complaint: str
) -> None:
    async with open_session(strategy={"plugin": "crag", **options}, evaluator="lexical", reader="lexical") as session:
        with pytest.raises(ConfigError, match=re.escape(complaint)):
            session.choose(has_passages=True)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"then": "ragg"}, "no strategy named 'ragg'"),
        ({"search": "wob@5"}, "no retriever named 'wob'"),
        ({"upper": 0.1, "lower": 0.2}, "`lower` 0.2 above `upper` 0.1"),
        ({"ablation": "without-anything"}, "`strategy.crag.ablation`"),
    ],
    ids=str,
)
async def test_a_wrong_option_is_named(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        await ask(BAD, strategy={"crag": options})
    assert complaint in caught.value.message


async def test_every_paragraph_of_the_five_pages_competes_whatever_k_is(tmp_path: Path) -> None:
    pages = [
        {
            "title": f"Page {n}",
            "url": f"https://{n}.example/",
            "text": f"Boats for sale {n}.\n\nThe lighthouse {n} is old.",
        }
        for n in range(5)
    ]
    file = tmp_path / "results.jsonl"
    file.write_text("\n".join(map(json.dumps, pages)))
    tree = {"retriever": {"web": {"provider": "static", "file": str(file)}}, "strategy": {"crag": {"search": "web@5"}}}
    answer = await ask(
        BAD, **tree | {"defaults": {"strategy": "crag", "reader": "lexical", "evaluator": "lexical", "k": 1}}
    )
    assert len(answer.details["search_strips"]) == 10


async def test_another_reader_writes_the_keywords_and_judges(tmp_path: Path) -> None:
    def reply(body: Any, _: Any) -> str:
        return "yes" if "yes or no" in json.dumps(body) else "Skerry Point, lighthouse"

    with serve(reply) as cheap:
        answer = await ask(
            BAD,
            defaults={"strategy": "crag", "reader": "lexical", "evaluator": "judge"},
            reader={"cheap": {"plugin": "openai", "model": "m", "base_url": cheap.url}},
            evaluator={"judge": {"reader": "cheap"}},
            strategy={"crag": {"search": "none", "rewrite_reader": "cheap", "ablation": "only-incorrect"}},
        )
    assert answer.details["query"] == "Skerry Point, lighthouse"
    assert answer.details["passages"][0]["score"] == 1


async def test_a_search_without_results_is_answered_if_then_always_answers() -> None:
    with serve(lambda body, _: "Documents: none\nAnswer: 1871") as server:
        answer = await ask(
            BAD,
            defaults={"strategy": "crag", "reader": "openai", "evaluator": "lexical"},
            reader={"openai": {"model": "m", "base_url": server.url}},
            strategy={"crag": {"search": "none", "rewrite": "off"}, "rag": {"abstain": False}},
        )
    assert (answer.text, answer.details["action"]) == ("1871", "incorrect")
