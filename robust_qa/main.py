"""The command line: one module a command, imported when that command runs."""

from __future__ import annotations

import codecs
import importlib
import io
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import __version__, stdout
from .config import environment
from .errors import ConfigError, Exit, RqaError, interrupted

if TYPE_CHECKING:
    from .cli.run import Run

COMMANDS = {
    "ask": "Answer one question.",
    "batch": "Answer the questions of a file, one JSON line each.",
    "index": "Index documents for retrieval.",
    "init": "Write a starter configuration.",
    "config": "Show, check and trust configurations.",
    "plugins": "List, check and start plugins.",
    "keys": "Store API keys.",
    "cache": "Look at the cache of finished calls.",
    "completion": "Print the shell's completion script.",
    "help": "Show a manual page.",
}


class Commands(click.Group):
    """The built-in commands by name, imported on use; the plugins' commands after them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Built-in commands in reading order, then the plugins' by name."""
        self._add_plugin_commands(ctx)
        return [*COMMANDS, *sorted(self.commands.keys() - COMMANDS)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name; plugins are loaded only for a name that is not built in."""
        command: click.Command | None
        if cmd_name in COMMANDS:
            command = importlib.import_module(f".cli.{cmd_name}", __package__).command
        else:
            self._add_plugin_commands(ctx, quiet_may_follow=True)
            command = self.commands.get(cmd_name)
        if command is not None:
            from .cli.verbosity import accept_verbosity

            accept_verbosity(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with the nearest name when there is no such command."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from .errors import did_you_mean

            hint = did_you_mean(args[0], self.list_commands(ctx))
            raise click.UsageError(f"{error.format_message()} {hint}".strip(), ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without importing the built-in ones."""
        self._add_plugin_commands(ctx)
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))
        theirs = [
            (name, self.commands[name].get_short_help_str(72)) for name in sorted(self.commands.keys() - COMMANDS)
        ]
        if theirs:
            with formatter.section("Commands of plugins"):
                formatter.write_dl(theirs)

    def _add_plugin_commands(self, ctx: click.Context, *, quiet_may_follow: bool = False) -> None:
        if ctx.meta.get("rqa.plugin_commands"):
            return
        ctx.meta["rqa.plugin_commands"] = True
        if ctx.obj is None:  # asked for help, before the options are all parsed
            ctx.obj = _make_run(ctx.params)
        if quiet_may_follow:  # the command's own -q is not parsed yet
            ctx.obj.hold()
            ctx.call_on_close(ctx.obj.release)
        from .cli.groups import add_plugin_commands

        # Placeholders hold the built-in names, so that a plugin's command of such a name is seen and refused.
        shelf = click.Group(commands={name: click.Command(name) for name in COMMANDS})
        try:
            troubles = add_plugin_commands(shelf, ctx.obj.host)
        except ConfigError as error:  # help and the built-in commands are there all the same
            ctx.obj.say(f"{error.message} {error.hint}")
            return
        for line in troubles:
            ctx.obj.say(line)
        self.commands.update({name: found for name, found in shelf.commands.items() if name not in COMMANDS})


def _existing(ctx: click.Context, param: click.Parameter, paths: tuple[Path, ...]) -> tuple[Path, ...]:
    """The plugin files of the command line. Usage is wrong where one is not there."""
    for path in paths:
        file = path / "__init__.py" if path.is_dir() else path
        if not file.is_file():
            raise click.BadParameter(
                f"there is no file {str(file)!r}. Give the path of a plugin that exists, or write one: "
                "rqa plugins new NAME",
                ctx,
                param,
            )
    return paths


def _make_run(params: dict[str, Any]) -> Run:
    from .cli.run import Run

    return Run.from_params(params)


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog='Example: rqa ask --docs notes/ "Who wrote the first compiler?"',
)
@click.version_option(__version__, "-V", "--version", prog_name="rqa", message="%(prog)s %(version)s")
# What brings commands is read before --help, which lists them.
@click.option(
    "--config",
    "config_file",
    metavar="FILE",
    is_eager=True,
    type=click.Path(path_type=Path),
    help="Use this configuration.",
)
@click.option(
    "--plugin",
    "plugin_files",
    metavar="PATH",
    type=click.Path(path_type=Path),
    multiple=True,
    is_eager=True,
    callback=_existing,
    help="Load a plugin from a Python file. May be repeated.",
)
@click.option("--strict-plugins", is_flag=True, is_eager=True, help="Fail when a plugin is broken.")
@click.option("-v", "--verbose", count=True, help="Say more on stderr.")
@click.option("-q", "--quiet", count=True, help="Say less on stderr.")
@click.pass_context
def cli(ctx: click.Context, /, **params: Any) -> None:
    """Answers that hold when the documents are irrelevant, contradictory or planted."""
    if ctx.obj is None:  # else the plugins were loaded to find the command
        ctx.obj = _make_run(params)


