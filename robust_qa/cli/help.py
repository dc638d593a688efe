"""`rqa help`: the manual pages, which travel with the package."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import click

from ..errors import InputError, did_you_mean

_PACKAGE = Path(__file__).parents[1]


@click.command("help", epilog="Example: rqa help strategies")
@click.argument("topic", required=False)
@click.pass_context
def command(ctx: click.Context, topic: str | None) -> None:
    """Show the manual page of TOPIC: a command, config, expressions, plugin or strategies."""
    pages = manual_pages()
    page = pages.get((topic or "rqa").removeprefix("rqa-"))
    if page is None:
        _show_help(ctx, str(topic), list(pages))
    elif not _shown_by_man(page):
        from .manual import plain

        click.echo_via_pager(plain(page.read_text("utf-8")).rstrip())


def _shown_by_man(page: Path) -> bool:
    """Whether there is a man(1) that shows the file; not every one takes a file."""
    if not shutil.which("man"):
        return False
    pager = [] if sys.stdout.isatty() else ["-P", "cat"]
    # A name with a slash is a file to every man(1); not all of them have man-db's -l.
    return subprocess.run(["man", *pager, str(page)], check=False).returncode == 0  # noqa: S603, S607


def manual_pages() -> dict[str, Path]:
    """The manual pages by topic ("rqa" is the whole tool's), in the package or in the checkout it runs from."""
    folder = _PACKAGE / "man"
    if not folder.is_dir():
        folder = _PACKAGE.parent / "man"
    return {page.stem.removeprefix("rqa-"): page for page in sorted(folder.glob("rqa*.[1-9]"))}


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
