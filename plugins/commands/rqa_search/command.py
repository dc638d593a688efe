"""The command `rqa search`."""

from __future__ import annotations

import math
import os
import shlex
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from robust_qa import Exit, InputError, Question, Quote, RqaError
from robust_qa.cli import Answering, filter_options, print_data, print_source, retrieval_options
from robust_qa.kit import (
    cite_quote,
    closest_quotes,
    collected_warnings,
    content_terms,
    is_row,
    sentences,
    term_spans,
    whole_characters,
)

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
    from robust_qa.answering import check_question, corrected
    from robust_qa.cli.answering import in_session

    query = whole_characters(" ".join(words)).strip()
    if not query:
        raise InputError("There are no words to search for.", hint='Example: rqa search "ferry fares"')
    check_question(query)

    asked, said = list[str](), list[str]()

    async def retrieved(session: Session) -> list[Passage]:
        with collected_warnings() as warnings:
            toolbox = session.toolbox_for(Question(query))
            corrections = await session.corrections(query, toolbox)
            found = await toolbox.retrieve(corrected(query, corrections))
        for text in warnings:
            run.say(text)
        said.extend(warnings)
        if corrections:
            run.say(f"searched with: {', '.join(corrections.values())}")
        asked.append(corrected(query, corrections))
        return found

    passages = in_session(run, Answering(**answering), retrieved, detailed=False, filters=filters)
    if not passages:
        if not said:
            run.say("no passage was found")
        raise click.exceptions.Exit(Exit.NEGATIVE)
    if opened is not None:
        if opened > len(passages):
            raise InputError(f"There is no passage {opened}: {len(passages)} were found.", hint="Find more with -k N.")
        open_passage(passages[opened - 1])
    elif as_json:
        _print_json(passages)
    else:
        _print(asked[-1], passages)


def _print(query: str, passages: Sequence[Passage]) -> None:
    terms = set(content_terms(query))
    closest = {passages[each.passage].text: each for each in closest_quotes(query, passages, len(passages))}
    rarity = _rarity(terms, passages)
    for number, passage in enumerate(passages):
        quote = _hit(passage.text, rarity) or closest.get(passage.text, Quote(number, 0, 0))
        at, end = quote.highlight or (quote.start, quote.end)
        found = term_spans(passage.text[at:end], terms)
        first = (at + found[0][0], at + found[0][1]) if found else None  # where to cut a long sentence
        citation = cite_quote(replace(quote, passage=number, highlight=first), passages)
        print_source(citation, number + 1, term_spans(citation.quote, terms))


_SHOWN = 60  # words of a hit with its neighbours, as many as a quote may have


def _rarity(terms: Set[str], passages: Sequence[Passage]) -> dict[str, float]:
    """Return the weight of each term that a sentence of the passages has: the fewer have it, the more."""
    found = [
        set(content_terms(text[slice(*span)])) for text in {each.text for each in passages} for span in sentences(text)
    ]
    counts = Counter(term for sentence in found for term in sentence & terms)
    return {term: math.log(1 + len(found) / count) for term, count in counts.items()}


def _hit(text: str, rarity: Mapping[str, float]) -> Quote | None:
    """Return the sentence with the rarest words of the query between its neighbours, or None if no sentence has one.

    A row of a table has no neighbours.
    """
    spans = sentences(text)
    weights = [sum(rarity.get(term, 0) for term in set(content_terms(text[slice(*span)]))) for span in spans]
    if not any(weights):
        return None
    at = weights.index(max(weights))
    near = spans[at : at + 1] if is_row(text[slice(*spans[at])]) else spans[max(0, at - 1) : at + 2]
    while len(near) > 1 and len(text[near[0][0] : near[-1][1]].split()) > _SHOWN:
        near = near[1:] if near[0] != spans[at] else near[:-1]
    return Quote(0, near[0][0], near[-1][1], highlight=spans[at])


def _print_json(passages: Sequence[Passage]) -> None:
    import msgspec

    print_data(msgspec.to_builtins(passages))


_WITH_GOTO = {"code", "codium", "cursor"}  # these take no +LINE


def open_passage(passage: Passage) -> None:
    """Open the passage's file at its line with $VISUAL, $EDITOR or $PAGER, or a file without lines as the desktop does.

    Raises InputError if the passage is from no file, RqaError if no program opens it.
    """
    if not passage.file:
        raise InputError(
            f"The passage is not from a file: {passage.source or 'it has no source'}.",
            hint="Read it with --json, which prints whole passages.",
        )
    line = passage.place.removeprefix("line ").partition(",")[0]
    if not line.isdecimal():  # a page or a sheet
        if click.launch(passage.file, wait=True):
            raise RqaError(
                f"No program here opens {passage.file}.",
                hint=f"Open it on a machine with a desktop{f', at {passage.place}' if passage.place else ''}.",
            )
        return
    command = shlex.split(next(filter(None, map(os.environ.get, ("VISUAL", "EDITOR", "PAGER"))), "less"))
    at = ["--goto", f"{passage.file}:{line}"] if Path(command[0]).name in _WITH_GOTO else [f"+{line}", passage.file]
    hint = f"Set VISUAL or EDITOR to the command of your editor, or open {passage.file} at line {line} yourself."
    try:
        ended = subprocess.run([*command, *at], check=False)  # noqa: S603
    except OSError as error:
        raise RqaError(f"Cannot start {command[0]}: {error.strerror}.", hint=hint) from error
    if ended.returncode:
        raise RqaError(f"{command[0]} ended with exit code {ended.returncode}.", hint=hint)
