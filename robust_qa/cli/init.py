"""`rqa init`: a starter configuration."""

from __future__ import annotations

from pathlib import Path

import click

from ..config import environment, trust
from ..config import layers as config
from ..errors import InputError

_PACKAGE = Path(__file__).parents[1]
_STARTER = _PACKAGE / "host" / "templates" / "starter.toml"


@click.command("init", epilog="Example: rqa init")
@click.option("--user", is_flag=True, help="Write your own file, used everywhere, instead of one for this folder.")
def command(user: bool) -> None:
    """Write a commented rqa.toml here. A file that is there already stays as it is."""
    path = environment.config_dir() / config.USER_FILE_NAME if user else Path.cwd() / config.FILE_NAME
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    starter = _STARTER.read_bytes()
    try:
        with path.open("xb") as file:
            file.write(starter)
    except FileExistsError:
        raise InputError(f"{path} is there already, and stays as it is.", hint="Edit it, or move it away.") from None
    if not user:
        trust.trust(path, starter)
    click.echo(f"Wrote {path}. After changing it: rqa config check{'' if user else ', rqa config trust'}", err=True)
    click.echo(f"Every option, with its default: {_example()}", err=True)


def _example() -> Path:
    """config.example.toml, in the package or in the checkout it runs from."""
    inside = _PACKAGE / "config.example.toml"
    return inside if inside.is_file() else _PACKAGE.parent / inside.name
