"""`rqa check`: the verdict of each sentence of an answer, its quote, files of answers, and the exit code."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from standins.openai import serve

from robust_qa import ConfigError, InputError, Passage
from robust_qa.testing import OverlapEvaluator, toolbox
from rqa_check import check_answer
from rqa_embedded import EmbeddedEvaluator

FERRY = "The ferry to Skerry Point was built in 1871 by the engineer Ada Quill. It sails on Mondays."
EMBEDDED = EmbeddedEvaluator(EmbeddedEvaluator.Options(threads=1))


@pytest.fixture
def check(rqa: Any) -> Callable[..., Any]:
    """Runs `rqa check` in a folder with the document ferry.md."""
    Path("ferry.md").write_text(FERRY)
    return lambda *arguments, stdin="": rqa("check", *arguments, stdin=stdin)


async def verdicts(answer: str, *passages: str) -> list[str]:
    checked = await check_answer(answer, toolbox("", evaluator=EMBEDDED), [Passage(each) for each in passages])
    return [each.verdict for each in checked]


# -- verdicts without a language model


@pytest.mark.parametrize(
    ("sentence", "verdict"),
    [
        ("The ferry to Skerry Point was built in 1871.", "supported"),
        ("The ferry to Skerry Point was built in 1817.", "contradicted"),
        ("The ferry to Skerry Point was not built in 1871.", "contradicted"),
        ("The museum keeps 300 model boats in its cellar.", "not decided"),
    ],
)
async def test_a_sentence_gets_the_verdict_of_the_text_that_decides(sentence: str, verdict: str) -> None:
    assert await verdicts(sentence, FERRY) == [verdict]


@pytest.mark.parametrize(
    ("claim", "sentence", "verdict"),
    [
        ("The pool is open.", "The pool is closed.", "contradicted"),
        ("Charcoal grills are allowed on balconies.", "Charcoal grills are forbidden on balconies.", "contradicted"),
        ("Dogs may not enter the garden.", "Dogs are not allowed in the garden.", "supported"),
        ("The sauna is open.", "The pool is closed.", "not decided"),
    ],
)
async def test_what_words_mean_decides_and_not_that_they_are_shared(claim: str, sentence: str, verdict: str) -> None:
    assert await verdicts(claim, sentence) == [verdict]


@pytest.mark.parametrize(
    ("text", "claim", "verdict"),
    [
        ("The shop sells lamps for €40.", "The shop sells lamps for 40 EUR.", "supported"),
        ("The shop sells lamps for €40.", "The shop sells lamps for 40 USD.", "not decided"),
        ("The bridge was opened on 3 April 2024.", "The bridge was opened in spring 2024.", "supported"),
        ("The bridge was opened on 3 April 2024.", "The bridge was opened on 2024-04-04.", "contradicted"),
        ("The tank holds more than 20 litres.", "The tank holds 25 litres.", "not decided"),
        ("The temperature was -4 °C.", "The temperature was 4 °C.", "contradicted"),
        ("The account stood at (250) EUR in May.", "The account stood at 250 EUR in May.", "contradicted"),
        ("The museum is open Tuesday to Friday from 10 to 17.", "The museum is open on Wednesday.", "supported"),
        ("The museum is open Tuesday to Friday from 10 to 17.", "The museum is open on Monday.", "contradicted"),
        ("The bridge at Orm was opened in the 1890s.", "The bridge at Orm was opened in 1894.", "not decided"),
        (
            "The hall was opened on 12 May 1998.\n\nIt opens at 07:30.",
            "The hall was opened on 12 May 1998.",
            "supported",
        ),
        ("bus: 411; seats: 34\nbus: 413; seats: 36", "Bus 413 has 34 seats.", "contradicted"),
    ],
)
async def test_values_are_compared_and_not_judged(text: str, claim: str, verdict: str) -> None:
    assert await verdicts(claim, text) == [verdict]


async def test_what_an_edition_replaces_does_not_count() -> None:
    rules = [(2022, 16), (2024, 14)]
    passages = [
        Passage(
            f"Members from {age} years may use the saw.",
            title=f"Rules {year}",
            source=f"rules-{year}.md",
            date=str(year),
        )
        for year, age in rules
    ]
    [one] = await check_answer("A member of 15 years may use the saw.", toolbox("", evaluator=EMBEDDED), passages)
    assert (one.verdict, [each.source for each in one.supporting]) == ("supported", ["rules-2024.md"])


async def test_a_passage_under_the_name_of_an_honest_source_does_not_hide_it() -> None:
    passages = [Passage(f"The light at Skerry Point was built in {year}.", source="a.md") for year in (1871, 1999)]
    [one] = await check_answer(
        "The light at Skerry Point was built in 1871.", toolbox("", evaluator=EMBEDDED), passages
    )
    assert (one.verdict, len(one.supporting), len(one.contradicting)) == ("disputed", 1, 1)


async def test_an_empty_answer_is_an_input_error() -> None:
    for answer in ("", " \n"):
        with pytest.raises(InputError, match="The answer is empty"):
            await check_answer(answer, toolbox("", evaluator=EMBEDDED), [Passage(FERRY)])


async def test_an_evaluator_that_judges_no_claims_is_a_configuration_error() -> None:
    with pytest.raises(ConfigError, match="judges no claims"):
        await check_answer("It sails.", toolbox("", evaluator=OverlapEvaluator()), [Passage(FERRY)])


# -- sources


HARBOUR = str(Path(__file__).parents[4] / "examples" / "harbour")


@pytest.mark.parametrize("year", [1817, 1871])
def test_a_claim_with_sources_on_both_sides_is_disputed_and_both_are_quoted(check: Any, year: int) -> None:
    ran = check(f"The lighthouse at Skerry Point was built in {year}.", "-d", HARBOUR, "--json")
    [found] = json.loads(ran.out)["sentences"]
    assert found["verdict"] == "disputed" and ran.code == 6
    sides = [{Path(each["source"]).name for each in found[side]} for side in ("supporting", "contradicting")]
    own, other = sides if year == 1817 else sides[::-1]
    assert own == {"brochure.txt"} and "history.md" in other


def test_near_copies_are_one_source(check: Any) -> None:
    texts = ["The old ferry was built in 1817, as a plaque on its bow tells every visitor."] * 3
    texts += [f"{texts[0]} Look!", "The old ferry was built in 1871 by Ada Quill."]
    lines = "".join(json.dumps({"text": text, "source": f"{n}.md"}) + "\n" for n, text in enumerate(texts))
    ran = check("The old ferry was built in 1817.", "--passages", "-", stdin=lines)
    assert ran.out.startswith("± disputed") and "1 source supports it, 1 contradicts it" in ran.out
    assert ran.code == 6


# -- the command


def test_a_supported_sentence_is_printed_with_its_quote_and_exits_with_0(check: Any) -> None:
    ran = check("The ferry to Skerry Point was built in 1871.", "-d", "ferry.md")
    assert ran.code == 0, ran.err
    assert ran.out.startswith("✓ supported:") and "Ada Quill" in ran.out and "ferry.md" in ran.out


def test_an_unsupported_sentence_exits_with_6_and_controls_are_not_printed(check: Any) -> None:
    ran = check("The ferry to Skerry Point was built in 1817\x1b\x07.", "-d", "ferry.md")
    assert ran.code == 6, ran.err
    assert ran.out.startswith("✗ contradicted:") and "\x1b" not in ran.out


def test_a_text_file_is_one_answer(check: Any) -> None:
    Path("answer.txt").write_text("It sails on Mondays.\nThe museum is closed.\n")
    ran = check("-f", "answer.txt", "-d", "ferry.md")
    assert ran.code == 6 and "1 of 2 sentences" in ran.err
    assert ran.out.splitlines() == [
        "✓ supported: It sails on Mondays.",
        "    “It sails on Mondays.” ferry.md:1",
        "? not decided: The museum is closed.",
        "    closest: “The ferry to Skerry Point was built in 1871 by the engineer Ada Quill.” ferry.md:1",
    ]


def test_stdin_is_an_answer_and_markdown_is_read_without_headings_code_and_marks(check: Any) -> None:
    ran = check("-", "-d", "ferry.md", stdin="It sails on Mondays.")
    assert (ran.code, ran.out.splitlines()[0]) == (0, "✓ supported: It sails on Mondays.")
    Path("answer.md").write_text("# The museum\n\n- It *sails* on Mondays.[^1]\n\n```\nrow()\n```\n")
    ran = check("-f", "answer.md", "-d", "ferry.md")
    assert (ran.code, ran.out.splitlines()[0]) == (0, "✓ supported: It sails on Mondays.")


def test_each_line_of_json_is_checked_against_its_passages_or_else_the_documents(check: Any) -> None:
    rows = [
        {"id": "a", "answer": "It sails on Mondays.", "passages": [{"text": "It sails on Mondays.", "source": "x"}]},
        {"id": "b", "answer": "It sails on Mondays.", "passages": []},
        {"id": "c", "answer": "It sails on Mondays."},
        {"id": "d", "answer": None},
    ]
    ran = check("-f", "-", "-d", "ferry.md", stdin="".join(json.dumps(row) + "\n" for row in rows))
    found = list(map(json.loads, ran.out.splitlines()))
    assert [(row["id"], row["supported"]) for row in found] == [("a", True), ("b", False), ("c", True), ("d", True)]
    assert found[0]["sentences"][0]["citation"]["source"] == "x" and "passages" not in found[0]
    assert ran.code == 6


def test_an_invalid_line_is_an_error_in_its_row_and_exits_with_3(check: Any) -> None:
    lines = '{"answer": "It sails on Mondays."}\n{"text": "no answer"}\n{broken\n{"answer": "x", "passages": [{}]}\n'
    lines += '{"answer": " "}\n'
    ran = check("-f", "-", "-d", "ferry.md", "-o", "out.jsonl", stdin=lines)
    found = list(map(json.loads, Path("out.jsonl").read_text().splitlines()))
    assert [row.get("supported") for row in found] == [True, None, None, None, None]
    assert all(f"line {n}" in row["error"]["message"] for n, row in enumerate(found, 1) if n > 1)
    assert ran.code == 3


@pytest.mark.parametrize("arguments", [(), ("An answer.", "-f", "file.txt"), ("",)])
def test_exactly_one_answer_or_file_must_be_given(check: Any, arguments: tuple[str, ...]) -> None:
    assert check(*arguments).code == 2


def test_without_documents_the_error_tells_how_to_give_some(check: Any) -> None:
    ran = check("It sails on Mondays.")
    assert ran.code == 4 and "no documents to check against" in ran.err and "--docs" in ran.err


# -- with a language model


def ask_model(check: Any, answer: str, told: str) -> tuple[list[dict[str, Any]], Any]:
    with serve(lambda *_: told) as server:
        options = {"plugin": "openai", "model": "m", "base_url": server.url}
        model = [part for key, value in options.items() for part in ("-O", f"reader.s.{key}={value}")]
        ran = check(answer, "-d", "ferry.md", "--json", "--reader", "s", *model)
        return json.loads(ran.out)["sentences"], server.requests


def reply(*verdicts: tuple[int, str, str]) -> str:
    entries = [{"sentence": number, "quote": quote, "verdict": verdict} for number, quote, verdict in verdicts]
    return f"Here it is:\n{json.dumps({'verdicts': entries})}"


def test_a_model_gets_the_sentences_in_one_call_and_its_quotes_are_cited(check: Any) -> None:
    told = reply((2, "It sails on  Mondays", "contradicted"), (1, "by the engineer Ada Quill", "supported"))
    found, requests = ask_model(check, "Ada Quill made the ferry. It never sails on Mondays.", told)
    assert [each["verdict"] for each in found] == ["supported", "contradicted"]
    assert [each["citation"]["quote"] for each in found] == [FERRY[:-21], "It sails on Mondays."]
    assert len(requests) == 1 and "2. It never sails" in requests[0].body["messages"][-1]["content"]


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        (reply((1, "It sails on Sundays", "supported")), "without a verbatim quote"),
        (reply((2, "It sails on Mondays.", "supported")), "gave no verdict"),
        ("It is supported.", "gave no verdict"),
        (reply((1, "", "not found")), ""),
    ],
)
def test_a_reply_that_cannot_be_used_decides_nothing_and_gives_a_reason(check: Any, told: str, reason: str) -> None:
    [found], _ = ask_model(check, "It sails on Mondays.", told)
    assert found["verdict"] == "not decided" and found["citation"] is None and reason in found["reason"]
