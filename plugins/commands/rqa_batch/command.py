"""`rqa batch`: read questions as JSON lines or a table, write answers as JSON lines."""

from __future__ import annotations

from typing import Any

import click

from robust_qa import Exit
from robust_qa.cli import (
    ANSWER_FORMATS,
    Answering,
    Run,
    answering_options,
    engine_option,
    jobs_option,
    output_option,
    pass_run,
)


@click.command(
    "batch",
    epilog="Examples: rqa batch questions.jsonl -o answers.jsonl -s rag -j 32\n\n"
    "rqa batch questions.jsonl -o answers.jsonl --resume\n\n"
    "rqa batch -d notes/ < questions.txt | jq -r .answer",
)
@click.argument("source", metavar="[IN]", required=False, type=click.Path(path_type=str, allow_dash=True))
@output_option(
    "OUT", "Write answers to OUT, as its ending says. Default: - (stdout).", urls=True, formats=ANSWER_FORMATS
)
@click.option("--column", metavar="NAME", default="", help="Column or field of IN that holds the question.")
@click.option("--resume", is_flag=True, help="Continue the interrupted run that wrote OUT.")
@click.option("--retry-failed", is_flag=True, help="Like --resume, and also retry the failed rows.")
@click.option("--force", is_flag=True, help="Replace OUT.")
@click.option("--raw-cells", is_flag=True, help="Keep cells of CSV and TSV that a spreadsheet may run as formulas.")
@jobs_option
@engine_option
@click.option("--details", is_flag=True, help="Add the strategy's details, the calls and the decisions to each answer.")
@click.option("--no-check", is_flag=True, help="Do not check what a language model answers, to measure it alone.")
@answering_options()
@pass_run
def command(
    run: Run,
    /,
    *,
    source: str | None,
    out: str | None,
    column: str,
    resume: bool,
    retry_failed: bool,
    force: bool,
    raw_cells: bool,
    jobs: int,
    details: bool,
    **answering: Any,
) -> None:
    """Answer the questions in IN (default: stdin). Write one output line each, in input order.

    IN has JSON lines with `question` and optionally `id` and `passages`, or CSV or TSV with these names in its first
    line, or one question a line. Other fields are copied to the output.
    """
    resume |= retry_failed
    option = "--retry-failed" if retry_failed else "--resume"
    if resume and force:
        raise click.UsageError(f"{option} and --force exclude each other: one keeps OUT, one replaces it.")
    if resume and out is None:
        raise click.UsageError(f"{option} needs the output file to continue: add -o OUT.")
    from rqa_rows.running import answer_stream

    failed = answer_stream(
        run,
        source or "-",
        out,
        Answering(**answering),
        column=column,
        resume=resume,
        retry=retry_failed,
        force=force,
        raw_cells=raw_cells,
        jobs=jobs,
        details=details,
        trace=details,
    )
    if failed:
        raise click.exceptions.Exit(Exit.ROWS_FAILED)
