"""The conversation: read a line, answer it or run it as a command, and so on."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import signal
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click
from prompt_toolkit import PromptSession
from prompt_toolkit.completion import WordCompleter
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.output import create_output

from robust_qa import Answer, Message, Question, RqaError
from robust_qa.answering import corrected
from robust_qa.cli import complain, console, explain, marked_answer, print_answer, print_sources, print_wrapped
from robust_qa.cli.live import Live
from robust_qa.kit import single_line
from rqa_conversation import Understood, understood

if TYPE_CHECKING:
    from robust_qa.answering import Session
    from robust_qa.cli import Run


_COMMANDS = {
    "/sources": "quotes the sources of the last answer and the passages found with it",
    "/open": "shows the first source in its document; /open N shows source N",
    "/explain": "shows how the last answer came about",
    "/strategy": "shows the strategy; /strategy NAME changes it",
    "/docs": "lists the documents",
    "/help": "shows this list",
    "/quit": "ends; /exit and Ctrl-D too",
}
_LISTED = 30  # documents
_REMEMBERED = 200  # answers whose questions the arrow keys bring back


class Conversation:
    """A conversation on the terminal `screen`."""

    def __init__(self, run: Run, session: Session, screen: TextIO, *, follow: bool = True) -> None:
        self._run = run
        self._session = session
        self._screen = screen
        self._follow = follow
        self._asked = InMemoryHistory(session.asked("chat", _REMEMBERED)[::-1])
        self._strategy, _ = session.choose(has_passages=False)  # nothing to answer from is an error before the prompt
        self._turns: list[Message] = []
        self._last: Answer | None = None

    async def hold(self) -> None:
        """Read and answer until /quit, /exit or Ctrl-D. Ctrl-C cancels the current answer, or the current line."""
        self._run.say("/help lists the commands. Alt+Enter begins a new line, and Ctrl-C cancels an answer")
        strategies = {f"/strategy {name}": "answers the next questions" for name in self._session.strategies}
        commands = _COMMANDS | strategies
        prompt = PromptSession[str](
            "> ",
            completer=WordCompleter([*commands], sentence=True, meta_dict=commands),
            complete_while_typing=False,
            history=self._asked,
            multiline=True,
            prompt_continuation="  ",
            key_bindings=_keys(),
            output=create_output(self._screen),
        )
        while True:
            try:
                line = (await prompt.prompt_async()).strip()
            except KeyboardInterrupt:
                self._print("The line is dropped. /quit ends.")
                continue
            except EOFError:
                return
            if line in ("/quit", "/exit"):
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
            self._print("Cancelled. Ask again, or end with /quit.")
        except RqaError as error:
            complain(error)
        finally:
            loop.remove_signal_handler(signal.SIGINT)
            self._run.release()
            click.echo(file=self._screen)

    async def _ask(self, text: str) -> None:
        self._run.hold()  # messages follow the answer, a part of which may be on the screen
        alone = await self._alone(text)
        question = alone.question
        if alone.asked_back:
            self._print(alone.asked_back.reason)
            return
        if question != text:
            self._print(f"→ {question}", dim=True)
            self._asked.append_string(question)  # the arrow key brings it back, to be changed
        live = self._live(streaming=True)
        try:
            async with live.drawing():
                answer = await self._session.answer(Question(question), strategy=self._strategy, watcher=live)
        except BaseException:  # also Ctrl-C: end the line that is half drawn
            live.end("")
            raise
        answer = dataclasses.replace(answer, usage=alone.usage + answer.usage)
        with redirect_stdout(self._screen):
            shown = live.end(marked_answer(answer))
            print_answer(answer, shown=shown, cost=self._run.verbosity >= 0, more="/sources")
        self._last = answer
        self._turns += [Message("user", corrected(question, answer.corrections)), Message("assistant", answer.lead)]

    async def _alone(self, text: str) -> Understood:
        """Return the question as it can be understood without the conversation."""
        live = self._live(streaming=False)
        async with live.drawing():
            live.step("reading the conversation")
            return await understood(self._session, text, self._turns, follow=self._follow)

    def _live(self, *, streaming: bool) -> Live:
        with redirect_stdout(self._screen):
            return Live(steps=self._run.verbosity >= 0, streaming=streaming)

    async def _command(self, line: str) -> None:
        name, _, argument = line.partition(" ")
        if name == "/strategy":
            self._choose(argument.strip())
        elif name == "/open":
            await self._open(argument.strip())
        elif line == "/docs":
            await self._list()
        elif line == "/help":
            for command, what in _COMMANDS.items():
                self._print(f"{command}: {what}")
        elif line not in ("/sources", "/explain"):
            self._print(f"There is no command {line}. /help lists the commands.")
        elif self._last is None:
            self._print("There is no answer yet.")
        elif line == "/explain":
            explain(self._last, verbose=self._run.verbosity > 0)
        else:
            with redirect_stdout(self._screen):
                print_sources(self._last)

    async def _open(self, number: str) -> None:
        """Show source `number` of the last answer in its document, with the quote marked."""
        from rqa_files import Unreadable, unmoved
        from rqa_files.showing import print_view, view_of

        sources = [*self._last.numbered, *self._last.closest] if self._last else []
        at = int(number or 1) - 1 if number.isdecimal() or not number else -1
        cited = sources[at] if 0 <= at < len(sources) else None
        path = unmoved(cited.file) if cited and cited.file else None
        if cited is None or path is None:
            self._print(f"There is no document of source {number or 1}. /sources lists the sources.")
            return
        try:
            view = await asyncio.to_thread(view_of, path, self._run.host.file_formats, cited.quote, cited.place)
        except (OSError, Unreadable) as error:
            self._print(f"{path} cannot be read: {error}.")
            return
        with redirect_stdout(self._screen):
            print_view(view, single_line(cited.where))

    async def _list(self) -> None:
        """List the documents, the first of many."""
        documents = await self._session.files()
        for name in sorted(documents)[:_LISTED]:
            count, near = documents[name].passages, name.removeprefix(f"{Path.cwd()}{os.sep}")
            self._print(f"{near} ({count:,} {'passage' if count == 1 else 'passages'})")
        if len(documents) > _LISTED:
            self._print(f"{len(documents) - _LISTED:,} more. `rqa index --list` lists all of an index.")
        elif not documents:
            self._print("There are no documents, or the retriever cannot list them.")

    def _choose(self, strategy: str) -> None:
        """Change the strategy, or show it. Raises RqaError if it cannot run."""
        if strategy:
            self._strategy, _ = self._session.choose(has_passages=False, strategy=strategy)
        others = ", ".join(name for name in self._session.strategies if name != self._strategy)
        self._print(f"The strategy is {self._strategy}." + ("" if strategy else f" Others: {others}."))

    def _print(self, text: str, *, dim: bool = False) -> None:
        from rich.text import Text

        with redirect_stdout(self._screen):
            print_wrapped(console(), Text(single_line(text), "dim" if dim else ""), hanging=2)


def _keys() -> KeyBindings:
    """Enter sends, and Alt+Enter begins a new line."""
    keys = KeyBindings()
    keys.add("enter")(lambda event: event.current_buffer.validate_and_handle())
    keys.add("escape", "enter")(lambda event: event.current_buffer.insert_text("\n"))
    return keys