def main() -> None:
    """The `rqa` command: runs it, tells errors on stderr, and ends with an exit code."""
    _open_missing_streams()
    if sys.__stdout__ in (None, sys.stdout) and isinstance(sys.stdout, io.TextIOWrapper):
        old, raw = sys.stdout, _StandardOutput(stdout.make_private(), "w", closefd=False)
        sys.stdout = io.TextIOWrapper(
            raw if old.write_through else io.BufferedWriter(raw),  # python -u
            old.encoding, old.errors, line_buffering=bool(old.line_buffering), write_through=old.write_through,
        )  # fmt: skip
    if isinstance(sys.stdout, io.TextIOWrapper) and codecs.lookup(sys.stdout.encoding).name != "utf-8":
        sys.stdout.reconfigure(errors="replace")  # a question mark for a quotation mark, and not half an answer
    if environment.COMPLETE in os.environ:
        cli.main(prog_name="rqa")  # click answers the shell, and exits
    try:
        code = _invoke()
        sys.stdout.flush()
    except BrokenPipeError:
        code = Exit.ANSWERED  # the reader of our output has gone: there is nobody left to tell
    except SystemExit:
        raise
    except BaseException as error:  # compiled code panics with others than Exceptions
        if interrupted(error):
            with suppress(OSError):
                sys.stdout.flush()
            os._exit(Exit.INTERRUPTED)  # threads inside an engine cannot be stopped, and nobody waits for them
        if environment.flag(environment.DEBUG):
            import traceback

            traceback.print_exc()
        code = _complain(error)
    try:
        sys.stdout.flush()
    except OSError:
        # What cannot be written is not tried again when Python exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if _leaves_threads():
        os._exit(code)  # as above
    sys.exit(code)


def _leaves_threads() -> bool:
    """Whether a session's thread still works on a call that was given up: Python would wait for it."""
    threading = sys.modules.get("threading")  # not imported: then there is none
    return threading is not None and any(thread.name.startswith("rqa_") for thread in threading.enumerate())


def _open_missing_streams() -> None:
    """Take the descriptors that the caller closed, lest the next file opened becomes standard output.

    Reading there finds nothing, writing to stdout fails and says so, and stderr goes nowhere.
    """
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_WRONLY if name == "stderr" else os.O_RDONLY)
            if null != descriptor:
                os.dup2(null, descriptor)
                os.close(null)
            setattr(sys, name, os.fdopen(descriptor, "r" if name == "stdin" else "w", closefd=False))


class _StandardOutput(io.FileIO):
    """Says of an error that it is this file's: the system names only those that have a path."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            error.filename = "Standard output"
            raise


def _invoke() -> int:
    # Not click's own main(), which turns an interruption and a closed pipe into exits of its own.
    try:
        with cli.make_context("rqa", sys.argv[1:]) as ctx:
            result = cli.invoke(ctx)
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.Abort:
        return Exit.INTERRUPTED
    except click.ClickException as error:
        error.show()
        return error.exit_code
    return result if isinstance(result, int) else Exit.ANSWERED


def _refused(error: OSError) -> RqaError:
    """What the system refused, for people."""
    why = error.strerror or str(error)
    if isinstance(error.filename, str | bytes):
        path = os.fsdecode(error.filename)
        return RqaError(f"{path} cannot be used: {why}.", hint=environment.elsewhere(Path(path)))
    try:
        Path.cwd()
    except FileNotFoundError:
        return RqaError("The folder that this was started in is not there any more.")
    return RqaError(f"{why}.")


def _complain(error: BaseException) -> Exit:
    from .cli.output import complain

    if isinstance(error, OSError):
        error = _refused(error)
    elif not isinstance(error, RqaError):
        error = RqaError(
            f"{type(error).__name__}: {error}",
            hint="This is a fault of rqa, or of a plugin; RQA_DEBUG=1 shows where.",
        )
    complain(error)
    return error.exit
