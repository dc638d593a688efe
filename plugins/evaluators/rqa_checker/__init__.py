"""The checker of language models' answers: each sentence is a claim about the passages that were retrieved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from robust_qa import hookimpl

if TYPE_CHECKING:
    from robust_qa import Registry


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the checker."""
    registry.checker("claims", "rqa_checker.checker:Claims", summary="checks each sentence against the documents")
