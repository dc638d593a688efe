"""`rqa testset` writes questions about the user's documents, with near-miss twins that the documents do not answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from robust_qa import hookimpl

if TYPE_CHECKING:
    import click


@hookimpl
def rqa_commands(cli: click.Group) -> None:
    """Add `rqa testset`."""
    from .command import testset

    cli.add_command(testset)
