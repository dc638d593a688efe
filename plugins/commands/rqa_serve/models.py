"""The strategies as models of the API: "rqa/astute" is the strategy `astute`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from robust_qa import RqaError

if TYPE_CHECKING:
    from robust_qa.answering import Session


def offered(session: Session, names: Sequence[str]) -> dict[str, str]:
    """Return strategies by model: `names`, or all that can run, the default one first.

    Raises RqaError if one of `names` cannot run, or if no strategy can.
    """
    if not names:
        default, _ = session.choose(has_passages=False)
        names = [default, *(name for name in session.strategies if name != default and _runs(session, name))]
    for name in names:
        session.choose(has_passages=False, strategy=name)
    return {f"rqa/{name}": name for name in names}


def _runs(session: Session, name: str) -> bool:
    try:
        session.choose(has_passages=False, strategy=name)
    except RqaError:
        return False
    return True
