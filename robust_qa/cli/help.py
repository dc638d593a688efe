"""`rqa help`: show a page of the manual."""

from __future__ import annotations

from pathlib import Path

import click
from click.shell_completion import CompletionItem

from ..errors import InputError, did_you_mean

_PACKAGE = Path(__file__).parents[1]


def _topics(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    root = ctx.find_root()
    assert isinstance(root.command, click.Group)
    topics = {*manual_pages(), *root.command.list_commands(root)}
    return [CompletionItem(topic) for topic in sorted(topics) if topic.startswith(incomplete)]


@click.command("help", epilog="Example: rqa help strategies")
@click.argument("topic", required=False, shell_complete=_topics)
@click.pass_context
def command(ctx: click.Context, topic: str | None) -> None:
    """Show the manual page of TOPIC: a command, config, expressions, plugin or strategies."""
    pages = manual_pages()
    page = pages.get((topic or "rqa").removeprefix("rqa-"))
    if page is None:
        _show_help(ctx, str(topic), list(pages))
    else:
        from .manual import render

        click.echo_via_pager(render(page.read_text("utf-8")))


def manual_pages() -> dict[str, Path]:
    """The Markdown file of each topic ("rqa" is the whole tool), from the package or from the checkout."""
    folder = _PACKAGE / "man"
    if not folder.is_dir():
        folder = _PACKAGE.parent / "man"
    return {page.name.split(".")[0].removeprefix("rqa-"): page for page in sorted(folder.glob("rqa*.md"))}


def _show_help(ctx: click.Context, topic: str, pages: list[str]) -> None:
    group = ctx.find_root().command
    assert isinstance(group, click.Group)
    found = group.get_command(ctx.find_root(), topic)
    if found is None:
        known = [*pages, *group.list_commands(ctx.find_root())]
        raise InputError(
            f"There is no manual page on {topic!r}; the topics are {', '.join(sorted(set(known)))}.",
            hint=did_you_mean(topic, known),
        )
    with click.Context(found, info_name=topic, parent=ctx.find_root()) as theirs:
        click.echo(found.get_help(theirs))
