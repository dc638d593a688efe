"""`rqa history`: show, search, export or delete the answers of earlier questions."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

import click

from robust_qa.cli import Run, pass_run
from robust_qa.kit import printable, printable_json, single_line

if TYPE_CHECKING:
    from .store import Entry

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

    from robust_qa.cli import from_json, output

    from .store import History

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


@command.command("again", epilog="Example: rqa history again 12")
@click.argument("id", type=int)
@click.pass_context
def again(ctx: click.Context, /, id: int) -> None:
    """Ask the question of the answer ID once more, with `rqa ask`."""
    from .store import History

    with closing(History()) as history:
        question = history.whole(id)[0].question
    root = ctx.find_root()
    assert isinstance(root.command, click.Group)
    if asking := root.command.get_command(root, "ask"):
        with asking.make_context("ask", ["--", question], parent=root) as context:
            asking.invoke(context)


@command.command("export", epilog="Example: rqa history export > answers.jsonl")
def export() -> None:
    """Print all answers as JSON lines, the oldest first."""
    import msgspec

    from .store import History

    with closing(History()) as history:
        for entry, whole in history.all():
            click.echo(printable_json(msgspec.json.encode({**_as_json(entry), **whole})))


@command.command("rm", epilog="Example: rqa history rm 12 13")
@click.argument("ids", metavar="[ID]...", type=int, nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Delete all answers.")
def remove(ids: tuple[int, ...], everything: bool) -> None:
    """Delete the answers ID."""
    from .store import History

    if bool(ids) == everything:
        raise click.UsageError("Name the answers to delete, or use --all. Example: rqa history rm 12")
    with closing(History()) as history:
        if everything:
            history.clear()
        else:
            history.remove(ids)


def _print_list(words: Sequence[str], limit: int, as_json: bool) -> None:
    from rich.text import Text

    from robust_qa.cli import from_json, output, print_wrapped

    from .store import History

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
        asked = Text(f"{entry.id:{width}}  {_when(entry):%Y-%m-%d %H:%M}  {single_line(entry.question)}")
        answered = Text(single_line(lead), style="bold" if entry.answer else "dim")
        if not out.is_terminal or asked.cell_len + 2 + answered.cell_len <= out.width:
            out.print(Text.assemble(asked, "  ", answered), soft_wrap=True)
            continue
        indent = width + 2 + len("2026-01-31 12:00") + 2
        print_wrapped(out, asked, hanging=indent)  # the whole question
        answered.truncate(out.width - indent, overflow="ellipsis")
        print_wrapped(out, answered, indent)


def _when(entry: Entry) -> datetime:
    return datetime.fromtimestamp(entry.time).astimezone()


def _as_json(entry: Entry) -> dict[str, Any]:
    return {**dataclasses.asdict(entry), "time": _when(entry).isoformat(timespec="seconds")}
