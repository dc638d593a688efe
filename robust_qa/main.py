"""The command line. Each command is a module, imported when the command runs."""

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

from . import __version__
from .config import environment
from .errors import ConfigError, Exit, RqaError, disk_hint, interrupted
from .stdout import make_private

if TYPE_CHECKING:
    from .cli.run import Run

COMMANDS = {
    "ask": "Answer one question.",
    "batch": "Answer many questions, one JSON line each.",
    "index": "Index documents for retrieval.",
    "init": "Write a starter configuration.",
    "config": "Show, check and trust configuration files.",
    "plugins": "List, check and create plugins.",
    "keys": "Store API keys.",
    "cache": "Show or clear the cache of finished calls.",
    "history": "Show, search or delete earlier answers.",
    "completion": "Print the shell's completion script.",
    "help": "Show a manual page.",
}


class Commands(click.Group):
    """The built-in commands, imported on use, and the plugins' commands."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the built-in commands in order of use, then the plugins' by name."""
        self._add_plugin_commands(ctx)
        return [*COMMANDS, *sorted(self.commands.keys() - COMMANDS)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of that name. Loads plugins only if the name is not built in."""
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
        """Resolve as click does, and suggest a similar name for an unknown command."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from .errors import did_you_mean

            hint = did_you_mean(args[0], self.list_commands(ctx))
            raise click.UsageError(f"{error.format_message()} {hint}".strip(), ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing the built-in ones."""
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
        if ctx.obj is None:  # --help was parsed before the other options
            ctx.obj = _make_run(ctx.params)
        if quiet_may_follow:  # -q after the command is not parsed yet
            ctx.obj.hold()
            ctx.call_on_close(ctx.obj.release)
        from .cli.groups import add_plugin_commands

        # Placeholders with the built-in names, so that plugins cannot replace a built-in command.
        group = click.Group(commands={name: click.Command(name) for name in COMMANDS})
        try:
            problems = add_plugin_commands(group, ctx.obj.host)
        except ConfigError as error:  # help and the built-in commands still work
            ctx.obj.say(f"{error.message} {error.hint}")
            return
        for line in problems:
            ctx.obj.say(line)
        self.commands.update({name: found for name, found in group.commands.items() if name not in COMMANDS})


def _check_files(ctx: click.Context, param: click.Parameter, paths: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return the paths of --plugin. Raises BadParameter if a file does not exist."""
    for path in paths:
        file = path / "__init__.py" if path.is_dir() else path
        if not file.is_file():
            raise click.BadParameter(
                f"there is no file {str(file)!r}. Create a plugin with: rqa plugins new NAME",
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
# Options that load plugins are eager, so that --help can list the plugins' commands.
@click.option(
    "--config",
    "config_file",
    metavar="FILE",
    is_eager=True,
    type=click.Path(path_type=Path),
    help="Use this configuration file.",
)
@click.option(
    "--plugin",
    "plugin_files",
    metavar="PATH",
    type=click.Path(path_type=Path),
    multiple=True,
    is_eager=True,
    callback=_check_files,
    help="Load a plugin from a Python file. May be repeated.",
)
@click.option("--strict-plugins", is_flag=True, is_eager=True, help="Fail if a plugin is broken.")
@click.option("-v", "--verbose", count=True, help="Print more messages on stderr.")
@click.option("-q", "--quiet", count=True, help="Print fewer messages on stderr.")
@click.pass_context
def cli(ctx: click.Context, /, **params: Any) -> None:
    """Answer questions over documents, even if some are irrelevant, contradictory or planted."""
    if ctx.obj is None:  # else set when the plugins were loaded
        ctx.obj = _make_run(params)


def main() -> None:
    """Run the `rqa` command, print errors on stderr, and exit with the exit code."""
    if sys.__stdout__ is sys.stdout and isinstance(sys.stdout, io.TextIOWrapper):
        encoding, errors = sys.stdout.encoding, sys.stdout.errors
        sys.stdout = os.fdopen(make_private(), "w", encoding=encoding, errors=errors, closefd=False)
    if isinstance(sys.stdout, io.TextIOWrapper) and codecs.lookup(sys.stdout.encoding).name != "utf-8":
        sys.stdout.reconfigure(errors="replace")  # print ? instead of failing in the middle of an answer
    if environment.COMPLETE in os.environ:
        cli.main(prog_name="rqa")  # click prints the completions and exits
    try:
        code = _invoke()
        sys.stdout.flush()
    except BrokenPipeError:
        code = Exit.ANSWERED  # the reader of the output has closed it, as `head` does
    except SystemExit:
        raise
    except BaseException as error:  # panics of compiled code are not Exceptions
        if interrupted(error):
            with suppress(OSError):
                sys.stdout.flush()
            os._exit(Exit.INTERRUPTED)  # do not wait for worker threads, which cannot be stopped
        if environment.flag(environment.DEBUG):
            import traceback

            traceback.print_exc()
        code = _complain(error)
    try:
        sys.stdout.flush()
    except OSError:
        # Python must not try to write the rest again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if _has_worker_threads():
        os._exit(code)  # as above
    sys.exit(code)


def _has_worker_threads() -> bool:
    """Return whether a worker thread still runs a cancelled call. Python would wait for it at exit."""
    threading = sys.modules.get("threading")
    return threading is not None and any(thread.name.startswith("rqa_") for thread in threading.enumerate())


def _invoke() -> int:
    # Not click's main(), which handles interrupts and closed pipes in its own way.
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


def _from_os_error(error: OSError) -> RqaError:
    """Return an error of the operating system as a message for users."""
    why = error.strerror or str(error)
    if isinstance(error.filename, str | bytes):
        path = os.fsdecode(error.filename)
        return RqaError(f"Cannot use {path}: {why}.", hint=disk_hint(error) or environment.elsewhere(Path(path)))
    try:
        Path.cwd()
    except FileNotFoundError:
        return RqaError("The current folder does not exist any more.")
    return RqaError(f"{why}.", hint=disk_hint(error))


def _complain(error: BaseException) -> Exit:
    from .cli.output import complain

    if isinstance(error, OSError):
        error = _from_os_error(error)
    elif not isinstance(error, RqaError):
        error = RqaError(
            f"{type(error).__name__}: {error}",
            hint="This is a bug in rqa or in a plugin. Set RQA_DEBUG=1 for a traceback.",
        )
    complain(error)
    return error.exit
