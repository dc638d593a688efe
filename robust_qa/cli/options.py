"""The options that every answering command has, and what they mean to the configuration."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from ..errors import RqaError
from ..types import Kind
from .run import Run

if TYPE_CHECKING:
    from ..config.layers import Config

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Answering:
    """The answering options as given on the command line."""

    strategy: str | None = None
    retriever: str | None = None
    reader: str | None = None
    k: int | None = None
    docs: tuple[Path, ...] = ()
    option: tuple[tuple[str, str], ...] = ()
    no_cache: bool = False

    def overrides(self) -> list[tuple[str, str]]:
        """What these options set in the configuration, as KEY, VALUE pairs; the dedicated options win."""
        named = {"strategy": self.strategy, "retriever": self.retriever, "reader": self.reader, "k": self.k}
        pairs = [*self.option, *((f"defaults.{key}", str(value)) for key, value in named.items() if value)]
        return [*pairs, ("cache.enabled", "false")] if self.no_cache else pairs


class KeyValue(click.ParamType[tuple[str, str]]):
    """KEY=VALUE, as a pair."""

    name = "KEY=VALUE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """Split at the first `=`."""
        if isinstance(value, tuple):
            return value
        key, equals, text = str(value).partition("=")
        if not equals or not all(key.split(".")):
            self.fail(f"{value!r} is not KEY=VALUE, as in strategy.astute.iterations=2", param, ctx)
        return key.strip(), text.strip()


def _names(kind: Kind) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    def complete(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
        run = Run.from_params(ctx.find_root().params)
        try:
            known = {registration.name: registration.summary for registration in run.host.components(kind)}
            config = run.load_config()
            known.update({name: f"[{kind}.{name}]" for name in config.names(kind)})
            if kind == "retriever":
                known.update(_expressions(config))
        except RqaError:
            return []
        return [CompletionItem(n, help=h) for n, h in sorted(known.items()) if n.startswith(incomplete)]

    return complete


def _expressions(config: Config) -> dict[str, str]:
    """What else can stand where a retriever is named."""
    from ..expressions import GIVEN_PARTS, MEMORY, NOTHING

    named = config.table("defaults", "expressions").values
    return {
        **{name: str(value.value) for name, value in named.items()},
        **dict.fromkeys(GIVEN_PARTS, "passages that the question brings"),
        MEMORY: "a passage that the reader writes",
        NOTHING: "no passages",
    }


class _Output(click.Path):
    """A file or folder to write, and not a value meant for the option that sets one."""

    def __init__(self, *, stdout: bool, **kinds: bool) -> None:
        super().__init__(path_type=Path, **kinds)
        self._stdout = stdout

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path, None for standard output. Usage is wrong if it reads like KEY=VALUE."""
        if value == "-":  # a file of that name is ./-
            if not self._stdout:
                self.fail("this command cannot write to standard output. Give a path, as in -o result", param, ctx)
            return None
        _refuse_key_value(self, str(value), param, ctx)
        return super().convert(value, param, ctx)


class _NoOutput(click.ParamType[str]):
    """The value of -o where a command has no output: it is refused."""

    name = "FILE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Never: usage is wrong."""
        _refuse_key_value(self, str(value), param, ctx)
        self.fail("this command writes no output file. To set a value: -O KEY=VALUE", param, ctx)


def _refuse_key_value(
    kind: click.ParamType[Any], value: str, param: click.Parameter | None, ctx: click.Context | None
) -> None:
    # The value may be a secret: it is not repeated.
    if found := re.match(r"(\w+(?:\.[\w-]+)+)\s*=", value):
        kind.fail(f"-o names the output file, and -O sets values. Write: -O {found[1]}=VALUE", param, ctx)


def output_option(
    metavar: str, help: str, *, name: str = "out", required: bool = False, stdout: bool = True, **kinds: bool
) -> Callable[[F], F]:
    """Add the option -o, --output. The parameter `name` is the path, or None for standard output.

    `-` means standard output; without `stdout` it is refused. `kinds` are file_okay and dir_okay of click.Path.
    """
    kind = _Output(stdout=stdout, **kinds)
    return click.option("-o", "--output", name, metavar=metavar, type=kind, required=required, help=help)


def no_output_option(command: F) -> F:
    """Refuse -o, which set values once, with an error that names -O."""
    add = click.option("-o", "--output", hidden=True, expose_value=False, type=_NoOutput())
    return add(command)


def jobs_option(command: F) -> F:
    """Add the option of how many questions are in flight at once."""
    add = click.option(
        "-j",
        "--jobs",
        metavar="N",
        type=click.IntRange(1, 4096),
        default=8,
        show_default=True,
        help="Questions in flight at once.",
    )
    return add(command)


def _split(ctx: click.Context, param: click.Parameter, values: Sequence[str]) -> tuple[str, ...]:
    """The names of all the lists, each once."""
    names = (name.strip() for value in values for name in value.split(","))
    return tuple(dict.fromkeys(name for name in names if name))


def answering_options(*option_flags: str, several: bool = False) -> Callable[[F], F]:
    """Add the answering options to a command; `option_flags` are the flags of the KEY=VALUE option (-O, --option).

    With `several` -s names strategies, separated by commas, and may be repeated: `strategy` is the tuple of them all.
    """
    decorators: Sequence[Callable[[F], F]] = (
        click.option(
            "-s",
            "--strategy",
            metavar="NAMES" if several else "NAME",
            multiple=several,
            callback=_split if several else None,
            shell_complete=_names("strategy"),
            help="How to answer, separated by commas; `rqa plugins` lists the ways. May be repeated."
            if several
            else "How to answer; `rqa plugins` lists the ways.",
        ),
        click.option(
            "-r",
            "--retriever",
            metavar="EXPR",
            shell_complete=_names("retriever"),
            help="Where passages come from, even for questions that bring their own: NAME@K, or more.",
        ),
        click.option(
            "--reader",
            metavar="NAME",
            shell_complete=_names("reader"),
            help="What reads them; `rqa plugins` lists the readers.",
        ),
        click.option("-k", metavar="N", type=click.IntRange(1, 10_000), help="Passages to retrieve for a question."),
        click.option(
            "-d",
            "--docs",
            metavar="PATH",
            type=click.Path(exists=True, path_type=Path),
            multiple=True,
            help="Answer from these files or folders. May be repeated.",
        ),
        click.option(
            *(option_flags or ("-O", "--option")),
            "option",
            type=KeyValue(),
            multiple=True,
            help="Set any configuration value. May be repeated.",
        ),
        click.option("--no-cache", is_flag=True, help="Neither read nor write the cache of finished calls."),
    )

    def decorate(command: F) -> F:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate
