"""`rqa cache`: show or clear the cache of finished calls."""

from __future__ import annotations

import shutil

import click

from robust_qa.cli import Run, pass_run
from robust_qa.kit import cache_dir


@click.group("cache", epilog="Example: rqa cache info")
def command() -> None:
    """Show or clear the cache of finished calls."""


@command.command("info", epilog="Example: rqa cache info")
@pass_run
def info(run: Run) -> None:
    """Show where the cache is and how full it is."""
    from robust_qa.answering import open_cache

    cache = open_cache(run.load_config([("cache.enabled", "true")]))
    assert cache is not None
    content = cache.info()
    click.echo(f"{content.path}: {content.entries} calls, {_size(content.size)} (at most {_size(cache.max_bytes)})")
    indexes = list((cache_dir() / "docs").glob("*.used"))
    click.echo(f"{cache_dir() / 'docs'}: {len(indexes)} indexes of --docs")
    cache.close()
    if cache.trouble:
        run.say(cache.trouble)


@command.command("clear", epilog="Example: rqa cache clear")
@pass_run
def clear(run: Run) -> None:
    """Delete all cached calls and the indexes of --docs."""
    from robust_qa.answering import open_cache

    cache = open_cache(run.load_config([("cache.enabled", "true")]))
    assert cache is not None
    deleted = cache.clear()
    cache.close()
    indexes = len(list((cache_dir() / "docs").glob("*.used")))
    shutil.rmtree(cache_dir() / "docs", ignore_errors=True)
    calls = "a damaged cache" if deleted is None else f"{deleted} calls"
    run.say(f"Deleted {calls} and {indexes} indexes of --docs.")


def _size(count: int) -> str:
    return f"{count / 1024 / 1024:.1f} MB" if count >= 1024 * 1024 else f"{count / 1024:.0f} kB"
