"""The command `rqa lint`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from robust_qa import Exit
from robust_qa.cli import TEXT_FORMATS, FiniteFloat, output_option, suffix_of
from robust_qa.kit import printable, single_line

if TYPE_CHECKING:
    from robust_qa.cli import Run

    from .finding import Finding

_LONGEST = 200  # characters of a place
_TITLES = {
    "instruction": "Instructions to models",
    "hidden": "Hidden text",
    "disagreement": "Disagreements",
    "duplicate": "Near-duplicates",
}


@click.command(epilog="Example: rqa lint handbook/")
@click.argument("docs", nargs=-1, required=True, type=click.Path(path_type=Path))
@output_option("FILE", "Write the findings to this file. Default: stdout.", formats=TEXT_FORMATS, dir_okay=False)
@click.option("--json", "as_json", is_flag=True, help="Print the findings as a JSON object.")
@click.option(
    "--similarity",
    type=FiniteFloat(0, 1),
    default=0.4,
    show_default=True,
    help="Least similarity of two statements that can disagree.",
)
@click.pass_obj
def lint(run: Run, /, *, docs: tuple[Path, ...], out: Path | None, as_json: bool, similarity: float) -> None:
    """Find disagreements, near-duplicates, hidden text and instructions to models in DOCS.

    DOCS are files and folders. The exit code is 6 if anything is found.
    """
    from robust_qa.cli import print_to
    from robust_qa.documents import summarised

    from .linting import lint as findings_in
    from .linting import read_corpus

    print_to(out)
    corpus = read_corpus(docs)
    for line in summarised(corpus.skipped):
        run.say(printable(line))
    findings = findings_in(corpus, similarity)
    if as_json or suffix_of(out) == "json":
        _print_json(findings, corpus.files)
    else:
        _print(findings)
    run.say(f"{len(findings)} findings in {corpus.files} files")
    if findings:
        raise click.exceptions.Exit(Exit.NEGATIVE)


def _print(findings: list[Finding]) -> None:
    for kind, title in _TITLES.items():
        own = [each for each in findings if each.kind == kind]
        if own:
            click.echo(f"{title} ({len(own)})\n")
        for finding in own:
            click.echo(f"  {single_line(finding.message)}")
            for place in finding.places:
                text = single_line(place.text)
                shown = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
                line = f":{place.line}" if place.line else ""
                source = place.source.removeprefix(f"{Path.cwd()}{os.sep}")
                click.echo(f"    {single_line(source)}{line}: {shown}")
            click.echo()


def _print_json(findings: list[Finding], files: int) -> None:
    import msgspec

    encoded = msgspec.json.encode({"files": files, "findings": findings})
    click.echo(msgspec.json.format(encoded, indent=2).decode())
