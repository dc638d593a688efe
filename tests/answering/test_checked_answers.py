"""What a language model answers is checked: by hand-made replies, what the terminal and JSON show for each."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from standins.openai import serve

from robust_qa import Answer
from robust_qa.testing import StaticRetriever, toolbox
from rqa_claims import missing_from

BUILT = "When was the lighthouse at Skerry Point built?"
TEXTS = {
    "history.md": "The lighthouse at Skerry Point was built in 1871 by the engineer Ingrid Valdane.",
    "tower.md": "The tower is 32 metres tall, and 164 steps lead to the lantern room.",
    "ferry.md": "A single crossing costs 4.20 and takes twenty-five minutes.",
    "keepers.md": "The last keeper of the light was Joan Pascoe. She left in 1989.",
    "recipes.md": "Smoked mackerel keeps for a week in a cold room.",
}
BROCHURE = {"brochure.md": "The lighthouse at Skerry Point was built in 1817, as every visitor is told."}


class Shown:
    """What `rqa ask` printed, and what `rqa ask --json` said, for one reply of the model."""

    def __init__(self, rqa: Any, question: str, reply: Any, texts: dict[str, str], *options: str) -> None:
        rows = [json.dumps({"text": text, "source": source}) for source, text in texts.items()]
        Path("found.jsonl").write_text("\n".join(rows))
        with serve(reply if callable(reply) else lambda *_: reply) as server:
            table = {"plugin": "openai", "model": "m", "base_url": server.url, "structured": "none"}
            model = [part for key, value in table.items() for part in ("-O", f"reader.s.{key}={value}")]
            arguments = ["ask", question, "--passages", "found.jsonl", "--no-cache", "--reader", "s", *model, *options]
            self.ran = rqa(*arguments)
            self.json = json.loads(rqa(*arguments, "--json").out)
            self.short = rqa(*arguments, "--short")
            self.calls = server.count
        self.lines = self.ran.out.splitlines()

    @property
    def cited(self) -> list[str]:
        return [cited["source"] for cited in self.json["citations"]]


@pytest.fixture
def ask(rqa: Any) -> Callable[..., Shown]:
    """Asks a model that gives the reply, about five documents."""

    def asked(reply: Any, question: str = BUILT, texts: dict[str, str] = TEXTS, *options: str) -> Shown:
        return Shown(rqa, question, reply, texts, *(options or ("-s", "rag")))

    return asked


# -- ten replies


def test_an_invented_number_is_not_in_the_documents_and_what_contradicts_it_is_quoted(ask: Any) -> None:
    shown = ask("Documents: 1\nAnswer: built in 1850")
    assert shown.lines[0] == "Not in your documents: built in 1850 (no source says 1850)"
    assert "1871 by the engineer" in shown.ran.out and "history.md" in shown.ran.out
    assert (shown.json["standing"], shown.json["checks"][0]["missing"]) == ("not in the documents", ["1850"])
    assert (shown.cited, shown.short.out, shown.short.code) == ([], "", 6)


def test_an_invented_name_is_not_in_the_documents(ask: Any) -> None:
    shown = ask("Documents: 1\nAnswer: It was built by Tom Harrow.", "Who built the lighthouse?")
    assert shown.lines[0] == "Not in your documents: It was built by Tom Harrow (no source says Tom Harrow)."
    assert shown.json["checks"][0]["missing"] == ["Tom Harrow"]


def test_the_right_answer_in_other_words_is_cited(ask: Any) -> None:
    shown = ask("Documents: 1\nAnswer: They built it in 1871.")
    assert shown.lines[0] == "They built it in 1871."
    assert (shown.json["standing"], shown.cited) == ("supported", ["history.md"])


def test_of_an_answer_that_is_half_right_one_sentence_has_its_source_and_the_other_a_mark(ask: Any) -> None:
    shown = ask("Documents: 1\nAnswer: The lighthouse was built in 1871. Its bell weighs 900 kilos.")
    marked = "The lighthouse was built in 1871. [1] Its bell weighs 900 kilos (no source says 900)."
    assert (shown.lines[0], shown.json["standing"]) == (marked, "partly supported")
    assert shown.json["answer"] == "The lighthouse was built in 1871. Its bell weighs 900 kilos."
    assert shown.cited == ["history.md"]
    assert (shown.short.out, shown.short.code) == ("The lighthouse was built in 1871.\n", 0)


def test_without_the_check_a_batch_has_what_the_model_wrote(rqa: Any) -> None:
    row = {"question": BUILT, "passages": [{"text": text} for text in TEXTS.values()]}
    Path("rows.jsonl").write_text(json.dumps(row))
    with serve(lambda *_: "Documents: 1\nAnswer: built in 1850") as server:
        table = {"plugin": "openai", "model": "m", "base_url": server.url, "structured": "none"}
        model = [part for key, value in table.items() for part in ("-O", f"reader.s.{key}={value}")]
        rqa("batch", "rows.jsonl", "-o", "out.jsonl", "--no-check", "--no-cache", "-s", "rag", "--reader", "s", *model)
    answered = json.loads(Path("out.jsonl").read_text())
    assert (answered["answer"], answered["checks"]) == ("built in 1850", [])


def test_a_contradiction_shows_both_sides_with_their_quotes(ask: Any) -> None:
    shown = ask("Documents: 6\nAnswer: 1817", BUILT, TEXTS | BROCHURE)
    assert [line for line in shown.lines if not line.startswith("    ")][:6] == [
        "Your documents disagree: 1817",
        "",
        "[1] brochure.md",
        "",
        "The sources disagree:",
        "○ The lighthouse at Skerry Point was built in 1871 by the engineer Ingrid Valdane.: [2]",
    ]
    sides = [[cited["source"] for cited in side["citations"]] for side in shown.json["conflicts"]]
    assert (sides, shown.json["standing"]) == ([["brochure.md"], ["history.md"]], "disputed")


def test_a_short_answer_to_what_no_document_answers_is_not_confirmed(ask: Any) -> None:
    texts = {"cache.md": "Set the variable CACHE_DIR to the folder of the cache."}
    shown = ask("Documents: 1\nAnswer: CACHE_DIR", "Which variable limits the memory?", texts)
    assert (shown.lines[0], shown.json["standing"]) == ("Not confirmed: CACHE_DIR", "not confirmed")
    assert (shown.short.out, shown.short.code) == ("", 6)


def test_a_refusal_is_no_answer(ask: Any) -> None:
    shown = ask("The documents do not say when it was built.")
    assert shown.lines[0] == "The passages do not hold an answer."
    assert (shown.json["answer"], shown.json["checks"], shown.short.code) == (None, [], 6)


def test_an_answer_in_another_language_has_its_numbers_and_names_checked(ask: Any) -> None:
    shown = ask("Documents: 1\nAnswer: Le phare a été construit en 1871 par Ingrid Valdane.")
    assert shown.lines[0] == "Le phare a été construit en 1871 par Ingrid Valdane."
    assert (shown.json["checks"][0]["missing"], shown.json["standing"]) == ([], "")
    shown = ask("Documents: 1\nAnswer: Le phare a été construit en 1850 par Tom Harrow.")
    assert shown.json["checks"][0]["missing"] == ["1850", "Tom Harrow"]


def test_a_citation_of_a_document_that_does_not_exist_is_dropped_and_told(ask: Any) -> None:
    shown = ask("The lighthouse at Skerry Point was built in 1871 [7].")
    assert shown.lines[:2] == [
        "The lighthouse at Skerry Point was built in 1871.",
        "The model cites [7] of 5 documents, which does not exist.",
    ]
    assert shown.cited == ["history.md"]


def test_prose_instead_of_json_is_checked_like_an_answer(ask: Any) -> None:
    options = ("-s", "rag", "-O", "reader.s.structured=json_schema")
    shown = ask("I think that it was built in 1850.", BUILT, TEXTS, *options)
    assert shown.lines[0] == "Not in your documents: I think that it was built in 1850 (no source says 1850)."


def test_an_empty_reply_is_no_answer(ask: Any) -> None:
    shown = ask("<think>Let me see.</think>")
    assert (shown.lines[0], shown.json["answer"]) == ("The language model's reply is empty.", None)


# -- the rest


def test_what_the_model_calls_2_is_what_is_shown(ask: Any) -> None:
    shown = ask("Joan Pascoe was the last keeper [4]. The tower is 32 metres tall [2].", "Who was the last keeper?")
    assert shown.lines[0] == "Joan Pascoe was the last keeper. [1] The tower is 32 metres tall. [2]"
    assert shown.cited == ["keepers.md", "tower.md"]


def test_an_index_in_code_is_no_citation(ask: Any) -> None:
    texts = {"code.md": "The name of the file is in sys.argv[1], and its mode in sys.argv[2]."}
    assert ask("Answer: sys.argv[1]", "Where is the name of the file?", texts).json["answer"] == "sys.argv[1]"


@pytest.mark.parametrize(
    ("question", "reply", "standing"),
    [
        ("How tall is the tower?", "thirty-two metres", "supported"),
        ("What does a crossing cost?", "€4.20", ""),
        ("Is the tower 32 metres tall?", "Yes", "supported"),
        ("Is the tower 50 metres tall?", "Yes", "contradicted"),
        ("What colour is the ferry?", "orange", "not in the documents"),
    ],
)
def test_short_answers(ask: Any, question: str, reply: str, standing: str) -> None:
    shown = ask(f"Documents: 1\nAnswer: {reply}", question)
    assert shown.json["standing"] == standing if standing else not shown.json["checks"][0]["missing"]


def test_how_many_replies_lacked_their_form_is_told(ask: Any) -> None:
    def reply(request: dict[str, Any], number: int) -> str:
        tower = "32 metres" in request["messages"][-1]["content"]
        return "I think that it is 32 metres tall." if tower else "Documents: none\nAnswer: UNKNOWN"

    shown = ask(reply, "How tall is the tower?", TEXTS, "-s", "consensus")
    assert "1 of 5 replies did not have the form" in shown.ran.err


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("1,250 people", "There were 1250 people."),
        ("€4,20", "It costs €4.20."),
        ("14 November 1871", "It opened on 14.11.1871."),
        ("2 km", "The pier is 2,000 metres long."),
        ("25 minutes", "It takes twenty-five minutes."),
        ("10.2.1.16", "The address is 417982610.2.1.16,0 or 10.2.1.16."),
    ],
)
def test_a_number_stands_in_a_text_in_any_form(said: str, text: str) -> None:
    assert missing_from(said, [text]) == () and missing_from(said, ["In 1996."]) != ()


def test_the_check_asks_no_model(ask: Any) -> None:
    assert ask("Documents: 1\nAnswer: 1871").calls == 3  # one for each form of output


def test_the_sides_of_a_strategy_are_cited_by_the_sources_that_support_them(ask: Any) -> None:
    groups = "GROUP 1\ndocuments: 1, 2, 3, 4, 5\nanswer: 1850\n\nGROUP 2\ndocuments: 3\nanswer: 1871\n\n"
    shown = ask(f"{groups}<<<ANSWER>>> 1850 <<</ANSWER>>>", BUILT, TEXTS, "-s", "astute")
    assert shown.lines[0] == "Not in your documents: 1850 (no source says 1850)"
    sides = [(side["text"], [cited["source"] for cited in side["citations"]]) for side in shown.json["conflicts"]]
    assert sides == [("1850", []), (TEXTS["history.md"], ["history.md"])]


def test_without_a_strategy_the_model_is_asked_about_what_the_documents_leave_open(ask: Any) -> None:
    shown = ask(
        "Documents: 1\nAnswer: Tom Harrow", "Who was the last keeper of the light?", TEXTS, "-O", "defaults.k=5"
    )
    assert shown.lines[:2] == ["Joan Pascoe", "Sure without the language model."]
    assert (shown.json["strategy"], shown.calls) == ("cascade", 0)


def test_what_the_models_memory_says_alone_is_called_that(ask: Any) -> None:
    verdict = "GROUP 1\ndocuments: 6\nanswer: orange\nconfidence: 1.0\n\n<<<ANSWER>>> orange <<</ANSWER>>>"
    memory = "<<<PASSAGE>>>I remember a ferry that was painted orange.<<</PASSAGE>>>\n"
    shown = ask(memory + verdict, "What colour is the ferry?", TEXTS, "-s", "astute")
    assert shown.lines[:2] == [
        "Not in your documents: orange (no source says orange)",
        "Only the model's memory says so.",
    ]
    assert (shown.json["confidence"], shown.cited) == (None, [])


def test_a_row_of_a_batch_has_the_check(rqa: Any) -> None:
    Path("rows.jsonl").write_text(json.dumps({"question": BUILT, "passages": [*TEXTS.values()]}))
    with serve(lambda *_: "Documents: 1\nAnswer: 1850") as server:
        table = {"plugin": "openai", "model": "m", "base_url": server.url}
        model = [part for key, value in table.items() for part in ("-O", f"reader.s.{key}={value}")]
        rqa("batch", "rows.jsonl", "-o", "out.jsonl", "-s", "rag", "--reader", "s", *model, "--no-cache")
    row = json.loads(Path("out.jsonl").read_text())
    assert (row["answer"], row["standing"], row["checks"][0]["missing"]) == ("1850", "not in the documents", ["1850"])


async def test_without_a_judge_numbers_and_names_are_checked() -> None:
    tools = toolbox(BUILT, retriever=StaticRetriever([*TEXTS.values()]))
    await tools.retrieve()
    standings = [(await tools.check(Answer(text))).standing for text in ("1850", "Tom Harrow", "1871")]
    assert standings == ["not in the documents", "not in the documents", ""]


def test_an_answer_with_many_blanks_is_checked_like_any_other(ask: Any) -> None:
    shown = ask(f"The lighthouse was built in 1850.{' ' * 200_000}[sic]")
    assert (shown.json["standing"], shown.json["checks"][0]["missing"]) == ("not in the documents", ["1850"])
