"""The command `rqa search`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from robust_qa import Exit, InputError, Question, Quote
from robust_qa.cli import Answering, filter_options, print_data, print_source, retrieval_options
from robust_qa.kit import cite_quote, closest_quotes, content_terms, term_spans, whole_characters

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
        return await session.toolbox_for(Question(query)).retrieve()

    passages = in_session(run, Answering(**answering), retrieved, detailed=False, filters=filters)
    if not passages:
        run.say("no passage was found")
        raise click.exceptions.Exit(Exit.NEGATIVE)
    if opened is not None:
        from .opening import open_passage

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
        found = term_spans(passage.text[quote.start : quote.end], terms)
        at = quote.start
        first = (at + found[0][0], at + found[0][1]) if found else None  # where to cut a long sentence
        citation = cite_quote(replace(quote, passage=number, highlight=first), passages)
        print_source(citation, number + 1, term_spans(citation.quote, terms))


def _print_json(passages: Sequence[Passage]) -> None:
    import msgspec

    print_data(msgspec.to_builtins(passages))
