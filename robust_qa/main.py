"""The command line. Each command is a module, imported when the command runs."""

from __future__ import annotations

import codecs
import gc
import importlib
import io
import os
import sys
from collections import UserDict
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .built_in import COMMANDS, SECTION_OF, SECTIONS, SETTING_UP
from .config import environment
from .errors import ConfigError, Exit, Interrupted, RqaError, disk_hint, interrupted
from .stdout import make_private
from .version import __version__

if TYPE_CHECKING:
    from .cli.run import Run
    from .host.loading import Host


class Commands(click.Group):
    """The built-in commands and the plugins' commands. Each is imported when it runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the built-in commands in order of use, then the plugins' by name."""
        return [*COMMANDS, *self._summaries(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of that name. Loads plugins only if the name is not built in."""
        command: click.Command | None
        if cmd_name in COMMANDS:
            command = importlib.import_module(f".cli.{cmd_name}", __package__).command
        else:
            command = self._plugin_command(ctx, cmd_name)
        if command is not None:
            from .cli.groups import Help, accept_verbosity

            click.Context.formatter_class = Help
            accept_verbosity(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve as click does, and suggest a similar name for an unknown command."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from .cli.help import manual_pages
            from .errors import MissingError, did_you_mean

            page = manual_pages().get(args[0])
            if page and page.name.endswith(".1.md"):
                hint = f"`rqa help {args[0]}` names the package that it comes with."
                raise MissingError(f"`rqa {args[0]}` is not installed here.", hint=hint) from None
            hint = did_you_mean(args[0], self.list_commands(ctx))
            raise click.UsageError(f"{error.format_message()} {hint}".strip(), ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing one."""
        host = self._host(ctx)
        section_of = {name.partition(" ")[0]: one.section for name, one in host.commands.items()} if host else {}
        rows: dict[str, list[tuple[str, str]]] = {section: [] for section in SECTIONS}
        for name, summary in (COMMANDS | self._summaries(ctx)).items():
            rows.setdefault((section_of | SECTION_OF)[name], []).append((name, summary))
        for section, commands in rows.items():
            if commands:
                with formatter.section(section):
                    formatter.write_dl(commands)

    def _summaries(self, ctx: click.Context) -> dict[str, str]:
        """Return the plugins' commands and groups with their summaries, sorted."""
        host = self._host(ctx)
        if host is None:
            return {}
        alone = {name: one.summary for name, one in host.commands.items() if " " not in name and name not in COMMANDS}
        used = {name.partition(" ")[0] for name in host.commands if " " in name} - COMMANDS.keys()
        return dict(sorted({**alone, **{name: host.groups[name] for name in used}}.items()))

    def _plugin_command(self, ctx: click.Context, name: str) -> click.Command | None:
        host = self._host(ctx)
        if host is None:
            return None
        if name in host.groups:
            from .cli.groups import OpenGroup

            return OpenGroup(name, help=host.groups[name])
        command = host.command(name)
        return command.object if command else None

    def _host(self, ctx: click.Context) -> Host | None:
        """Return the plugins. None if the configuration cannot be read: help and the built-in commands still work."""
        if ctx.obj is None:  # --help was parsed before the other options
            ctx.obj = _make_run(ctx.params)
        # A -q after the command is not parsed yet, so its messages wait until the context closes.
        ctx.obj.hold()
        ctx.call_on_close(ctx.obj.release)
        try:
            host: Host = ctx.obj.host
        except ConfigError as error:
            ctx.obj.say(f"{error.message} {error.hint}")
            return None
        return host


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


class TableOfCommand(UserDict[str, Any]):
    """The table of a command in the configuration, read when the first of its options is."""

    def __init__(self, run: Run, name: str) -> None:
        self._run, self._name = run, name

    @property
    def data(self) -> dict[str, Any]:  # type: ignore[override]
        """The options that the table sets, none for help. Raises ConfigError if it is wrong."""
        return {} if click.get_current_context().resilient_parsing else self._table

    @cached_property
    def _table(self) -> dict[str, Any]:
        command = cli.get_command(click.get_current_context().find_root(), self._name)
        return self._run.defaults_of(self._name, command) if command else {}


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog='Example: rqa ask --docs notes/ "Who wrote the first compiler?"',
)
@click.version_option(
    __version__,
    "-V",
    "--version",
    message=f"rqa %(version)s from {Path(__file__).parent} (Python {sys.version.partition(' ')[0]})",
)
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
@click.option("-v", "--verbose", count=True, help="Print more messages on stderr.")
@click.option("-q", "--quiet", count=True, help="Print fewer messages on stderr.")
@click.pass_context
def cli(ctx: click.Context, /, **params: Any) -> None:
    """Answer questions over documents, even if some are irrelevant, contradictory or planted."""
    if ctx.obj is None:  # else set when the plugins were loaded
        ctx.obj = _make_run(params)
    name = ctx.invoked_subcommand
    if name and name not in SETTING_UP and not ctx.resilient_parsing:
        ctx.default_map = {name: TableOfCommand(ctx.obj, name)}


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
            if not isinstance(error, Interrupted):
                click.echo("rqa: interrupted. To start over, run the same command again", err=True)
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
    gc.freeze()  # or exiting looks at every object for garbage, a tenth of the time of a search
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
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.ClickException as error:
        from .cli.output import complain

        used = error.ctx if isinstance(error, click.UsageError) else None
        hint = f"See `{used.command_path} --help`." if used else ""
        option = error.option_name if isinstance(error, click.NoSuchOption) else ""
        if used and option in {flag for param in cli.params for flag in param.opts}:
            hint = f"{option} goes before the command: `rqa {option} ... {used.command_path.partition(' ')[2]}`."
        complain(RqaError(error.format_message(), hint=hint))
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
