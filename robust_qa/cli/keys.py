"""`rqa keys`: API keys, stored for the hosts they may be sent to."""

from __future__ import annotations

import os
import sys
from urllib.parse import urlsplit

import click

from .. import secrets
from ..errors import InputError
from ..secrets import Key


@click.group("keys", epilog="Example: rqa keys set openai --host api.openai.com")
def command() -> None:
    """Store API keys in a file that only you can read; a key is never printed."""


@command.command("set", epilog="Example: rqa keys set openai --host api.openai.com < key.txt")
@click.argument("name")
@click.option("--host", help="The only host the key may be sent to.")
def set_key(name: str, host: str | None) -> None:
    """Store the key NAME; it is asked for without echo, or read from stdin."""
    secrets.check_name(name)
    asked = sys.stdin.isatty()
    secret = click.prompt(f"The key {name}", hide_input=True, err=True) if asked else sys.stdin.readline()
    if not secret.strip():
        raise InputError("The key is empty.", hint=f"Give it on stdin: rqa keys set {name} < FILE")
    if host and "//" in host:
        host = urlsplit(host).hostname
    secrets.store(Key(name, secret.strip(), host))
    bound = f"for {host}" if host else "for any host that your own configuration names"
    click.echo(f"Stored the key {name} {bound} in {secrets.key_file()}.", err=True)


@command.command("list", epilog="Example: rqa keys list")
def list_keys() -> None:
    """List the stored keys: name, host, where from. Never the keys."""
    for name, key in sorted(secrets.stored_keys().items()):
        overridden = f", overridden by {secrets.variable(name)}" if secrets.variable(name) in os.environ else ""
        click.echo(f"{name}\t{key.host or 'any host'}\t{secrets.key_file()}{overridden}")


@command.command("rm", epilog="Example: rqa keys rm openai")
@click.argument("name")
def remove_key(name: str) -> None:
    """Remove the key NAME."""
    if not secrets.remove(name):
        raise InputError(f"No key named {name!r} is stored.", hint="`rqa keys list` lists them.")
