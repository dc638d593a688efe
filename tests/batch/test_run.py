import asyncio
import bz2
import codecs
import gzip
import json
import lzma
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from robust_qa import Answer, ConfigError, InputError, MissingError, Question, RqaError, Usage
from robust_qa.answering.session import Session
from robust_qa.batch import input_rows
from robust_qa.batch import run as batch
from robust_qa.batch.run import Answerer, Batch, choose_for_first
from robust_qa.config.layers import Config
from robust_qa.config.values import Layer
from robust_qa.documents.lines import Lines
from robust_qa.host.loading import Host

PLUGIN = Path(__file__).parents[1] / "standins" / "scripted.py"


class Memory:
    """An output that records the lines. Writes wait until `open` is set."""

    def __init__(self, *, blocking: bool = False) -> None:
        self.blocking = blocking
        self.written: list[bytes] = []

    def write(self, lines: Sequence[bytes]) -> None:
        self.written.extend(lines)

    @property
    def rows(self) -> list[Any]:
        return [json.loads(line) for line in self.written]

    @property
    def answers(self) -> list[str]:
        return [row.get("answer") for row in self.rows]


@pytest.fixture
async def session() -> AsyncIterator[Session]:
    host = Host(only=[], files=[PLUGIN], strict=True)
    config = Config([Layer("t.toml", {"defaults": {"strategy": "scripted"}, "cache": {"enabled": False}})])
    async with Session(config, host, detailed=False) as session:
        yield session


def lines_of(content: bytes) -> Lines:
    read, write = os.pipe()
    with os.fdopen(write, "wb") as file:
        file.write(content)
    return Lines(read)


def begin(
    answer: Callable[[Question], Awaitable[Answer]],
    lines: Lines,
    output: Memory,
    *,
    jobs: int = 8,
    passages: bool = True,
    details: bool = False,
    trace: bool = False,
    **options: Any,
) -> Batch:
    worker = Answerer(answer, jobs=jobs, passages=passages, details=details, trace=trace)
    return Batch(worker, lines, output, jobs=jobs, blocking=output.blocking, **options)


async def answer_all(session: Session, *questions: str, **options: Any) -> Memory:
    output = Memory()
    await begin(session.answer, lines_of("\n".join(questions).encode()), output, **options).run()
    return output


def failing(error: RqaError, *questions: str) -> Callable[[Question], Awaitable[Answer]]:
    """Answers every question, but fails the named ones (default: all)."""

    async def answer(question: Question) -> Answer:
        if not questions or question.text in questions:
            raise error
        return Answer(question.text)

    return answer


async def test_every_row_has_a_line_in_the_order_of_the_input(session: Session) -> None:
    questions = ["sleep 0.2", "sleep 0.1", "c", "sleep 0.05", "e"]
    output = await answer_all(session, *questions, jobs=5)
    assert output.answers == questions
    assert [row["row"] for row in output.rows] == [1, 2, 3, 4, 5]


async def test_no_more_rows_are_in_flight_than_jobs(session: Session) -> None:
    began = asyncio.get_running_loop().time()
    await answer_all(session, *["sleep 0.1"] * 6, jobs=2)
    assert asyncio.get_running_loop().time() - began >= 0.3


async def test_a_slow_row_stops_the_others_when_too_many_bytes_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(batch, "_MAX_BUFFERED", 1000)  # the real limit needs many megabytes of answers
    asked: list[str] = []
    begun: list[int] = []  # when the slow one ends

    async def answer(question: Question) -> Answer:
        asked.append(question.text)
        if question.text == "slow":
            for _ in range(1000):
                await asyncio.sleep(0)  # the others go on
            begun.append(len(asked))
        return Answer("x" * 500)

    output = Memory()
    async with asyncio.timeout(10):
        await begin(answer, lines_of(b"slow\n" + b"fast\n" * 50), output, jobs=2).run()
    assert 1 < begun[0] < 10
    assert output.answers == ["x" * 500] * 51


