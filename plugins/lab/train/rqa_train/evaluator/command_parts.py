"""Shared parts of the commands: options, and calls to a configured evaluator."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from robust_qa.cli import Answering
from robust_qa.cli.answering import in_session

if TYPE_CHECKING:
    from robust_qa import Toolbox
    from robust_qa.cli import Run

T = TypeVar("T")

FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)
_QUANTIZATIONS = (
    "int8", "int8_float32", "int8_float16", "int8_bfloat16", "int16", "float16", "bfloat16", "float32"
)  # fmt: skip
quantization_option = click.option(
    "--quantization",
    metavar="KIND",
    type=click.Choice(_QUANTIZATIONS),
    help=f"Type of the weights: {', '.join(_QUANTIZATIONS)}. Default: float32 for a T5 with a classification head, "
    "else int8.",
)

input_option = click.option(
    "--input",
    type=click.Choice(["text", "title-text"]),
    help="What the model reads of a passage: its text, or title and text. Default: as trained, or title-text.",
)

_CHUNK = 512  # questions scored at once


def scores(
    run: Run,
    name: str | None,
    requests: Sequence[tuple[str, list[str]]],
    progress: Callable[[int], None] = lambda done: None,
) -> list[list[float]]:
    """Return the scores of the configured evaluator for each (question, texts)."""

    async def ask(toolbox: Toolbox) -> list[list[float]]:
        found: list[list[float]] = []
        for at in range(0, len(requests), _CHUNK):
            found += await asyncio.gather(*(toolbox.score(*request) for request in requests[at : at + _CHUNK]))
            progress(len(found))
        return found

    return _with_evaluator(run, name, ask)


def reads_titles(run: Run, name: str | None) -> bool:
    """Return whether the configured evaluator reads the titles of passages."""

    async def ask(toolbox: Toolbox) -> bool:
        return toolbox.titles()

    return _with_evaluator(run, name, ask)


def _with_evaluator(run: Run, name: str | None, ask: Callable[[Toolbox], Awaitable[T]]) -> T:
    answering = Answering(option=(("defaults.evaluator", name),) if name else ())
    return in_session(run, answering, lambda session: ask(session.toolbox("reader", "evaluator")), detailed=False)
