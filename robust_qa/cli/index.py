"""`rqa index`: index documents for retrieval."""

from __future__ import annotations

import time
from pathlib import Path

import click

from .options import KeyValue
from .run import Run, pass_run


@click.command("index", epilog="Example: rqa index notes/ papers/*.pdf")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("-r", "--retriever", metavar="NAME", help="Retriever to build the index for.")
@click.option("-O", "--option", type=KeyValue(), multiple=True, help="Set a configuration option. May be repeated.")
@pass_run
def command(run: Run, paths: tuple[Path, ...], retriever: str | None, option: tuple[tuple[str, str], ...]) -> None:
    """Index the files and folders PATHS. Later runs read only changed files."""
    from ..answering import indexing
    from ..answering.components import Components
    from ..errors import InputError
    from .progress import indexing_progress

    pairs = [*option, *([("defaults.retriever", retriever)] if retriever else [])]
    components = Components(run.load_config(pairs), run.host)
    for kind, table in components.config.overridden():
        components.component(kind, table)
    name = indexing.indexing_retriever(components, named=bool(retriever))
    began = time.perf_counter()
    with indexing_progress(run) as progress:
        report = indexing.index(components, name, paths, progress)
    for path, why in report.skipped:
        run.say(f"skipped {path}: {why}")
    run.say(
        f"{name}: {report.passages} passages; files: {report.added} added, {report.changed} changed, "
        f"{report.removed} removed, {report.unchanged} unchanged; {time.perf_counter() - began:.1f} s"
    )
    if warning := indexing.open_to_others(report):
        run.say(warning)
    if report.skipped and not report.added + report.changed + report.removed + report.unchanged:
        raise InputError("None of these files can be read.")
