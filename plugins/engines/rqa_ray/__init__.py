"""Engine `ray`: answers the rows of a batch on the machines of a Ray cluster.

Each worker is an actor with a session of its own. The command reads the input and alone writes the output, so that a
row of a lost worker is answered again and written once.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from robust_qa import MissingError

from .options import Options as RayOptions

if TYPE_CHECKING:
    from robust_qa.batch import Job


class Ray:
    """Answers rows on the machines of a Ray cluster."""

    reaches_out = True  # the cluster gets questions, passages and keys

    Options = RayOptions

    def __init__(self, options: RayOptions) -> None:
        self.options = options

    async def run(self, job: Job) -> None:
        """Answer the rows of the job."""
        if not (find_spec("ray") and find_spec("pyarrow") and find_spec("fsspec")):
            from robust_qa.kit import install_hint

            raise MissingError(
                "Engine 'ray' needs Ray, which is not installed.", hint=f"Install it: `{install_hint('ray')}`."
            )
        from .running import run

        await run(job, self.options)
