"""`rqa index`: index documents for retrieval."""

from __future__ import annotations

import os
import shlex
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from robust_qa import InputError, MissingError
from robust_qa.cli import KeyValue, Run, pass_run, read_without, reading_options

if TYPE_CHECKING:
    from robust_qa import IndexReport
    from robust_qa.answering import Components


@click.command("index", epilog="Example: rqa index notes/ papers/*.pdf")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--list", "listed", is_flag=True, help="List the files of the index with their passages, and what was skipped."
)
@click.option("--remove", is_flag=True, help="Remove PATHS from the index.")
@click.option("--watch", is_flag=True, help="Afterwards index what changes in PATHS, until you press Ctrl-C.")
@reading_options
@click.option("-r", "--retriever", metavar="NAME", help="Retriever to build the index for.")
@click.option("-O", "--option", type=KeyValue(), multiple=True, help="Set a configuration option. May be repeated.")
@pass_run
def command(
    run: Run,
    /,
    *,
    paths: tuple[Path, ...],
    listed: bool,
    remove: bool,
    watch: bool,
    exclude: tuple[str, ...],
    no_ignore: bool,
    retriever: str | None,
    option: tuple[tuple[str, str], ...],
) -> None:
    """Index the files and folders PATHS, by default those indexed before. Reads only new and changed files."""
    from robust_qa.answering import Components, indexing_retriever

    if listed and (paths or remove or watch):
        raise click.UsageError("--list takes no PATHS.")
    if (remove or watch) and not paths:
        raise click.UsageError(f"--{'remove' if remove else 'watch'} needs PATHS.")
    if watch and remove:
        raise click.UsageError("--watch and --remove exclude each other.")
    pairs = [*option, *([("defaults.retriever", retriever)] if retriever else [])]
    components = Components(run.load_config(pairs), run.host)
    for kind, table in components.config.overridden():
        components.component(kind, table)
    name = indexing_retriever(components, named=bool(retriever))
    if reading := read_without(exclude, no_ignore=no_ignore):
        components.check_filters([name], reading)
        components = Components(components.config, run.host, overrides={("retriever", name): reading})
    if listed:
        _list(run, components, name)
        return
    changes = _changes(paths) if watch else iter(())
    _update(run, components, name, paths, remove=remove)
    with suppress(KeyboardInterrupt):  # that is how watching ends
        for _ in changes:
            _update(run, Components(components.config, run.host, overrides=components.overrides), name, paths)
    if watch:
        run.say("stopped watching")


def _changes(paths: Sequence[Path]) -> Iterator[object]:
    """Yield when something changed in `paths`, until Ctrl-C. Raises MissingError if watchfiles is not installed."""
    try:
        from watchfiles import watch
    except ImportError as error:
        from robust_qa.kit import install_hint

        raise MissingError(
            "--watch needs the package watchfiles, which is not installed.",
            hint=f"Install it: `{install_hint('watch')}`.",
        ) from error
    changes = watch(
        *paths, raise_interrupt=False, ignore_permission_denied=True, yield_on_timeout=True, rust_timeout=500
    )
    next(changes, None)  # it sees changes from now on, also during the first indexing
    return filter(None, changes)


def _update(run: Run, components: Components, name: str, paths: Sequence[Path], *, remove: bool = False) -> None:
    """Index `paths`, or remove them, and say what was done."""
    from robust_qa.answering import index
    from robust_qa.cli import indexing_progress, summarised

    began = time.perf_counter()
    with indexing_progress(run) as progress:
        report = index(components, name, paths, progress, remove=remove)
    found = report.added + report.changed + report.removed + report.unchanged
    if paths and not found and not report.skipped:
        run.say(f"there are no files to index in {', '.join(map(str, paths))}")
    lines = summarised(report.skipped)
    for line in lines:
        run.say(line)
    if len(lines) < len(report.skipped):
        run.say("`rqa index --list` lists them all.")
    run.say(
        f"{name}: {report.passages} passages; files: {report.added} added, {report.changed} changed, "
        f"{report.removed} removed, {report.unchanged} unchanged; {time.perf_counter() - began:.1f} s"
    )
    if warning := _open_to_others(report):
        run.say(warning)
    if report.skipped and not found:
        raise InputError("None of these files can be read.")


def _open_to_others(report: IndexReport) -> str:
    """A warning if other users can read the index folder, else ""."""
    try:
        mode = stat.S_IMODE(Path(report.folder).stat().st_mode) if report.folder else 0
    except OSError:
        return ""
    if not mode & 0o055:
        return ""
    return (
        f"Other users can read the index folder {report.folder} (mode {mode:04o}), which holds the text of your files. "
        f"Make it private with `chmod 700 {shlex.quote(report.folder)}`."
    )


def _list(run: Run, components: Components, name: str) -> None:
    """Print the files of an index on stdout: the number of passages of each, then what was skipped and why."""
    from robust_qa.answering import indexed_files
    from robust_qa.kit import single_line

    here = f"{Path.cwd()}{os.sep}"
    for file, kept in sorted(indexed_files(components, name).items()):
        click.echo(f"{kept.passages:>7,}  {single_line(file.removeprefix(here))}")
        for place, why in kept.skipped:
            click.echo(f"skipped  {single_line(place.removeprefix(here))}: {single_line(why)}")
    if components.has("retriever", name, "unembedded"):
        missing = components.build("retriever", name).unembedded()
        if missing:
            run.say(f"{missing:,} passages are not embedded yet, so only their words are found. Run `rqa index`")
