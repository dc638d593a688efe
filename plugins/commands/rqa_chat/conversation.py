"""The conversation: read a line, answer it or run it as a command, and so on."""

from __future__ import annotations

import asyncio
import dataclasses
import signal
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, TextIO

import click
from prompt_toolkit import PromptSession
from prompt_toolkit.completion import WordCompleter
from prompt_toolkit.output import create_output
from prompt_toolkit.shortcuts import CompleteStyle

from robust_qa import Answer, Message, Question, RqaError, Usage
from robust_qa.answering import condensed
from robust_qa.cli import complain, print_answer, print_sources
from robust_qa.cli.live import Live
from robust_qa.kit import single_line

if TYPE_CHECKING:
    from robust_qa.answering import Session
    from robust_qa.cli import Run


class Conversation:
    """A conversation on the terminal `screen`. `streaming`: print answers while the model writes them."""

    def __init__(self, run: Run, session: Session, screen: TextIO, *, streaming: bool) -> None:
        self._run = run
        self._session = session
        self._screen = screen
        self._streaming = streaming
        self._strategy, _ = session.choose(has_passages=False)  # nothing to answer from is an error before the prompt
        self._turns: list[Message] = []
        self._last: Answer | None = None

    async def hold(self) -> None:
        """Read and answer until /quit or Ctrl-D. Ctrl-C cancels the current answer, or the current line."""
        self._run.say("/strategy, /sources and /quit are commands, and Ctrl-C cancels an answer")
        commands = ["/sources", "/quit", "/strategy", *(f"/strategy {name}" for name in self._session.strategies)]
        prompt = PromptSession[str](
            "> ",
            completer=WordCompleter(commands, sentence=True),
            complete_style=CompleteStyle.READLINE_LIKE,
            complete_while_typing=False,
            output=create_output(self._screen),
        )
        while True:
            try:
                line = (await prompt.prompt_async()).strip()
            except KeyboardInterrupt:
                continue
            except EOFError:
                return
            if line == "/quit":
                return
            if line:
                await self._react(line)

    async def _react(self, line: str) -> None:
        """Answer a question or run a command. An error or Ctrl-C ends only that."""
        work = asyncio.ensure_future(self._command(line) if line.startswith("/") else self._ask(line))
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, work.cancel)
        try:
            await work
        except asyncio.CancelledError:
            if not work.cancelled():
                raise
            self._print("Cancelled.")
        except RqaError as error:
            complain(error)
        finally:
            loop.remove_signal_handler(signal.SIGINT)
            self._run.release()
            click.echo(file=self._screen)

    async def _ask(self, text: str) -> None:
        self._run.hold()  # messages follow the answer, a part of which may be on the screen
        question, usage = await self._alone(text)
        if question != text:
            self._print(f"→ {question}", dim=True)
        live = self._live(streaming=self._streaming)
        try:
            async with live.drawing():
                answer = await self._session.answer(Question(question), strategy=self._strategy, watcher=live)
        except BaseException:  # also Ctrl-C: end the line that is half drawn
            live.end("")
            raise
        answer = dataclasses.replace(answer, usage=usage + answer.usage)
        with redirect_stdout(self._screen):
            shown = live.end(answer.text or "")
            print_answer(answer, shown=shown, cost=self._run.verbosity >= 0, quotes=answer.abstained)
        self._last = answer
        told = answer.reason or "Not sure." if answer.text is None else answer.text
        self._turns += [Message("user", text), Message("assistant", told)]

    async def _alone(self, text: str) -> tuple[str, Usage]:
        """Return the question as it can be understood without the conversation, and what it cost to write."""
        live = self._live(streaming=False)
        async with live.drawing():
            live.step("reading the conversation")
            return await condensed(self._session, text, self._turns)

    def _live(self, *, streaming: bool) -> Live:
        with redirect_stdout(self._screen):
            return Live(steps=self._run.verbosity >= 0, streaming=streaming)

    async def _command(self, line: str) -> None:
        name, _, argument = line.partition(" ")
        if name == "/strategy":
            self._choose(argument.strip())
        elif line != "/sources":
            self._print(f"There is no command {line}. The commands are /strategy, /sources and /quit.")
        elif self._last is None:
            self._print("There is no answer yet.")
        else:
            with redirect_stdout(self._screen):
                print_sources(self._last)

    def _choose(self, strategy: str) -> None:
        """Change the strategy, or show it. Raises RqaError if it cannot run."""
        if strategy:
            self._strategy, _ = self._session.choose(has_passages=False, strategy=strategy)
        others = ", ".join(name for name in self._session.strategies if name != self._strategy)
        self._print(f"The strategy is {self._strategy}." + ("" if strategy else f" Others: {others}."))

    def _print(self, text: str, *, dim: bool = False) -> None:
        click.secho(single_line(text), file=self._screen, dim=dim or None)
