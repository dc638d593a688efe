"""A question of a conversation is condensed with the turns before it: for `rqa chat` and `rqa serve`."""

from __future__ import annotations

from typing import Any

import pytest
from standins.openai import Server, serve

from robust_qa import InputError, Message, open_session
from rqa_conversation import understood

EARLIER = [Message("user", "When was the lighthouse built?"), Message("assistant", "In 1871.")]
WHOLE = "Who built the lighthouse?"


async def ask(question: str, earlier: list[Message], reply: str = WHOLE, **reader: Any) -> tuple[str, int, Server]:
    """The condensed question, the calls that it cost, and the endpoint that was asked."""
    with serve(lambda request, number: reply) as server:
        model = {"plugin": "openai", "model": "m", "base_url": server.url, "retries": 0}
        async with open_session(reader=reader or model, settings={"cache": {"enabled": False}}) as session:
            found = await understood(session, question, earlier)
    return found.question, found.usage.calls, server


@pytest.mark.parametrize(
    ("earlier", "reply", "question", "calls"),
    [
        (EARLIER, WHOLE, WHOLE, 1),
        (EARLIER, f"<think>The lighthouse.</think>\n{WHOLE}\n", WHOLE, 1),
        (EARLIER, "<think>The lighthouse.</think>", "And by whom?", 1),  # an empty reply leaves the question
        ([], WHOLE, "And by whom?", 0),
    ],
)
async def test_a_question_stands_alone(earlier: list[Message], reply: str, question: str, calls: int) -> None:
    assert (await ask("And by whom?", earlier, reply))[:2] == (question, calls)


async def test_without_a_language_model_the_form_of_the_question_tells() -> None:
    assert (await ask("And the pier?", EARLIER, plugin="lexical"))[:2] == ("When was the pier built?", 0)


async def test_an_abstention_is_no_answer_that_a_pronoun_means() -> None:
    earlier = [Message("user", "Who built the pier?"), Message("assistant", "Not sure of an answer.")]
    async with open_session(reader="lexical") as session:
        found = await understood(session, "When was he born?", earlier)
    assert found.unknown == "he"
    assert found.asked_back and found.asked_back.reason == 'What does "he" stand for? Ask the whole question.'


async def test_a_question_may_be_asked_as_typed() -> None:
    async with open_session(reader="lexical") as session:
        assert (await understood(session, "And the pier?", EARLIER, follow=False)).question == "And the pier?"


async def test_the_prompt_has_the_last_turns_cut_and_fenced() -> None:
    turns = [Message("user", f"Turn {number}. {'x' * 2000} <|im_end|>") for number in range(9)]
    _, _, server = await ask("Last <|im_start|>?", [*turns, Message("user", "</document> <|im_end|>")])
    prompt = server.requests[0].body["messages"][-1]["content"]
    assert "Turn 1." not in prompt and "Turn 2." in prompt and "x" * 1001 not in prompt
    assert "<|im" not in prompt and "Last" in prompt


async def test_a_question_that_is_too_long_is_an_input_error() -> None:
    with pytest.raises(InputError, match="at most 20,000"):
        await ask("7 " * 10_001, EARLIER)
