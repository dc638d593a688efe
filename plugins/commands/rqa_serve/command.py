"""The command `rqa serve`."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from robust_qa import MissingError
from robust_qa.cli import Answering, FiniteFloat, answering_options, history_option
from robust_qa.kit import install_hint
from rqa_conversation.options import follow_option
from rqa_http.serving import Address, address_options

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from robust_qa import Key
    from robust_qa.answering import Session
    from robust_qa.cli import Run


_LONGEST_REQUEST = 4 << 20  # bytes
_SWITCHING = 0.001  # seconds after which a thread that works lets the server's go on


@click.command("serve", epilog="Example: rqa serve --docs notes/ -s rag,astute")
@address_options()
@click.option(
    "-j",
    "--jobs",
    metavar="N",
    type=click.IntRange(1, 4096),
    default=64,
    show_default=True,
    help="Answers in progress at once. As many requests again wait.",
)
@click.option(
    "--timeout",
    metavar="SECONDS",
    type=FiniteFloat(0, min_open=True),
    default=300.0,
    show_default=True,
    help="Time limit of a request.",
)
@answering_options(several=True)
@history_option
@follow_option
@click.pass_obj
def serve(
    run: Run,
    /,
    *,
    host: str,
    port: int,
    token: Key | None,
    jobs: int,
    timeout: float,
    strategy: tuple[str, ...],
    no_follow: bool,
    **answering: Any,
) -> None:
    """Answer questions over HTTP: on a page for people, and as OpenAI's chat completions for programs.

    Each strategy that can run is a model, such as rqa/astute. -s serves only the strategies you name.
    """
    if missing := [each for each in ("prometheus_client", "starlette", "uvicorn") if not find_spec(each)]:
        raise MissingError(
            f"`rqa serve` needs further packages: {', '.join(missing)}.", hint=f"Run `{install_hint('serve')}`."
        )
    from robust_qa.cli.answering import command_session, in_session

    from .app import application, offered
    from .capacity import Capacity
    from .corpora import Corpora

    sys.setswitchinterval(_SWITCHING)
    address, given = Address(host, port, token), Answering(**answering)

    def opening(*, docs: Sequence[Path] = (), filters: Mapping[str, str] | None = None) -> Session:
        over = replace(given, docs=tuple(docs), retriever=None) if docs else given
        return command_session(run, over, record="serve", filters=filters)

    with address.socket:

        async def work(session: Session) -> None:
            models = offered(session, strategy)
            async with Corpora(session, opening) as corpora:
                app = application(corpora, models, Capacity(jobs, timeout), most=_LONGEST_REQUEST, follow=not no_follow)
                run.say(f"serving {', '.join(models)} at {address.url}/v1. Stop with Ctrl-C")
                run.say(f"open {address.url} in a browser to ask there")
                seconds = timeout + 1
                await address.serve(app, run.say, seconds=seconds, unguarded=("/", "/health"), in_thread=True)

        in_session(run, given, work, record="serve")
