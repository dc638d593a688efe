"""The command `rqa compare`: answer one question with several strategies, equal answers together."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from robust_qa import Exit, InputError, Question, RqaError
from robust_qa.cli import Answering, answering_options, output_option
from rqa_eval.strategies import ALL, check, expand, supported, unsupported

if TYPE_CHECKING:
    from robust_qa import Answer
    from robust_qa.answering import Session
    from robust_qa.cli import Run

_SURE, _PROBABLE, _UNSURE, _FAILED = range(4)  # the order of answers


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
    """Answer QUESTION with several strategies, and show equal answers together.

    Without -s, and with `-s all`, every strategy answers that the configuration can run. Ctrl-C shows those that have
    answered.
    """
    from robust_qa.cli import passages_in, print_to
    from robust_qa.cli.answering import in_session

    options = Answering(**answering)
    if not question.strip():
        raise InputError("The question is empty.")
    if passages and (options.docs or options.retriever):
        raise click.UsageError("Use either --passages or --docs and --retriever.")
    asked = Question(question.strip(), passages=passages_in(passages) if passages else None)
    names = strategy or (ALL,)
    check(run, options, names)
    print_to(out)
    found: dict[str, Answer | RqaError | None] = {}
    stopped = None
    try:
        in_session(run, options, lambda session: _answer_each(run, session, asked, names, found))
    except KeyboardInterrupt as signal:
        stopped = signal
    ended = {name: answer for name, answer in found.items() if answer}
    failures = [answer for answer in ended.values() if isinstance(answer, RqaError)]
    if ended and len(failures) == len(ended) and not stopped:
        raise failures[0]
    _print_groups(ended, whole=run.verbosity > 0)
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
        if errors and run.verbosity > 0:
            run.say(f"This configuration cannot run: {', '.join(errors)}.")

    async def answer(name: str) -> None:
        try:
            found[name] = await session.answer(question, strategy=name)
        except RqaError as error:
            found[name] = error

    found |= dict.fromkeys(names)
    await asyncio.gather(*map(answer, names))


def _print_groups(answers: Mapping[str, Answer | RqaError], *, whole: bool) -> None:
    """Print each different answer once, as `rqa ask` does, below the strategies that give it. Sure ones come first."""
    from rich.text import Text

    from robust_qa.cli import console, cost_line, print_answer, print_wrapped
    from robust_qa.kit import printable, single_line

    groups: dict[tuple[int, str], dict[str, Answer | RqaError]] = {}
    for name, answer in answers.items():
        groups.setdefault(_key(answer), {})[name] = answer
    out = console()
    for (rank, _), group in sorted(groups.items(), key=lambda each: (each[0][0], -len(each[1]))):
        print_wrapped(out, Text(single_line(", ".join(group)), "bold underline"))
        given = [answer for answer in group.values() if not isinstance(answer, RqaError)]
        failed = next((answer for answer in group.values() if isinstance(answer, RqaError)), None)
        if failed:
            print_wrapped(out, Text(printable(f"failed: {failed.message} {failed.hint}".strip()), "red"))
        else:
            fullest = max(given, key=lambda answer: (answer.confidence or 0, len(answer.numbered)))
            print_answer(fullest, cost=False, whole=whole)
            out.print()
        for name, answer in group.items():
            if not isinstance(answer, RqaError):
                why = [answer.reason] if rank == _UNSURE and answer.reason else []
                print_wrapped(out, Text(single_line(" · ".join((name, *why, cost_line(answer)))), "dim"), hanging=2)
        out.print()


def _key(answer: Answer | RqaError) -> tuple[int, str]:
    """Return the rank of a group and what its answers have in common."""
    from robust_qa.kit import answer_key

    if isinstance(answer, RqaError):
        return _FAILED, answer.message
    if answer.text is not None:
        return _SURE, f"{answer.standing} {answer_key(answer.text)}"
    return (_PROBABLE, answer_key(answer.probable.text)) if answer.probable else (_UNSURE, "")
