"""Resolve the names of `-s`, and find the strategies that the configuration cannot run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from robust_qa import RqaError

if TYPE_CHECKING:
    from robust_qa.answering import Session
    from robust_qa.cli import Answering, Run

ALL = "all"  # every strategy that the configuration can run


def check(run: Run, answering: Answering, names: Iterable[str]) -> None:
    """Raise ConfigError if a strategy does not exist, before anything is read or indexed."""
    from robust_qa.answering import split_reader

    config = run.load_config(answering.overrides())
    for name in names:
        strategy, reader = split_reader(name)
        if strategy != ALL and strategy not in config.names("strategy"):
            run.host.find("strategy", strategy, configured=config.names("strategy"))
        if reader and reader not in config.names("reader"):
            run.host.find("reader", reader, configured=config.names("reader"))


def expand(session: Session, names: Sequence[str]) -> list[str]:
    """Return the names, or all strategies if ALL is among them."""
    return session.strategies if ALL in names else list(names)


def unsupported(
    session: Session, names: Sequence[str], *, has_passages: bool, as_given: bool = False
) -> dict[str, RqaError]:
    """Return the strategies that cannot answer such questions, with the error of each."""
    errors: dict[str, RqaError] = {}
    for name in names:
        try:
            session.choose(has_passages=has_passages, strategy=name, as_given=as_given)
        except RqaError as error:
            errors[name] = error
    return errors


def supported(names: Sequence[str], errors: dict[str, RqaError]) -> list[str]:
    """Return the names without an error. Raises the first error if none is left."""
    if len(errors) == len(names):
        raise errors[names[0]]
    return [name for name in names if name not in errors]
