"""`rqa eval` and `rqa compare` measure strategies; `rqa report` shows the results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from robust_qa import hookimpl

if TYPE_CHECKING:
    import click

    from robust_qa import Metric


@hookimpl
def rqa_commands(cli: click.Group) -> None:
    """Add `rqa eval`, `rqa compare` and `rqa report`."""
    from .commands import evaluate_sets
    from .compare import compare
    from .report.commands import report

    cli.add_command(compare)
    cli.add_command(evaluate_sets)
    cli.add_command(report)


@hookimpl
def rqa_metrics() -> list[Metric]:
    """Return the built-in metrics."""
    from .metrics import METRICS

    return METRICS
