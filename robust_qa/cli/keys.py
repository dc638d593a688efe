"""`rqa keys`: store API keys, each bound to one server."""

from __future__ import annotations

import os
import sys

import click

from ..config import keys as secrets
from ..config.key import Key, variable
from ..errors import InputError
from .output import say


@click.group("keys", epilog="Example: rqa keys set openai --host api.openai.com")
def command() -> None:
    """Store API keys in a file that only you can read. rqa never prints a key."""


@command.command(
    "set",
    epilog="Example: rqa keys set openai --host api.openai.com < key.txt",
    context_settings={"allow_extra_args": True},  # else click's error would print a key given as an argument
)
@click.argument("name")
@click.option(
    "--host",
    metavar="HOST",
    help="Send the key only to this server: example.com (https) or localhost:11434.",
)
@click.pass_context
def set_key(ctx: click.Context, name: str, host: str | None) -> None:
    """Store the key NAME. Prompts for the key, or reads it from stdin."""
    secrets.check_name(name)
    if ctx.args:
        raise InputError(
            "Do not give a key on the command line, where other users can see it.",
            hint=f"Run `rqa keys set {name}`, which prompts for it. Delete this key from your shell history.",
        )
    host = secrets.check_host(host) if host is not None else None
    if sys.stdin.isatty():
        text = click.prompt(f"Key {name}", hide_input=True, err=True)
    else:
        text = sys.stdin.buffer.readline().decode("utf-8", "replace")
    secrets.store(Key(name, secrets.check_secret(text), host))
    bound = f"for {host}" if host else "for any host in your own configuration"
    say(f"Stored the key {name} {bound} in {secrets.key_file()}.")


@command.command("list", epilog="Example: rqa keys list")
def list_keys() -> None:
    """List the stored keys by name, host and file."""
    for name, key in sorted(secrets.stored_keys().items()):
        overridden = f", overridden by {variable(name)}" if variable(name) in os.environ else ""
        click.echo(f"{name}\t{key.host or 'any host'}\t{secrets.key_file()}{overridden}")


@command.command("rm", epilog="Example: rqa keys rm openai")
@click.argument("name")
def remove_key(name: str) -> None:
    """Remove the key NAME."""
    secrets.check_name(name)
    if not secrets.remove(name):
        raise InputError(f"There is no key {name!r}.", hint="List the stored keys with `rqa keys list`.")
