"""The command `rqa search`."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from robust_qa import Exit, InputError, Question, Quote, RqaError
from robust_qa.cli import Answering, filter_options, print_data, print_source, retrieval_options
from robust_qa.kit import cite_quote, closest_quotes, collected_warnings, content_terms, term_spans, whole_characters

if TYPE_CHECKING:
    from robust_qa import Passage
    from robust_qa.answering import Session
    from robust_qa.cli import Run


@click.command("search", epilog='Example: rqa search "ferry fares" --open 1')
@click.argument("words", nargs=-1, required=True)
@retrieval_options()
@filter_options
@click.option("--json", "as_json", is_flag=True, help="Print the whole passages as JSON, for rqa ask --passages.")
@click.option("--open", "opened", metavar="N", type=click.IntRange(1), help="Open the file of passage N, at its line.")
@click.pass_obj
def search(
    run: Run,
    /,
    *,
    words: tuple[str, ...],
    filters: Mapping[str, str],
    as_json: bool,
    opened: int | None,
    **answering: Any,
) -> None:
    """Find the passages that are closest to WORDS, best first.

    The exit code is 6 if there are none.
    """
    from robust_qa.answering import check_question
    from robust_qa.cli.answering import in_session

    query = whole_characters(" ".join(words)).strip()
    if not query:
        raise InputError("There are no words to search for.", hint='Example: rqa search "ferry fares"')
    check_question(query)

    async def retrieved(session: Session) -> list[Passage]:
        with collected_warnings() as warnings:
            found = await session.toolbox_for(Question(query)).retrieve()
        for text in warnings:
            run.say(text)
        return found

    passages = in_session(run, Answering(**answering), retrieved, detailed=False, filters=filters)
    if not passages:
        run.say("no passage was found")
        raise click.exceptions.Exit(Exit.NEGATIVE)
    if opened is not None:
        if opened > len(passages):
            raise InputError(f"There is no passage {opened}: {len(passages)} were found.", hint="Find more with -k N.")
        open_passage(passages[opened - 1])
    elif as_json:
        _print_json(passages)
    else:
        _print(query, passages)


def _print(query: str, passages: Sequence[Passage]) -> None:
    terms = set(content_terms(query))
    quotes = {passages[each.passage].text: each for each in closest_quotes(query, passages, len(passages))}
    for number, passage in enumerate(passages):
        quote = quotes.get(passage.text, Quote(number, 0, 0))
        at, end = quote.highlight or (quote.start, quote.end)
        found = term_spans(passage.text[at:end], terms)
        first = (at + found[0][0], at + found[0][1]) if found else None  # where to cut a long sentence
        citation = cite_quote(replace(quote, passage=number, highlight=first), passages)
        print_source(citation, number + 1, term_spans(citation.quote, terms))


def _print_json(passages: Sequence[Passage]) -> None:
    import msgspec

    print_data(msgspec.to_builtins(passages))


_WITH_GOTO = {"code", "codium", "cursor"}  # these take no +LINE


def open_passage(passage: Passage) -> None:
    """Open the passage's file at its line with $VISUAL, $EDITOR or $PAGER, or a file without lines as the desktop does.

    Raises InputError if the passage is from no file, RqaError if the program does not start.
    """
    if not passage.file:
        raise InputError(f"The passage is not from a file: {passage.source or 'it has no source'}.")
    line = passage.place.removeprefix("line ").partition(",")[0]
    if not line.isdecimal():  # a page or a sheet
        click.launch(passage.file)
        return
    command = shlex.split(next(filter(None, map(os.environ.get, ("VISUAL", "EDITOR", "PAGER"))), "less"))
    at = ["--goto", f"{passage.file}:{line}"] if Path(command[0]).name in _WITH_GOTO else [f"+{line}", passage.file]
    try:
        ended = subprocess.run([*command, *at], check=False)  # noqa: S603
    except OSError as error:
        raise RqaError(
            f"Cannot start {command[0]}: {error.strerror}.", hint="Set VISUAL or EDITOR to the command of your editor."
        ) from error
    if ended.returncode:
        raise RqaError(f"{command[0]} ended with exit code {ended.returncode}.")
