"""`rqa index`: index documents for retrieval."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .options import KeyValue
from .run import Run, pass_run

if TYPE_CHECKING:
    from ..answering.components import Components


@click.command("index", epilog="Example: rqa index notes/ papers/*.pdf")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--list", "listed", is_flag=True, help="List the files of the index, with the number of passages of each."
)
@click.option("--skipped", is_flag=True, help="With --list: only what could not be read, with the reason.")
@click.option("--remove", is_flag=True, help="Remove PATHS from the index.")
@click.option("-r", "--retriever", metavar="NAME", help="Retriever to build the index for.")
@click.option("-O", "--option", type=KeyValue(), multiple=True, help="Set a configuration option. May be repeated.")
@pass_run
def command(
    run: Run,
    /,
    *,
    paths: tuple[Path, ...],
    listed: bool,
    skipped: bool,
    remove: bool,
    retriever: str | None,
    option: tuple[tuple[str, str], ...],
) -> None:
    """Index the files and folders PATHS, by default those indexed before. Reads only new and changed files."""
    from ..answering import indexing
    from ..answering.components import Components
    from ..documents import summarised
    from ..errors import InputError
    from .progress import indexing_progress

    if (listed and (paths or remove)) or (skipped and not listed):
        raise click.UsageError("--list takes no PATHS, and --skipped needs --list.")
    if remove and not paths:
        raise click.UsageError("--remove needs PATHS.")
    pairs = [*option, *([("defaults.retriever", retriever)] if retriever else [])]
    components = Components(run.load_config(pairs), run.host)
    for kind, table in components.config.overridden():
        components.component(kind, table)
    name = indexing.indexing_retriever(components, named=bool(retriever))
    if listed:
        _list(components, name, only_skipped=skipped)
        return
    began = time.perf_counter()
    with indexing_progress(run) as progress:
        report = indexing.index(components, name, paths, progress, remove=remove)
    lines = summarised(report.skipped)
    for line in lines:
        run.say(line)
    if len(lines) < len(report.skipped):
        run.say("`rqa index --list --skipped` lists them all.")
    run.say(
        f"{name}: {report.passages} passages; files: {report.added} added, {report.changed} changed, "
        f"{report.removed} removed, {report.unchanged} unchanged; {time.perf_counter() - began:.1f} s"
    )
    if warning := indexing.open_to_others(report):
        run.say(warning)
    if report.skipped and not report.added + report.changed + report.removed + report.unchanged:
        raise InputError("None of these files can be read.")


def _list(components: Components, name: str, *, only_skipped: bool) -> None:
    """Print the files of an index on stdout."""
    from ..answering.indexing import indexed_files
    from ..sanitize import single_line

    here = f"{Path.cwd()}{os.sep}"
    for file, kept in sorted(indexed_files(components, name).items()):
        path = single_line(file.removeprefix(here))
        if not only_skipped:
            click.echo(f"{kept.passages:>7,}  {path}")
        for place, why in kept.skipped:
            what = single_line(place.removeprefix(here))
            click.echo(f"{what}: {single_line(why)}" if only_skipped else f"         {what}: {single_line(why)}")
