"""`rqa check` says of each sentence of an answer whether passages support it, contradict it or do not have it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from robust_qa import hookimpl

from .checking import LEAST, Checked, check_answer, close_sentences, verdict

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any

    import click

    from robust_qa.answering import Session

__all__ = ["LEAST", "Checked", "check_answer", "close_sentences", "verdict"]


@hookimpl
def rqa_commands(cli: click.Group) -> None:
    """Add `rqa check`."""
    from .command import check

    cli.add_command(check)


@hookimpl
def rqa_tools(session: Session) -> list[Callable[..., Awaitable[dict[str, Any]]]]:
    """Offer the tool `check` to agents."""
    from .tool import check_tool

    return [check_tool(session)]
