"""The command `rqa check`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from robust_qa import Exit, InputError, Question
from robust_qa.cli import Answering, KeyValue, passages_in
from robust_qa.kit import single_line

if TYPE_CHECKING:
    from robust_qa.answering import Session
    from robust_qa.cli import Run

    from .checking import Checked

_MARKS = {"supported": "✓", "contradicted": "✗", "not found": "?"}


@click.command(epilog='Example: rqa check -d handbook/ "A crossing costs 4.20."')
@click.argument("answer")
@click.option(
    "-d",
    "--docs",
    metavar="PATH",
    type=click.Path(exists=True, path_type=Path),
    multiple=True,
    help="Check against these files or folders. May be repeated.",
)
@click.option(
    "--passages",
    metavar="FILE",
    type=click.Path(path_type=Path, allow_dash=True),
    help="Check against the passages in FILE (- for stdin): JSON lines or plain text.",
)
@click.option("-k", metavar="N", type=click.IntRange(1, 10_000), help="Passages to retrieve per sentence.")
@click.option("--json", "as_json", is_flag=True, help="Print the verdicts as a JSON object.")
@click.option("-O", "--option", type=KeyValue(), multiple=True, help="Set a configuration option. May be repeated.")
@click.pass_obj
def check(
    run: Run,
    /,
    *,
    answer: str,
    docs: tuple[Path, ...],
    passages: Path | None,
    k: int | None,
    as_json: bool,
    option: tuple[tuple[str, str], ...],
) -> None:
    """Check each sentence of ANSWER against documents, passages or your index.

    The exit code is 6 if a sentence is contradicted or not found.
    """
    from robust_qa.cli.batch_run import in_session

    from .checking import check_answer, check_sentences

    if passages and docs:
        raise click.UsageError("--passages cannot be combined with --docs.")
    answer = answer.encode("utf-8", "replace").decode().strip()  # an argument that is not UTF-8 has lone surrogates
    if not answer:
        raise InputError("The answer is empty.", hint='Example: rqa check "A crossing costs 4.20."')

    async def work(session: Session) -> list[Checked]:
        return await check_answer(answer, session.toolbox_for(Question(answer)))

    if passages:
        found = check_sentences(answer, passages_in(passages))
    else:
        found = in_session(run, Answering(docs=docs, k=k, option=option), work)
    if as_json:
        _print_json(found)
    else:
        _print(found)
    supported = sum(each.verdict == "supported" for each in found)
    run.say(f"{supported} of {len(found)} sentences are supported")
    if supported < len(found):
        raise click.exceptions.Exit(Exit.NEGATIVE)


def _print(found: list[Checked]) -> None:
    from rich.padding import Padding
    from rich.text import Text

    from robust_qa.cli import console

    out = console()
    for each in found:
        out.print(Text(f"{_MARKS[each.verdict]} {each.verdict}: {single_line(each.sentence)}"))
        if cited := each.citation:
            where = single_line(cited.source or cited.title or cited.id)
            out.print(Padding(Text(f"“{single_line(cited.quote)}” {where}".rstrip()), (0, 0, 0, 4)))


def _print_json(found: list[Checked]) -> None:
    import msgspec

    encoded = msgspec.json.encode({"sentences": found})
    click.echo(msgspec.json.format(encoded, indent=2).decode())
