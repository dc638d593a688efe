"""The command `rqa compare`: answer one question with several strategies side by side."""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from robust_qa import Exit, InputError, Question, RqaError
from robust_qa.cli import Answering, answering_options, output_option

from .strategies import ALL, check, expand, supported, unsupported

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from robust_qa import Answer
    from robust_qa.answering import Session
    from robust_qa.cli import Run

_MIN_WIDTH = 24  # of a column, in characters
_PIPED = 100  # columns side by side need a width, also in a pipe
_GAP = 2
_MAX_QUOTES = 3


@click.command(
    epilog='Example: rqa compare "When was the tower finished?" -s rag,astute,norag --docs notes/',
)
@click.argument("question")
@output_option("FILE", "Write the answers to this file. Default: stdout.", formats=("txt", "md"), dir_okay=False)
@answering_options(several=True)
@click.option(
    "--passages",
    metavar="FILE",
    type=click.Path(path_type=Path, allow_dash=True),
    help="Answer from the passages in this file (JSON lines or plain text; - is stdin).",
)
@click.pass_obj
def compare(
    run: Run,
    /,
    *,
    question: str,
    out: Path | None,
    strategy: tuple[str, ...],
    passages: Path | None,
    **answering: Any,
) -> None:
    """Answer QUESTION with several strategies side by side.

    -s is required. `-s all` takes every strategy that the configuration can run. Ctrl-C shows those that have answered.
    """
    from robust_qa.cli import console, passages_in, print_to
    from robust_qa.cli.answering import in_session

    options = Answering(**answering)
    if not strategy:
        raise click.UsageError("Name the strategies to compare: -s rag,astute,norag.")
    if not question.strip():
        raise InputError("The question is empty.")
    if passages and (options.docs or options.retriever):
        raise click.UsageError("Use either --passages or --docs and --retriever.")
    asked = Question(question.strip(), passages=passages_in(passages) if passages else None)
    check(run, options, strategy)
    print_to(out)
    found: dict[str, Answer | RqaError | None] = {}
    stopped = None
    try:
        in_session(run, options, lambda session: _answer_each(run, session, asked, strategy, found))
    except KeyboardInterrupt as signal:
        stopped = signal
    ended = {name: answer for name, answer in found.items() if answer}
    names, answers = list(ended), list(ended.values())
    failures = [answer for answer in answers if isinstance(answer, RqaError)]
    if answers and len(failures) == len(answers) and not stopped:
        raise failures[0]
    page = console()
    wide = page.file.isatty() or "COLUMNS" in os.environ
    for table in side_by_side(names, answers, page.width if wide else _PIPED):
        _print(page, table)
    if stopped:
        if waiting := [name for name in found if name not in ended]:
            run.say(f"stopped before {', '.join(waiting)} had answered")
        raise stopped
    if failures:
        raise click.exceptions.Exit(Exit.ROWS_FAILED)


async def _answer_each(
    run: Run, session: Session, question: Question, asked: Sequence[str], found: dict[str, Answer | RqaError | None]
) -> None:
    """Put the answer or the error of each strategy into `found`, None before. ConfigError if one does not exist."""
    names = expand(session, asked)
    for name in names:
        session.check_strategy(name)
    if ALL in asked:
        errors = unsupported(session, names, has_passages=question.passages is not None)
        names = supported(names, errors)
        if errors:
            run.say(f"This configuration cannot run: {', '.join(errors)}.")

    async def answer(name: str) -> None:
        try:
            found[name] = await session.answer(question, strategy=name)
        except RqaError as error:
            found[name] = error

    found |= dict.fromkeys(names)
    await asyncio.gather(*map(answer, names))


def side_by_side(names: Sequence[str], answers: Sequence[Answer | RqaError], width: int) -> list[Table]:
    """Return tables of as many strategies as fit into `width`, one below the other."""
    from rich.table import Table
    from rich.text import Text

    from robust_qa.kit import printable

    columns = max(1, min(len(names), (width + _GAP) // (_MIN_WIDTH + _GAP)))
    columns = math.ceil(len(names) / math.ceil(len(names) / columns))  # tables of even length
    column_width = (width + _GAP) // columns - _GAP
    found = []
    for start in range(0, len(names), columns):
        table = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False, collapse_padding=True)
        for name in names[start : start + columns]:
            table.add_column(Text(printable(name), style="bold underline"), width=column_width, overflow="fold")
        table.add_row(*map(_answer_text, answers[start : start + columns]))
        found.append(table)
    return found


def _answer_text(answer: Answer | RqaError) -> Text:
    from rich.text import Text

    from robust_qa.cli import cost_line
    from robust_qa.kit import printable, single_line

    text = Text()
    if isinstance(answer, RqaError):
        text.append(f"failed: {printable(answer.message)}", style="red")
        if answer.hint:
            text.append(f"\n\n{printable(answer.hint)}", style="dim")
        return text
    if answer.text is None:
        text.append(printable(answer.lead))
    else:
        text.append(printable(answer.marked(lambda _: "")), style="bold")
    for position in answer.conflicts:
        share = "" if position.confidence is None else f" {position.confidence:.0%}"
        text.append(f"\n{'●' if position.chosen else '○'} {single_line(position.text)}{share}")
    cited = answer.numbered if answer.abstained else answer.citations
    for citation in cited[:_MAX_QUOTES]:
        where = single_line(citation.title or citation.source or citation.id) or "a passage"
        text.append(f"\n\n{where}: ", style="dim")
        text.append(f"“{single_line(citation.quote)}”", style="italic")
    if (more := len(cited) - _MAX_QUOTES) > 0:
        text.append(f"\nand {more} more", style="dim")
    text.append(f"\n\n{cost_line(answer)}", style="dim")
    return text


def _print(out: Console, table: Table) -> None:
    """Print the table without rich's padding at the ends of lines."""
    with out.capture() as captured:
        out.print(table)
    for line in captured.get().splitlines():
        click.echo(line.rstrip())
    click.echo()
