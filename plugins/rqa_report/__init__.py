"""`rqa report`: what evaluation runs found, as tables and pages; how the members of a pool disagree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from robust_qa import hookimpl

if TYPE_CHECKING:
    import click


@hookimpl
def rqa_commands(cli: click.Group) -> None:
    """Add `rqa report`."""
    from .commands import report

    cli.add_command(report)
