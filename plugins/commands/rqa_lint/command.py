"""The command `rqa lint`."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from robust_qa import Exit, MissingError, Question, __version__
from robust_qa.cli import TEXT_FORMATS, Answering, FiniteFloat, output_option, reading_options, suffix_of
from robust_qa.kit import printable, single_line

if TYPE_CHECKING:
    from robust_qa.answering import Session
    from robust_qa.cli import Run

    from .reports import Finding

_LONGEST = 200  # characters of a place
_TITLES = {
    "instruction": "Instructions to models",
    "hidden": "Hidden text",
    "disagreement": "Disagreements",
    "duplicate": "Near-duplicates",
}
_FORMATS = (*TEXT_FORMATS, "html", "sarif")


@click.command(epilog="Example: rqa lint handbook/")
@click.argument("docs", nargs=-1, type=click.Path(path_type=Path))
@output_option("FILE", "Write the findings to this file. Default: stdout.", formats=_FORMATS, dir_okay=False)
@click.option("--json", "as_json", is_flag=True, help="Print the findings as a JSON object.")
@click.option(
    "--similarity",
    type=FiniteFloat(0, 1),
    default=0.3,
    show_default=True,
    help="Least similarity of two statements that are judged.",
)
@reading_options
@click.pass_obj
def lint(
    run: Run,
    /,
    *,
    docs: tuple[Path, ...],
    out: Path | None,
    as_json: bool,
    similarity: float,
    exclude: tuple[str, ...],
    no_ignore: bool,
) -> None:
    """Find disagreements, near-duplicates, hidden text and instructions to models in DOCS.

    DOCS are files and folders, by default those of your index. The exit code is 6 if anything is found.
    """
    from robust_qa.cli import print_data, print_to, summarised
    from robust_qa.cli.answering import in_session
    from rqa_files import Rules

    from .linting import lint as findings_in
    from .linting import read_corpus
    from .reports import count_of, page, sarif

    print_to(out)

    async def work(session: Session) -> tuple[list[Finding], int]:
        paths = docs or await _indexed(session)
        corpus = read_corpus(paths, run.host.file_formats, Rules(exclude, no_ignore))
        for line in summarised(corpus.skipped):
            run.say(printable(line))
        return await findings_in(corpus, similarity, session.toolbox_for(Question("")).judge), corpus.files

    findings, files = in_session(run, Answering(), work)
    if as_json or suffix_of(out) == "json":
        print_data({"files": files, "findings": findings})
    elif suffix_of(out) == "sarif":
        print_data(sarif(findings, _TITLES, __version__))
    elif suffix_of(out) == "html":
        click.echo(page(findings, _TITLES, files))
    else:
        _print(findings)
    run.say(count_of(len(findings), files))
    if findings:
        raise click.exceptions.Exit(Exit.NEGATIVE)


async def _indexed(session: Session) -> list[Path]:
    """Return the files of the index that are still there. Raises MissingError if there are none."""
    from rqa_files import is_gone

    found: list[Path] = []
    with suppress(MissingError):  # there is no index
        found = [path for path in map(Path, await session.files()) if not is_gone(path)]
    if not found:
        raise MissingError(
            "There are no documents to check.",
            hint="Name files or folders, as in `rqa lint PATH`, or index them once with `rqa index PATH`.",
        )
    return found


def _print(findings: list[Finding]) -> None:
    from rich.text import Text

    from robust_qa.cli import console, print_wrapped

    from .reports import described, uri_of
    from .reports import shown as where

    out = console()
    for kind, title in _TITLES.items():
        own = [each for each in findings if each.kind == kind]
        if own:
            out.print(Text(f"{title} ({len(own)})\n", "bold"))
        for finding in own:
            print_wrapped(out, Text(single_line(described(finding)), "yellow"), 2, hanging=2)
            for place in finding.places:
                text = single_line(place.text)
                shown = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
                uri = uri_of(place)
                style = f"magenta link {uri}" if uri and out.file.isatty() else "magenta"
                print_wrapped(out, Text.assemble((single_line(where(place)), style), f": {shown}"), 4, hanging=4)
            out.print()
