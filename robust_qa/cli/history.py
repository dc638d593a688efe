"""`rqa history`: show, search, export or delete the answers of earlier questions."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..sanitize import printable, printable_json, single_line
from .run import Run, pass_run

if TYPE_CHECKING:
    from ..answering.history import Entry

F = TypeVar("F", bound=Callable[..., Any])


def _list_options(command: F) -> F:
    for add in (
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
        click.option(
            "-n", "limit", metavar="N", type=click.IntRange(1), default=20, show_default=True, help="Show N answers."
        ),
    ):
        command = add(command)
    return command


class _History(click.Group):
    """`rqa history 41` shows the answer 41."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        return super().resolve_command(ctx, ["show", *args] if args[0].isdecimal() else args)


@click.group(
    "history",
    cls=_History,
    invoke_without_command=True,
    epilog="Examples: rqa history 41\n\nrqa history search lighthouse",
)
@_list_options
@click.pass_context
def command(ctx: click.Context, /, *, limit: int, as_json: bool) -> None:
    """Show, search, export or delete the answers of `rqa ask`, `rqa chat` and `rqa serve`.

    Without a command: list the newest answers.
    """
    if ctx.invoked_subcommand is None:
        _print_list((), limit, as_json)


@command.command("search", epilog="Example: rqa history search lighthouse built")
@click.argument("words", nargs=-1, required=True)
@_list_options
def search(words: tuple[str, ...], limit: int, as_json: bool) -> None:
    """List the answers with all WORDS in the question or the answer, then those with WORDS in the quotes."""
    _print_list(words, limit, as_json)


@command.command("show", epilog="Example: rqa history show 12")
@click.argument("id", type=int)
@click.option("--json", "as_json", is_flag=True, help="Print the whole answer as JSON.")
@pass_run
def show(run: Run, /, id: int, as_json: bool) -> None:
    """Show the answer ID with its sources."""
    from rich.text import Text

    from ..answering.history import History
    from ..encoding import from_json
    from . import output

    with closing(History()) as history:
        entry, whole = history.whole(id)
    if as_json:
        output.print_data({**_as_json(entry), **whole})
        return
    out = output.console()
    out.print(Text(printable(entry.question)))
    out.print(Text(f"{_when(entry):%Y-%m-%d %H:%M} · rqa {entry.command}", style="dim"))
    out.print()
    output.print_answer(from_json(whole), cost=run.verbosity >= 0, whole=run.verbosity > 0)


@command.command("export", epilog="Example: rqa history export > answers.jsonl")
def export() -> None:
    """Print all answers as JSON lines, the oldest first."""
    import msgspec

    from ..answering.history import History

    with closing(History()) as history:
        for entry, whole in history.all():
            click.echo(printable_json(msgspec.json.encode({**_as_json(entry), **whole})))


@command.command("rm", epilog="Example: rqa history rm 12 13")
@click.argument("ids", metavar="[ID]...", type=int, nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Delete all answers.")
def remove(ids: tuple[int, ...], everything: bool) -> None:
    """Delete the answers ID."""
    from ..answering.history import History

    if bool(ids) == everything:
        raise click.UsageError("Name the answers to delete, or use --all. Example: rqa history rm 12")
    with closing(History()) as history:
        if everything:
            history.clear()
        else:
            history.remove(ids)


def _print_list(words: Sequence[str], limit: int, as_json: bool) -> None:
    from rich.text import Text

    from ..answering.history import History
    from ..encoding import from_json
    from . import output

    with closing(History()) as history:
        entries = history.entries(words, limit=limit)
        leads = [entry.answer or from_json(history.whole(entry.id)[1]).lead for entry in entries]
    if as_json:
        output.print_data([*map(_as_json, entries)])
        return
    if not entries:
        output.say("no answer has these words" if words else "the history is empty")
    out = output.console()
    width = max((len(str(entry.id)) for entry in entries), default=0)
    for entry, lead in zip(entries, leads, strict=True):
        line = Text(f"{entry.id:{width}}  {_when(entry):%Y-%m-%d %H:%M}  {single_line(entry.question)}  ")
        line.append(single_line(lead), style="bold" if entry.answer else "dim")
        if out.is_terminal:
            line.truncate(out.width, overflow="ellipsis")
        out.print(line, soft_wrap=True)


def _when(entry: Entry) -> datetime:
    return datetime.fromtimestamp(entry.time).astimezone()


def _as_json(entry: Entry) -> dict[str, Any]:
    return {**dataclasses.asdict(entry), "time": _when(entry).isoformat(timespec="seconds")}
