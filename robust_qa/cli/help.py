"""`rqa help`: show a page of the manual."""

from __future__ import annotations

import re
from pathlib import Path

import click
from click.shell_completion import CompletionItem
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown
from rich.padding import Padding
from rich.text import Text
from rich.theme import Theme

from ..errors import InputError, did_you_mean
from .output import console

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
        topics = f"The topics are {', '.join(sorted(set(known)))}."
        raise InputError(f"There is no manual page on {topic!r}.", hint=did_you_mean(topic, known) or topics)
    with click.Context(found, info_name=topic, parent=ctx.find_root()) as theirs:
        click.echo(found.get_help(theirs))


_WIDTH = 80  # columns
# Bold and underline only: a colour may be invisible on the reader's background.
_STYLES = {
    "code": "bold",
    "code_block": "none",
    "h1": "bold underline",
    "h2": "bold",
    "h3": "bold",
    "item.bullet": "none",
    "item.number": "none",
    "list": "none",
    "table.border": "none",
    "table.header": "bold",
}
_LINK_TO_PAGE = re.compile(r"\[([^\]]+)\]\([^):]+\.md(?:#[^)]*)?\)")


def render(page: str) -> str:
    """The page as text, at most 80 columns wide, with bold headings and code if stdout is a terminal."""
    screen = console()
    theme = Theme({f"markdown.{name}": style for name, style in _STYLES.items()})
    with screen.use_theme(theme), screen.capture() as captured:
        screen.print(_Page(_LINK_TO_PAGE.sub(r"\1", page), hyperlinks=False), width=min(screen.width, _WIDTH))
    return "\n".join(line.rstrip() for line in captured.get().strip().splitlines())


class _Heading(Heading):
    """A heading at the left margin, that of a section in capitals."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        title = self.text.plain
        yield Text(title.upper() if self.tag == "h2" else title, style=self.style_name)


class _CodeBlock(CodeBlock):
    """Code as it is written, indented."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Padding(Text(str(self.text).rstrip(), style=self.style), (0, 0, 0, 4))


class _Page(Markdown):
    elements = {  # noqa: RUF012 (declared by rich)
        **Markdown.elements,
        "heading_open": _Heading,
        "fence": _CodeBlock,
        "code_block": _CodeBlock,
    }
