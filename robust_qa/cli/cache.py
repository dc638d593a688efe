"""`rqa cache`: what is kept of finished calls."""

from __future__ import annotations

import shutil

import click

from ..config import environment
from .run import Run, pass_run


@click.group("cache", epilog="Example: rqa cache info")
def command() -> None:
    """Look at the cache of finished calls, or empty it."""


@command.command("info", epilog="Example: rqa cache info")
@pass_run
def info(run: Run) -> None:
    """Where the cache is, and what it holds."""
    from ..calls.cache import open_cache

    cache = open_cache(run.load_config([("cache.enabled", "true")]))
    assert cache is not None
    held = cache.info()
    click.echo(f"{held.path}: {held.entries} calls, {_size(held.size)} (at most {_size(cache.max_bytes)})")
    indexes = list((environment.cache_dir() / "docs").glob("*.used"))
    click.echo(f"{environment.cache_dir() / 'docs'}: {len(indexes)} indexes of --docs")
    cache.close()
    if cache.trouble:
        run.say(cache.trouble)


@command.command("clear", epilog="Example: rqa cache clear")
@pass_run
def clear(run: Run) -> None:
    """Forget all finished calls, and the indexes of --docs."""
    from ..calls.cache import open_cache

    cache = open_cache(run.load_config([("cache.enabled", "true")]))
    assert cache is not None
    forgotten = cache.clear()
    cache.close()
    indexes = len(list((environment.cache_dir() / "docs").glob("*.used")))
    shutil.rmtree(environment.cache_dir() / "docs", ignore_errors=True)
    calls = "the calls of a damaged cache" if forgotten is None else f"{forgotten} calls"
    click.echo(f"Forgot {calls} and {indexes} indexes of --docs.", err=True)


def _size(count: int) -> str:
    return f"{count / 1024 / 1024:.1f} MB" if count >= 1024 * 1024 else f"{count / 1024:.0f} kB"
