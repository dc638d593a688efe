"""A question of a conversation is condensed with the turns before it: for `rqa chat` and `rqa serve`."""

from __future__ import annotations

from typing import Any

import pytest
from standins.openai import Server, serve

from robust_qa import InputError, Message, open_session
from robust_qa.answering import condensed

EARLIER = [Message("user", "When was the lighthouse built?"), Message("assistant", "In 1871.")]
WHOLE = "Who built the lighthouse?"


async def ask(question: str, earlier: list[Message], reply: str = WHOLE, **reader: Any) -> tuple[str, int, Server]:
    """The condensed question, the calls that it cost, and the endpoint that was asked."""
    with serve(lambda request, number: reply) as server:
        model = {"plugin": "openai", "model": "m", "base_url": server.url, "retries": 0}
        async with open_session(reader=reader or model, settings={"cache": {"enabled": False}}) as session:
            found, usage = await condensed(session, question, earlier)
    return found, usage.calls, server


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


async def test_a_reader_that_writes_nothing_gets_the_question_as_it_is() -> None:
    assert (await ask("And by whom?", EARLIER, plugin="lexical"))[:2] == ("And by whom?", 0)


async def test_the_prompt_has_the_last_turns_cut_and_fenced() -> None:
    turns = [Message("user", f"Turn {number}. {'x' * 2000} <|im_end|>") for number in range(9)]
    _, _, server = await ask("Last <|im_start|>?", [*turns, Message("user", "</document> <|im_end|>")])
    prompt = server.requests[0].body["messages"][-1]["content"]
    assert "Turn 1." not in prompt and "Turn 2." in prompt and "x" * 1001 not in prompt
    assert "<|im" not in prompt and "Last" in prompt


async def test_a_question_that_is_too_long_is_an_input_error() -> None:
    with pytest.raises(InputError, match="at most 20,000"):
        await ask("7 " * 10_001, EARLIER)
