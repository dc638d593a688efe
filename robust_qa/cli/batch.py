"""`rqa batch`: JSON lines in, JSON lines out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..errors import Exit
from .options import Answering, answering_options, jobs_option, output_option
from .run import Run, pass_run


@click.command(
    "batch",
    epilog="Examples: rqa batch questions.jsonl -o answers.jsonl -s rag -j 32\n\n"
    "rqa batch questions.jsonl -o answers.jsonl --resume\n\n"
    "rqa batch -d notes/ < questions.txt | jq -r .answer",
)
@click.argument("source", metavar="[IN]", required=False, type=click.Path(path_type=Path, allow_dash=True))
@output_option("OUT", "Write to this file; - is stdout, as without it.")
@click.option("--resume", is_flag=True, help="Continue the interrupted run that wrote OUT.")
@click.option("--retry-failed", is_flag=True, help="Continue it, and answer the rows that failed again.")
@click.option("--force", is_flag=True, help="Replace OUT.")
@jobs_option
@click.option("--unordered", is_flag=True, help="Write answers as they are ready, and not in the order of IN.")
@click.option("--no-passages", is_flag=True, help="Leave the passages of the rows out of the output.")
@click.option("--details", is_flag=True, help="Add the strategy's own account of each answer.")
@click.option("--trace", is_flag=True, help="Add the calls and decisions that led to each answer.")
@answering_options()
@pass_run
def command(
    run: Run,
    /,
    *,
    source: Path | None,
    out: Path | None,
    resume: bool,
    retry_failed: bool,
    force: bool,
    jobs: int,
    unordered: bool,
    no_passages: bool,
    details: bool,
    trace: bool,
    **answering: Any,
) -> None:
    """Answer the questions in IN (default: stdin), one output line each, in their order.

    A line is a JSON object with `question` and, if it likes, `id`, `passages` and anything else, which is
    passed through; or it is the bare question.
    """
    resume |= retry_failed
    told = "--retry-failed" if retry_failed else "--resume"
    if resume and force:
        raise click.UsageError(f"{told} keeps OUT and --force replaces it: give one of them.")
    if resume and out is None:
        raise click.UsageError(f"{told} continues the file that -o names: give -o OUT.")
    from .batch_run import Target, answer_stream

    failed = answer_stream(
        run,
        source or Path("-"),
        Target(out, resume=resume, force=force, retry=retry_failed),
        Answering(**answering),
        jobs=jobs,
        ordered=not unordered,
        passages=not no_passages,
        details=details,
        trace=trace,
    )
    if failed:
        raise click.exceptions.Exit(Exit.ROWS_FAILED)
