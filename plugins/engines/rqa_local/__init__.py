"""Engine `local`: answers the rows of a batch in this process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from robust_qa import Registry, hookimpl

if TYPE_CHECKING:
    from rqa_rows import Job


class Local:
    """The engine that answers the rows in this process."""

    async def run(self, rows: AsyncIterator[tuple[int, bytes]], job: Job) -> None:
        """Answer every row."""
        from rqa_rows import answer_all

        await answer_all(rows, job.answer, job)


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the engine."""
    registry.engine("local", "rqa_local:Local", summary="answers in this process")
