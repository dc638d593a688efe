"""The command `rqa serve`."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from robust_qa import ConfigError, Key, MissingError
from robust_qa.cli import Answering, StoredKey, answering_options
from robust_qa.kit import install_hint, is_loopback

if TYPE_CHECKING:
    from robust_qa.answering import Session
    from robust_qa.cli import Run


@click.command("serve", epilog="Example: rqa serve --docs notes/ -s rag,astute")
@click.option("--host", metavar="ADDRESS", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", metavar="N", type=click.IntRange(0, 65_535), default=8765, show_default=True, help="0: a free port."
)
@click.option(
    "--token",
    metavar="NAME",
    type=StoredKey(),
    help="Require the stored key NAME as bearer token. Needed for addresses beyond this machine.",
)
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
    type=click.FloatRange(0, min_open=True),
    default=300.0,
    show_default=True,
    help="Time limit of a request.",
)
@click.option(
    "--max-request",
    metavar="MIB",
    type=click.FloatRange(0, min_open=True),
    default=4.0,
    show_default=True,
    help="Largest request in MiB.",
)
@answering_options(several=True)
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
    max_request: float,
    strategy: tuple[str, ...],
    **answering: Any,
) -> None:
    """Answer questions over HTTP, as OpenAI's chat completions.

    Each strategy that can run is a model, such as rqa/astute. -s serves only the strategies you name.
    """
    if not (find_spec("starlette") and find_spec("uvicorn")):
        raise MissingError("`rqa serve` needs starlette and uvicorn.", hint=f"Run `{install_hint('serve')}`.")
    if token is None and not is_loopback(host):
        raise ConfigError(
            f"{host} can be reached from other machines, so requests need a token.",
            hint="Store one with `rqa keys set serve`, and add `--token serve`.",
        )
    from robust_qa.cli.batch_run import in_session

    from .app import application
    from .capacity import Capacity
    from .models import offered
    from .running import address, listen, serve_until_stopped

    with listen(host, port) as listening:
        url = address(host, listening)
        secret = token.reveal(url) if token else ""

        async def work(session: Session) -> None:
            models = offered(session, strategy)
            app = application(session, models, Capacity(jobs, timeout), token=secret, most=int(max_request * 2**20))
            run.say(f"serving {', '.join(models)} at {url}/v1. Stop with Ctrl-C")
            await serve_until_stopped(app, listening, timeout)

        in_session(run, Answering(**answering), work)
