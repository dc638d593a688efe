"""Engine `provider`: answers rows with the batch API of a model's provider, at half price and within a day.

Thousands of questions are in flight. When all of them wait for the model, `waves` sends their calls as one wave, and
`batches` waits for the replies. `journal` records what was sent, so that a later run does not pay for it again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from robust_qa import ConfigError, InputError, Registry, hookimpl

if TYPE_CHECKING:
    from rqa_rows import Job, Result


class Provider:
    """Sends the calls of all questions to the batch API of the reader's provider."""

    @dataclass
    class Options:
        # questions in flight, in place of --jobs: a wave has a call of each
        questions: Annotated[int, Meta(ge=1, le=50_000)] = 5000

    def __init__(self, options: Options) -> None:
        self.options = options

    async def check(self, job: Job) -> None:
        """Check that the batch has an output file, and that the reader and its endpoint have a batch API.

        Raises InputError, ConfigError and RefusedError.
        """
        from .waves import PROVIDER_BATCHES

        _beside(job.out)
        reader = job.reader
        if reader is None or not hasattr(reader.component, PROVIDER_BATCHES):
            raise ConfigError(
                f"{reader.name if reader else 'A setup without a reader'} cannot use a provider's batch API.",
                hint="Choose a reader of the plugin openai with --reader NAME, or leave out --engine provider.",
            )
        await getattr(reader.component, PROVIDER_BATCHES)().check()

    async def run(self, rows: AsyncIterator[tuple[int, bytes]], job: Job) -> None:
        """Answer the rows here, and send the calls of their reader in waves."""
        from rqa_rows import answer_all

        from .journal import Journal
        from .waves import Waves

        job.jobs = self.options.questions
        waves = Waves(job, Journal(_beside(job.out), forget=job.force))

        async def answer(number: int, row: bytes) -> Result:
            await waves.room()  # thousands of questions must not search at once
            return await job.answer(number, row)

        try:
            with job.relaying(waves):
                await answer_all(rows, answer, job)
        finally:
            waves.close()


def _beside(out: str | None) -> Path:
    """Return the file that records the batches. Raises InputError if the output is not a file."""
    if out is None or (Path(out).exists() and not Path(out).is_file()):
        raise InputError("Engine 'provider' records its batches beside the output file.", hint="Add -o FILE.jsonl.")
    path = Path(out).resolve()
    return path.with_name(f"{path.name}.batches")


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the plugin."""
    registry.engine("provider", "rqa_provider:Provider", summary="answers in batches of the provider, at half price")
