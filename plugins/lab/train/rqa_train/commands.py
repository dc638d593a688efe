"""Shared parts of the commands."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from importlib import import_module
from typing import TypeVar

import click

from robust_qa import MissingError
from robust_qa.cli import FiniteFloat
from robust_qa.kit import install_hint

F = TypeVar("F", bound=Callable[..., object])


def require(*modules: str) -> None:
    """Raise MissingError unless these modules of the extra [train] are installed."""
    for module in modules:
        try:
            import_module(module)
        except ImportError as error:
            raise MissingError(
                f"This needs {error.name}, which is not installed.",
                hint=f"Install it: `{install_hint('train')}`.",
            ) from error


def command_line(first: str) -> str:
    """Return the command line from the word `first` on, for the model card."""
    words = sys.argv[sys.argv.index(first) :] if first in sys.argv else [first]
    return shlex.join(["rqa", *words])


def plan_options(*, epochs: float, rate: float, length: int, shortest: int, longest: int) -> Callable[[F], F]:
    """Return the options of a training run, with these defaults."""
    options = (
        ("--epochs", FiniteFloat(min=0, min_open=True), epochs, "Passes over the rows."),
        ("--rate", FiniteFloat(min=0, min_open=True), rate, "Peak learning rate."),
        ("--batch", click.IntRange(min=1), 32, "Rows in a step."),
        ("--length", click.IntRange(shortest, longest), length, "Maximum tokens of question and passage."),
        ("--seed", click.IntRange(0, 2**32 - 1), 13, "Random seed."),
    )

    def add(command: F) -> F:
        for name, kind, default, help in reversed(options):
            command = click.option(name, type=kind, default=default, show_default=True, help=help)(command)
        return command

    return add
