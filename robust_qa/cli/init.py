"""`rqa init`: write a starter configuration."""

from __future__ import annotations

from pathlib import Path

import click

from ..config import environment, trust
from ..config import layers as config
from ..errors import InputError

_PACKAGE = Path(__file__).parents[1]
_STARTER = _PACKAGE / "host" / "templates" / "starter.toml"


@click.command("init", epilog="Example: rqa init")
@click.option("--user", is_flag=True, help="Write your user configuration, used in every folder.")
def command(user: bool) -> None:
    """Write a commented rqa.toml to this folder. Never replaces an existing file."""
    path = environment.config_dir() / config.USER_FILE_NAME if user else Path.cwd() / config.FILE_NAME
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    starter = _STARTER.read_bytes()
    try:
        with path.open("xb") as file:
            file.write(starter)
    except FileExistsError:
        raise InputError(f"{path} already exists.", hint="Edit it, or rename it and run this command again.") from None
    except OSError as error:  # a full disk
        path.unlink(missing_ok=True)
        error.filename = str(path)
        raise
    if not user:
        trust.trust(path, starter)
    click.echo(f"Wrote {path}. After each change: rqa config check{'' if user else ', rqa config trust'}", err=True)
    click.echo(f"All options with their defaults: {_example()}", err=True)


def _example() -> Path:
    """Return the path of config.example.toml, in the package or in the source checkout."""
    inside = _PACKAGE / "config.example.toml"
    return inside if inside.is_file() else _PACKAGE.parent / inside.name
