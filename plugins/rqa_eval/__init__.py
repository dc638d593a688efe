"""`rqa eval` and `rqa compare`: strategies side by side, on sets of questions or on one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from robust_qa import hookimpl

if TYPE_CHECKING:
    import click

    from robust_qa import Metric


@hookimpl
def rqa_commands(cli: click.Group) -> None:
    """Offer `rqa eval` and `rqa compare`."""
    from .commands import evaluate_sets
    from .compare import compare

    cli.add_command(compare)
    cli.add_command(evaluate_sets)


@hookimpl
def rqa_metrics() -> list[Metric]:
    """Offer the metrics of the field."""
    from .measures import METRICS

    return METRICS
