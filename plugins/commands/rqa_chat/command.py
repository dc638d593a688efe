"""The command `rqa chat`."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from robust_qa import MissingError
from robust_qa.cli import Answering, answering_options, history_option
from robust_qa.kit import install_hint
from rqa_conversation.options import follow_option

if TYPE_CHECKING:
    from robust_qa.answering import Session
    from robust_qa.cli import Run


@click.command("chat", epilog="Example: rqa chat --docs notes/")
@answering_options()
@history_option
@follow_option
@click.pass_obj
def chat(run: Run, /, *, no_follow: bool, **answering: Any) -> None:
    """Ask questions in a conversation, in the terminal. "And Birch?" takes the last question with Birch in it.

    /help lists the commands, such as /sources, which quotes the sources of the last answer.
    """
    if not find_spec("prompt_toolkit"):
        raise MissingError("`rqa chat` needs prompt_toolkit.", hint=f"Run `{install_hint('chat')}`.")
    screen = sys.stdout  # within `in_session`, sys.stdout is stderr
    if not (sys.stdin.isatty() and os.isatty(screen.fileno())):
        raise click.UsageError('`rqa chat` needs a terminal. For one question: rqa ask "QUESTION"')
    from robust_qa.cli.answering import in_session

    from .conversation import Conversation

    async def work(session: Session) -> None:
        await Conversation(run, session, screen, follow=not no_follow).hold()

    in_session(run, Answering(**answering), work, record="chat")
