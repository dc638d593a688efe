"""`rqa check` says of each sentence of an answer whether passages support it, contradict it or leave it open."""

from __future__ import annotations

from robust_qa import Checked, Registry, hookimpl

from .checking import check_answer

__all__ = ["Checked", "check_answer"]


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the plugin."""
    registry.command(
        "check", "rqa_check.command:check", section="Ask", summary="Check each sentence of an answer against documents."
    )
    registry.tools("rqa_check.checking:tools")
