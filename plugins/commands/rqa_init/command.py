"""`rqa init`: write a starter configuration."""

from __future__ import annotations

from pathlib import Path

import click

from robust_qa import InputError
from robust_qa.answering import FILE_NAME, USER_FILE_NAME, trust
from robust_qa.cli import Run, pass_run
from robust_qa.cli.reference import as_toml, option_tables, options_of
from robust_qa.kit import atomic_write, config_dir


@click.command("init", epilog="Example: rqa init")
@click.option("--user", is_flag=True, help="Write your user configuration, used in every folder.")
@pass_run
def command(run: Run, user: bool) -> None:
    """Write a commented rqa.toml to this folder. Never replaces an existing file."""
    path = config_dir() / USER_FILE_NAME if user else Path.cwd() / FILE_NAME
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    starter = _starter(run).encode()
    if path.exists():
        raise InputError(f"{path} already exists.", hint="Edit it, or rename it and run this command again.")
    with atomic_write(path) as file:
        file.write(starter)
    if not user:
        trust(path, starter)
    run.say(f"Wrote {path}. After each change: rqa config check{'' if user else ', rqa config trust'}")


def _starter(run: Run) -> str:
    """Return a configuration without effect: the defaults, and what each component needs that needs options."""
    first, *others = option_tables(run.host)
    needed = [table for table in others if any(option.is_required for option in options_of(table.owner))]
    parts = [
        "# Configuration of rqa. `rqa config options` prints every option with its default.\n"
        "# All lines below are commented out. Remove the first # to change a value.",
        "\n".join(as_toml(first)),
        *("\n".join(as_toml(table, only_required=True)) for table in needed),
    ]
    return "\n\n".join(parts) + "\n"