async def test_a_row_is_written_as_soon_as_nothing_slower_is_before_it(session: Session) -> None:
    read, write = os.pipe()
    output = Memory()
    running = asyncio.create_task(begin(session.answer, Lines(read), output).run())
    os.write(write, b"first\n")
    await asyncio.sleep(0.1)
    assert output.answers == ["first"]
    os.close(write)
    await running


@pytest.mark.parametrize(
    ("question", "kind", "message"),
    [
        ("refuse", "RefusedError", "The key is wrong."),
        ("crash", "PluginError", "Strategy 'scripted' failed with ZeroDivisionError: by nothing."),
        ("cancel", "PluginError", "Strategy 'scripted' let a cancellation of its own escape."),
        ("{", "InputError", "The row is not JSON"),
        ('{"question": 3}', "InputError", "`question` must be text"),
    ],
)
async def test_a_row_that_fails_says_so_and_the_others_go_on(
    session: Session, question: str, kind: str, message: str
) -> None:
    output = await answer_all(session, "a", question, "c", jobs=1)
    assert output.answers == ["a", None, "c"]
    error = output.rows[1]["error"]
    assert (error["type"], error["row"]) == (kind, 2)
    assert error["message"].startswith(message)


def half_a_pair(session: Session) -> Callable[[Question], Awaitable[Answer]]:
    """Answers "unwritable" with a lone surrogate."""

    async def answer(question: Question) -> Answer:
        answer = await session.answer(question)
        return replace(answer, text="\ud800") if question.text == "unwritable" else answer

    return answer


@pytest.mark.parametrize(("jobs", "failures"), [(4, 20), (30, 30)])
async def test_general_failures_stop_the_run(jobs: int, failures: int) -> None:
    error = RqaError("The key is wrong.", general=True)
    run = begin(failing(error), lines_of(b"a\n" * 100), Memory(), jobs=jobs)
    await run.run()
    assert failures <= run.tally.failed < failures + jobs  # those in flight come to their end
    assert run.trouble is error


@pytest.mark.parametrize("other", [Answer("A", usage=Usage(2, cached=1)), Answer(None, usage=Usage(1)), Answer("A")])
async def test_rows_answered_by_a_call_reset_the_failure_count(other: Answer) -> None:
    async def answer(question: Question) -> Answer:
        if question.text == "a":
            raise RqaError("No connection.", general=True)
        return other

    run = begin(answer, lines_of(b"a\nb\n" * 100), Memory(), jobs=1)
    await run.run()
    assert (run.tally.failed, run.trouble) == (100, None)


async def test_blank_lines_have_no_output_and_keep_their_numbers(session: Session) -> None:
    output = await answer_all(session, "\ufeff", "a", " \r", "b")
    assert [(row["row"], row["answer"]) for row in output.rows] == [(2, "a"), (4, "b")]


async def test_the_tally_counts_rows_calls_and_tokens(session: Session) -> None:
    run = begin(half_a_pair(session), lines_of(b"a\n\nabstain\nrefuse\nb\nunwritable\n"), Memory(), jobs=1)
    await run.run()
    tally = run.tally
    assert (tally.answered, tally.abstained, tally.failed, tally.blank, tally.finished) == (2, 1, 2, 1, 5)
    assert tally.usage == Usage(5, 50, 10)  # of failures, too, and of the answer that cannot be written
    assert tally.first_error == "row 4: The key is wrong."


async def test_a_rows_own_passages_are_what_it_is_answered_from(session: Session) -> None:
    row = json.dumps({"question": "passages", "passages": ["one", {"text": "two"}]})
    assert (await answer_all(session, row)).answers == ["one + two"]


async def test_finished_rows_are_skipped(session: Session) -> None:
    output = await answer_all(session, "a", "b", "c", done=lambda number, line: line == b"b")
    assert [(row["row"], row["answer"]) for row in output.rows] == [(1, "a"), (3, "c")]


