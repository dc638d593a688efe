import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress

import pytest

from robust_qa import InputError
from robust_qa.documents import lines
from robust_qa.documents.lines import Lines


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        with suppress(OSError):  # closed by the test
            os.close(end)


async def every(source: Lines) -> AsyncIterator[bytes]:
    while (line := await source.next()) is not None:
        yield line


async def split(pipe: tuple[int, int], content: bytes) -> list[bytes]:
    os.write(pipe[1], content)
    os.close(pipe[1])
    return [line async for line in every(Lines(pipe[0]))]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", []),
        (b"a", [b"a"]),
        (b"a\n", [b"a"]),
        (b"a\n\nb\r\nc", [b"a", b"", b"b\r", b"c"]),
        (b"\n", [b""]),
        (b"a\rb\r", [b"a", b"b"]),
        (b"a\r", [b"a\r"]),
        (b"a\rb\nc", [b"a\rb", b"c"]),
    ],
)
async def test_lines_end_at_line_feeds(pipe: tuple[int, int], content: bytes, expected: list[bytes]) -> None:
    assert await split(pipe, content) == expected


async def test_a_line_is_given_out_while_the_pipe_is_still_open(pipe: tuple[int, int]) -> None:
    source = Lines(pipe[0])
    os.write(pipe[1], b"one\ntw")
    assert await source.next() == b"one"
    os.write(pipe[1], b"o\n")
    assert await source.next() == b"two"


async def test_a_line_may_be_far_longer_than_what_is_read_at_once(pipe: tuple[int, int]) -> None:
    long = b"x" * 3_000_000
    writing = asyncio.get_running_loop().run_in_executor(None, _write_all, pipe[1], long + b"\ny\n")
    assert [line async for line in every(Lines(pipe[0]))] == [long, b"y"]
    await writing


async def test_what_a_line_has_beyond_the_bound_is_thrown_away(
    pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "LONGEST", 1_000_000)
    writing = asyncio.get_running_loop().run_in_executor(None, _write_all, pipe[1], b"x" * 9_000_000 + b"\ny\n")
    first, second = [line async for line in every(Lines(pipe[0]))]
    assert 1_000_000 < len(first) < 2_000_000
    assert second == b"y"
    await writing


async def test_peeking_leaves_the_line(pipe: tuple[int, int]) -> None:
    os.write(pipe[1], b"a\nb\n")
    source = Lines(pipe[0])
    assert [await source.peek(), await source.next(), await source.next()] == [b"a", b"a", b"b"]


async def test_closing_ends_the_wait_for_a_pipe_that_says_nothing(pipe: tuple[int, int]) -> None:
    source = Lines(pipe[0])
    os.write(pipe[1], b"half a line")
    waiting = asyncio.create_task(source.next())
    await asyncio.sleep(0.05)
    source.close()
    assert await waiting is None
    assert await source.next() is None


async def test_a_pipe_that_does_not_block_is_waited_for(pipe: tuple[int, int]) -> None:
    os.set_blocking(pipe[0], False)
    source = Lines(pipe[0])
    waiting = asyncio.create_task(source.next())
    await asyncio.sleep(0.05)
    os.write(pipe[1], b"one\n")
    assert await waiting == b"one"


async def test_a_descriptor_that_cannot_be_read_is_an_input_error(pipe: tuple[int, int]) -> None:
    with pytest.raises(InputError, match="Cannot read the input"):
        await Lines(pipe[1]).next()


def _write_all(descriptor: int, content: bytes) -> None:
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
