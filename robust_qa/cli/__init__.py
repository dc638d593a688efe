"""The command line: one module a command, imported when that command runs."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .. import __version__, environment
from ..errors import Exit, RqaError

if TYPE_CHECKING:
    from .run import Run

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
        if cmd_name in COMMANDS:
            module = importlib.import_module(f".{cmd_name}", __name__)
            command: click.Command = module.command
            return command
        self._add_plugin_commands(ctx)
        return self.commands.get(cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with the nearest name when there is no such command."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from ..nearest import did_you_mean

            hint = did_you_mean(args[0], self.list_commands(ctx))
            raise click.UsageError(f"{error.format_message()} {hint}".strip(), ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without importing the built-in ones."""
        self._add_plugin_commands(ctx)
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))
        theirs = [(name, self.commands[name].get_short_help_str()) for name in sorted(self.commands.keys() - COMMANDS)]
        if theirs:
            with formatter.section("Commands of plugins"):
                formatter.write_dl(theirs)

    def _add_plugin_commands(self, ctx: click.Context) -> None:
        if ctx.meta.get("rqa.plugin_commands"):
            return
        ctx.meta["rqa.plugin_commands"] = True
        if ctx.obj is None:  # asked for help, before the options are all parsed
            ctx.obj = _make_run(ctx.params)
        # Placeholders hold the built-in names, so that a plugin's command of such a name is seen and refused.
        shelf = click.Group(commands={name: click.Command(name) for name in COMMANDS})
        ctx.obj.host.add_commands(shelf)
        self.commands.update({name: found for name, found in shelf.commands.items() if name not in COMMANDS})


def _make_run(params: dict[str, Any]) -> Run:
    from .run import Run

    return Run.from_params(params)


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog='Example: rqa ask --docs notes/ "Who wrote the first compiler?"',
)
@click.version_option(__version__, "-V", "--version", prog_name="rqa", message="%(prog)s %(version)s")
@click.option(
    "--config", "config_file", metavar="FILE", type=click.Path(path_type=Path), help="Use this configuration."
)
@click.option(
    "--plugin",
    "plugin_files",
    metavar="PATH",
    type=click.Path(path_type=Path),
    multiple=True,
    help="Load a plugin from a Python file. May be repeated.",
)
@click.option("--strict-plugins", is_flag=True, help="Fail when a plugin is broken.")
@click.option("-v", "--verbose", count=True, help="Say more on stderr.")
@click.option("-q", "--quiet", count=True, help="Say less on stderr.")
@click.pass_context
def cli(ctx: click.Context, /, **params: Any) -> None:
    """Answers that hold when the documents are irrelevant, contradictory or planted."""
    ctx.obj = _make_run(params)


def main() -> None:
    """The `rqa` command: runs it, turns errors into two lines on stderr, and ends with an exit code."""
    try:
        code = _invoke()
    except BrokenPipeError:
        # The reader of our output has gone: there is nobody left to tell.
        code = Exit.ANSWERED
        _silence_stdout()
    except KeyboardInterrupt:
        code = Exit.INTERRUPTED
        _flush()
        os._exit(code)  # threads inside an engine cannot be stopped, and nobody waits for them
    _flush()
    sys.exit(code)


def _invoke() -> int:
    try:
        result = cli.main(standalone_mode=False, prog_name="rqa")
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.Abort:
        return Exit.INTERRUPTED
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except RqaError as error:
        if environment.flag(environment.DEBUG):
            raise
        from .output import complain

        complain(error)
        return error.exit
    return result if isinstance(result, int) else Exit.ANSWERED


def _flush() -> None:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _silence_stdout()


def _silence_stdout() -> None:
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, sys.stdout.fileno())
