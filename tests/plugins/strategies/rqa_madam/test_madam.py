"""One agent for each document, an aggregator, and rounds of debate: replies are scripted by what the prompt asks."""

from typing import Any

import pytest

from robust_qa import Answer, Message, Passage, Question
from robust_qa.testing import ScriptedModel, ask
from rqa_madam import Madam

QUESTION = "What is the population of Broken Bow?"
NEBRASKA = Passage("Broken Bow is a city in Nebraska with 3,559 people.", id="ne", source="nebraska.txt")
OKLAHOMA = Passage("Broken Bow is a city in Oklahoma with 4,120 people.", id="ok", source="oklahoma.txt")
PLANTED = Passage("Broken Bow in Nebraska has 10,000 people.", id="planted", source="forum.txt")
NOISE = Passage("A broken bow is of no use.", id="noise")
BOTH = {
    "reason": "There are two cities; the third reply contradicts the first.",
    "answers": [{"answer": "3,559", "documents": [1]}, {"answer": "4,120", "documents": [2]}],
}


class Debate:
    """A model that plays all agents: each says the number in its document, `revisions` what it says later."""

    def __init__(self, *verdicts: Any, revisions: dict[str, str] | None = None, structured: bool = True) -> None:
        self.verdicts, self.revisions = iter(verdicts), revisions or {}
        self.model = ScriptedModel(self.reply, structured=structured)

    def reply(self, messages: list[Message], decoding: Any) -> Any:
        prompt = messages[-1].content
        if "Which answers are valid?" in prompt:
            return next(self.verdicts)
        document = prompt.partition("Question:")[0]
        said = next((number for number in ("3,559", "4,120", "10,000") if number in document), None)
        if "moderator" in prompt:
            said = self.revisions.get(said or "", said)
        if self.model.structured:
            return {"explanation": "It says so.", "answer": said}
        return f"explanation: It says so.\nanswer: {said or 'UNKNOWN'}"

    def ask(self, *passages: Passage, **options: Any) -> Answer:
        return ask(Madam(Madam.Options(**options)), Question(QUESTION, passages=passages), reader=self.model)

    def prompts(self, part: str) -> list[str]:
        return [messages[-1].content for messages, _ in self.model.calls if part in messages[-1].content]


def test_all_valid_answers_are_given_each_with_its_sources() -> None:
    answer = Debate(BOTH).ask(NEBRASKA, OKLAHOMA, PLANTED, NOISE)
    assert answer.text == "3,559; 4,120"
    assert [citation.source for citation in answer.citations] == ["nebraska.txt", "oklahoma.txt"]
    assert [(side.text, side.citations[0].id) for side in answer.conflicts] == [("3,559", "ne"), ("4,120", "ok")]
    assert answer.details["rejected"] == ["10,000"]


def test_each_agent_sees_its_own_document_alone_and_the_aggregator_sees_none() -> None:
    debate = Debate(BOTH)
    debate.ask(NEBRASKA, OKLAHOMA)
    agents, (aggregate,) = debate.prompts("Use nothing but this document"), debate.prompts("Which answers are valid?")
    assert [(NEBRASKA.text in prompt, OKLAHOMA.text in prompt) for prompt in agents] == [(True, False), (False, True)]
    assert NEBRASKA.text not in aggregate
    assert "Answer: 3,559\nIt says so." in aggregate


def test_an_agent_may_change_its_answer_after_it_has_read_the_summary() -> None:
    one = {"reason": "Two agree.", "answers": [{"answer": "3,559", "documents": [1, 2]}]}
    debate = Debate(BOTH, one, revisions={"10,000": "3,559"})
    answer = debate.ask(NEBRASKA, PLANTED)
    assert answer.details["rounds"] == [["3,559", "10,000"], ["3,559", "3,559"], ["3,559", "3,559"]]
    assert answer.text == "3,559"
    assert all("Valid answers: 3,559; 4,120" in prompt for prompt in debate.prompts("moderator")[:2])


@pytest.mark.parametrize(("rounds", "calls"), [(1, 3), (2, 5), (3, 5)])
def test_rounds_bound_the_calls(rounds: int, calls: int) -> None:
    debate = Debate(BOTH)
    debate.ask(NEBRASKA, OKLAHOMA, rounds=rounds)
    assert len(debate.model.calls) == calls


def test_a_reader_without_schemas_is_asked_for_labelled_lines() -> None:
    verdict = "reason: Two cities.\nanswer: 3,559\ndocuments: 1\nanswer: 4,120\ndocuments: 2"
    answer = Debate(verdict, structured=False).ask(NEBRASKA, OKLAHOMA, NOISE)
    assert answer.text == "3,559; 4,120"
    assert answer.details["rounds"][0] == ["3,559", "4,120", None]


def test_an_answer_that_no_agent_gave_is_left_out() -> None:
    verdict = {"reason": "", "answers": [{"answer": "42", "documents": [1]}, {"answer": "3,559", "documents": [1]}]}
    assert Debate(verdict).ask(NEBRASKA).text == "3,559"


@pytest.mark.parametrize(
    ("passages", "verdict", "reason"),
    [
        ((), None, "No passage was found for the question."),
        ((NOISE, NOISE), None, "No passage alone has an answer."),  # and nothing to debate
        ((PLANTED,), {"reason": "It is wrong.", "answers": []}, "No answer of a passage is reliable."),
    ],
)
def test_it_abstains_without_a_valid_answer(passages: tuple[Passage, ...], verdict: Any, reason: str) -> None:
    answer = Debate(verdict).ask(*passages)
    assert (answer.text, answer.reason) == (None, reason)


def test_a_reply_without_the_form_is_asked_for_once_and_then_a_plain_answer() -> None:
    debate = Debate("The population of Broken Bow is 3,559", structured=False)
    debate.model = ScriptedModel(
        lambda messages, decoding: (
            "The population is 3,559"
            if "Which answers are valid?" in (prompt := messages[-1].content)
            else "I bring it into form."
            if "A reply to the question" in prompt
            else debate.reply(messages, decoding)
        )
    )
    assert debate.ask(NEBRASKA, rounds=1).text == "The population is 3,559"
