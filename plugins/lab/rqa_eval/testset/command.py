"""The command `rqa testset`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from robust_qa import MissingError
from robust_qa.cli import ROW_FORMATS, Answering, KeyValue, output_option, reading_options
from robust_qa.kit import printable

if TYPE_CHECKING:
    from robust_qa.answering import Session
    from robust_qa.cli import Run

    from .rules import Row


@click.command(epilog="Example: rqa testset handbook/ -o questions.jsonl")
@click.argument("docs", nargs=-1, required=True, type=click.Path(path_type=Path))
@output_option("FILE", "Write the questions to this file. Default: stdout.", formats=ROW_FORMATS, dir_okay=False)
@click.option(
    "-n",
    "number",
    metavar="N",
    type=click.IntRange(1, 100_000),
    default=50,
    show_default=True,
    help="Questions with an answer.",
)
@click.option("--seed", metavar="N", type=int, default=0, show_default=True, help="Seed of the choice of passages.")
@click.option("--reader", metavar="NAME", help="Language model that writes and checks the questions.")
@reading_options
@click.option("-O", "--option", type=KeyValue(), multiple=True, help="Set a configuration option. May be repeated.")
@click.pass_obj
def testset(
    run: Run,
    /,
    *,
    docs: tuple[Path, ...],
    out: Path | None,
    number: int,
    seed: int,
    reader: str | None,
    exclude: tuple[str, ...],
    no_ignore: bool,
    option: tuple[tuple[str, str], ...],
) -> None:
    """Write questions about DOCS, with unanswerable twins, for rqa eval.

    A language model writes and checks them. Without one, headings and definitions give a few plain ones.
    """
    import msgspec

    from robust_qa.cli import print_to, summarised
    from robust_qa.cli.answering import in_session
    from rqa_files import Rules
    from rqa_rows import print_rows

    from .asking import rows_by_model
    from .rules import passages_of, read_documents, rows_by_rules

    print_to(out)
    skipped: list[tuple[str, str]] = []
    written = False  # by a model
    documents = read_documents(docs, skipped, run.host.file_formats, Rules(exclude, no_ignore))
    for line in summarised(skipped):
        run.say(printable(line))

    async def work(session: Session) -> list[Row]:
        toolbox = session.toolbox("reader")
        if toolbox.generative:
            nonlocal written
            written = True
            return await rows_by_model(passages_of(documents), toolbox, number, seed)
        return rows_by_rules(documents, number, seed)

    rows = in_session(run, Answering(reader=reader, option=option), work)
    if not rows and written:
        raise MissingError(
            "The model wrote no question that passed the checks.",
            hint="A question needs evidence copied word for word, and the model must find its answer again. "
            "Try a larger model or more documents.",
        )
    if not rows:
        raise MissingError(
            "No question was found in the documents.",
            hint="Without a language model, questions come from definitions and from headings that ask. "
            "Configure a model with `rqa init`.",
        )
    print_rows([msgspec.json.encode(row.fields(position)) for position, row in enumerate(rows, start=1)], out)
    twins = sum(bool(row.twin_of) for row in rows)
    run.say(f"{len(rows) - twins} questions and {twins} unanswerable twins")
    if not written:
        run.say("No language model is configured, so these questions come from headings and definitions.")
        run.say("They copy the words of the documents, which makes them easy. Add a model with `rqa init`.")
