"""Which strategies `-s` means, and which of them the configuration cannot run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from robust_qa import RqaError

if TYPE_CHECKING:
    from robust_qa.answering import Session
    from robust_qa.cli import Answering, Run

ALL = "all"  # in the place of names: every strategy that the configuration can run


def check(run: Run, answering: Answering, names: Iterable[str]) -> None:
    """ConfigError where there is no strategy of a name: before anything is read or indexed."""
    configured = run.load_config(answering.overrides()).names("strategy")
    for name in names:
        if name != ALL and name not in configured:
            run.host.find("strategy", name, configured=configured)


def named(session: Session, names: Sequence[str]) -> list[str]:
    """Those names, or every strategy there is where ALL is among them."""
    return session.strategies if ALL in names else list(names)


def refused(
    session: Session, names: Sequence[str], *, has_passages: bool, as_given: bool = False
) -> dict[str, RqaError]:
    """Who cannot answer such questions, and why; nothing is asked."""
    found: dict[str, RqaError] = {}
    for name in names:
        try:
            session.plan(has_passages=has_passages, strategy=name, as_given=as_given)
        except RqaError as error:
            found[name] = error
    return found


def able(names: Sequence[str], refused: dict[str, RqaError]) -> list[str]:
    """The others. Raises why the first cannot, where there are no others."""
    if len(refused) == len(names):
        raise refused[names[0]]
    return [name for name in names if name not in refused]
