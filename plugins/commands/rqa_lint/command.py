"""The command `rqa lint`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from robust_qa import Exit, Question, __version__
from robust_qa.cli import TEXT_FORMATS, Answering, FiniteFloat, output_option, suffix_of
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
@click.argument("docs", nargs=-1, required=True, type=click.Path(path_type=Path))
@output_option("FILE", "Write the findings to this file. Default: stdout.", formats=_FORMATS, dir_okay=False)
@click.option("--json", "as_json", is_flag=True, help="Print the findings as a JSON object.")
@click.option(
    "--similarity",
    type=FiniteFloat(0, 1),
    default=0.3,
    show_default=True,
    help="Least similarity of two statements that are judged.",
)
@click.pass_obj
def lint(run: Run, /, *, docs: tuple[Path, ...], out: Path | None, as_json: bool, similarity: float) -> None:
    """Find disagreements, near-duplicates, hidden text and instructions to models in DOCS.

    DOCS are files and folders. The exit code is 6 if anything is found.
    """
    from robust_qa.cli import print_data, print_to
    from robust_qa.cli.answering import in_session
    from robust_qa.documents import summarised

    from .linting import lint as findings_in
    from .linting import read_corpus
    from .reports import count_of, page, sarif

    print_to(out)
    corpus = read_corpus(docs)
    for line in summarised(corpus.skipped):
        run.say(printable(line))

    async def work(session: Session) -> list[Finding]:
        return await findings_in(corpus, similarity, session.toolbox_for(Question("")).judge)

    findings = in_session(run, Answering(), work)
    if as_json or suffix_of(out) == "json":
        print_data({"files": corpus.files, "findings": findings})
    elif suffix_of(out) == "sarif":
        print_data(sarif(findings, _TITLES, __version__))
    elif suffix_of(out) == "html":
        click.echo(page(findings, _TITLES, corpus.files))
    else:
        _print(findings)
    run.say(count_of(len(findings), corpus.files))
    if findings:
        raise click.exceptions.Exit(Exit.NEGATIVE)


def _print(findings: list[Finding]) -> None:
    from rich.text import Text

    from robust_qa.cli import console, print_wrapped

    from .reports import described
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
                print_wrapped(out, Text.assemble((single_line(where(place)), "magenta"), f": {shown}"), 4, hanging=4)
            out.print()
