"""`rqa open`: show the document behind a citation of the last answer."""

from __future__ import annotations

from contextlib import closing

import click

from robust_qa import InputError, RqaError
from robust_qa.cli import Run, pass_run
from robust_qa.kit import single_line


@click.command("open", epilog="Example: rqa open 2")
@click.argument("number", metavar="[N]", type=click.IntRange(1), default=1)
@click.option("--answer", "id", metavar="ID", type=int, help="Of the answer ID in the history. Default: the last one.")
@pass_run
def command(run: Run, /, number: int, id: int | None) -> None:
    """Show where source N of the last answer stands in its document, with the quote marked."""
    from robust_qa.cli import from_json
    from rqa_files import Unreadable, unmoved
    from rqa_files.showing import print_view, view_of

    from .store import History

    with closing(History()) as history:
        newest = [entry.id for entry in history.entries(limit=1)] if id is None else [id]
        if not newest:
            raise InputError("The history has no answer.", hint="Ask first: rqa ask QUESTION")
        answer = from_json(history.whole(newest[0])[1])
    known = {(each.source, each.id) for each in answer.numbered}
    sources = [*answer.numbered, *(each for each in answer.closest if (each.source, each.id) not in known)]
    if number > len(sources):
        raise InputError(f"There is no source {number}: the answer has {len(sources)}.")
    cited = sources[number - 1]
    path = unmoved(cited.file) if cited.file else None
    if path is None:
        raise InputError(f"Source {number} is no file that is still there: {single_line(cited.where or cited.title)}.")
    try:
        print_view(view_of(path, run.host.file_formats, cited.quote, cited.place), single_line(cited.where))
    except (OSError, Unreadable) as error:
        raise RqaError(f"{path} cannot be read: {error}.") from error