async def test_stopping_lets_the_rows_in_flight_end_and_begins_no_more(session: Session) -> None:
    output = Memory()
    run = begin(session.answer, lines_of(b"sleep 0.2\nsleep 0.2\nc\nd\n"), output, jobs=2)
    asyncio.get_running_loop().call_later(0.05, run.stop)
    await run.run()
    assert output.answers == ["sleep 0.2", "sleep 0.2"]
    assert run.stopped


async def test_stopping_twice_waits_for_nothing(session: Session) -> None:
    output = Memory()
    run = begin(session.answer, lines_of(b"a\nsleep 60\nc\n"), output, jobs=3)
    loop = asyncio.get_running_loop()
    loop.call_later(0.1, run.stop)
    loop.call_later(0.15, run.stop)
    async with asyncio.timeout(2):
        await run.run()
    assert [row["row"] for row in output.rows] == [1, 3]


async def test_an_output_that_fails_ends_the_run(session: Session) -> None:
    class Full(Memory):
        def write(self, lines: Sequence[bytes]) -> None:
            raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        await begin(session.answer, lines_of(b"a\n" * 1000), Full()).run()


async def test_a_blocked_output_does_not_delay_questions_in_flight(session: Session) -> None:
    class Slow(Memory):
        def write(self, lines: Sequence[bytes]) -> None:
            import time

            time.sleep(0.3)
            super().write(lines)

    output = Slow(blocking=True)
    run = begin(session.answer, lines_of(b"a\nb\nc\n"), output, jobs=1)
    running = asyncio.create_task(run.run())
    await asyncio.sleep(0.15)
    assert (run.tally.finished, output.written) == (3, [])
    await running
    assert output.answers == ["a", "b", "c"]


async def test_a_stuck_output_limits_the_answered_rows(session: Session) -> None:
    taken = threading.Event()

    class Stuck(Memory):
        def write(self, lines: Sequence[bytes]) -> None:
            taken.wait()
            super().write(lines)

    output = Stuck(blocking=True)
    run = begin(session.answer, lines_of(b"a\n" * 200), output, jobs=2)
    running = asyncio.create_task(run.run())
    await asyncio.sleep(0.3)
    assert run.tally.finished <= run.window == 64
    taken.set()
    await running
    assert output.answers == ["a"] * 200


async def test_a_configuration_that_cannot_answer_the_first_row_is_refused() -> None:
    host = Host(only=[], files=[PLUGIN], strict=True)
    with pytest.raises(ConfigError, match="no strategy named 'scriptd'"):
        async with Session(Config([Layer("t", {"defaults": {"strategy": "scriptd"}})]), host) as session:
            choose_for_first(session.choose, b"{bad\n", print)
    with pytest.raises(MissingError, match="nothing to answer from"):
        async with Session(Config([]), host) as session:
            choose_for_first(session.choose, b"a question without passages\n", print)


def test_json_over_several_lines_is_refused() -> None:
    with pytest.raises(InputError, match="over several lines"):
        list(input_rows([b"["]))


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (gzip.compress(b"a\n", mtime=0), "compressed"),
        (bz2.compress(b"a\n"), "compressed"),
        (lzma.compress(b"a\n"), "compressed"),
        (b"\x28\xb5\x2f\xfd\x04\x58\x11\0\0a\n", "compressed"),
        ("a\n".encode("utf-16"), "UTF-16 text"),
        (codecs.BOM_UTF16_BE + "a\n".encode("utf-16-be"), "UTF-16 text"),
    ],
)
def test_compressed_or_utf_16_input_is_refused_with_a_command(content: bytes, what: str) -> None:
    with pytest.raises(InputError, match=f"The input is {what}") as caught:
        list(input_rows([content]))
    assert "FILE > ROWS" in caught.value.hint
