"""`rqa eval` measures strategies, `rqa report` shows the results, and `rqa testset` writes questions."""

from __future__ import annotations

from robust_qa import Registry, hookimpl

from .extras import STRATEGIES


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the plugin."""
    registry.command(
        "eval",
        "rqa_eval.commands:evaluate_sets",
        section="Measure",
        summary="Compare the accuracy and cost of strategies.",
    )
    registry.command(
        "report", "rqa_eval.report.commands:report", section="Measure", summary="Show the results of evaluation runs."
    )
    registry.metrics("rqa_eval.metrics:METRICS")
    registry.command(
        "testset",
        "rqa_eval.testset.command:testset",
        section="Measure",
        summary="Write questions about documents, for rqa eval.",
    )
    registry.in_extra("lab", "strategy", STRATEGIES)
