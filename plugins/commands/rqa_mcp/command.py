"""The command `rqa mcp`."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from robust_qa import MissingError
from robust_qa.cli import Answering, answering_options
from robust_qa.kit import install_hint
from rqa_http.serving import Address, address_options

if TYPE_CHECKING:
    from robust_qa import Key
    from robust_qa.answering import Session
    from robust_qa.cli import Run

_ENDING = 5.0  # seconds for requests in progress


@click.command("mcp", epilog="Example: rqa mcp --docs notes/ --folder projects/")
@click.option(
    "--folder",
    "folders",
    metavar="PATH",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    multiple=True,
    help="Let agents name documents in this folder. May be repeated.",
)
@address_options(None)
@answering_options()
@click.pass_obj
def mcp(
    run: Run,
    /,
    *,
    folders: tuple[Path, ...],
    host: str,
    port: int | None,
    token: Key | None,
    **answering: Any,
) -> None:
    """Give agents tools to ask, search, check and list documents, over the Model Context Protocol.

    An agent starts this command, and speaks to it over standard input and output. With --port, it serves at /mcp.
    """
    if port is None and (token or host != "127.0.0.1"):
        raise click.UsageError("--host and --token need --port.")
    if not find_spec("mcp"):
        raise MissingError("`rqa mcp` needs the package mcp.", hint=f"Run `{install_hint('mcp')}`.")
    from robust_qa.cli.answering import in_session

    from .server import serve_on, server
    from .tools import Tools

    options = Answering(**answering)
    if port is None:
        # Only the protocol may use standard input and output. Within `in_session`, file descriptor 1 is stderr.
        # Nothing closes `stdin`, because closing waits for the thread that reads from it, which Ctrl-C does not end.
        stdin = os.fdopen(os.dup(sys.stdin.fileno()), encoding="utf-8", errors="replace", closefd=False)
        with (
            os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8") as stdout,
            Path(os.devnull).open() as nothing,
        ):
            os.dup2(nothing.fileno(), sys.stdin.fileno())
            in_session(
                run, options, lambda session: serve_on(stdin, stdout, server(Tools(run, options, session, folders)))
            )
        return
    address = Address(host, port, token)
    with address.socket:

        async def work(session: Session) -> None:
            from mcp.server.transport_security import TransportSecuritySettings

            # A token keeps out what the SDK looks for in the headers.
            security = TransportSecuritySettings(enable_dns_rebinding_protection=False) if address.secret else None
            app = server(Tools(run, options, session, folders)).streamable_http_app(
                stateless_http=True, transport_security=security
            )
            run.say(f"serving tools at {address.url}/mcp. Stop with Ctrl-C")
            await address.serve(app, run.say, seconds=_ENDING)

        in_session(run, options, work)
