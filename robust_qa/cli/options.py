"""Options that several commands share."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from ..errors import InputError
from ..serialization import suffix_of
from ..types import Kind, Passage
from .run import Run

if TYPE_CHECKING:
    from ..config.key import Key

F = TypeVar("F", bound=Callable[..., Any])
click.IntRange.name = "whole number"  # in errors, where it says "integer range"


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
    no_history: bool = False
    no_check: bool = False
    engine: str | None = None
    exclude: tuple[str, ...] = ()
    no_ignore: bool = False

    def reading(self) -> dict[str, Any]:
        """Return the options of the retriever that say which files of --docs it leaves out."""
        return read_without(self.exclude, no_ignore=self.no_ignore)

    def overrides(self) -> list[tuple[str, str]]:
        """Return the configuration values that these options set. -s, -r, --reader and -k win over -O."""
        named = {
            "strategy": self.strategy,
            "retriever": self.retriever,
            "reader": self.reader,
            "k": self.k,
            "engine": self.engine,
        }
        pairs = [*self.option, *((f"defaults.{key}", str(value)) for key, value in named.items() if value)]
        for table, off in (("cache", self.no_cache), ("history", self.no_history), ("claims", self.no_check)):
            if off:
                pairs.append((f"{table}.enabled", "false"))
        return pairs


def read_without(exclude: Sequence[str], *, no_ignore: bool) -> dict[str, Any]:
    """Return the options of a retriever for what --exclude and --no-ignore say, without those that are not given."""
    given: dict[str, Any] = {"exclude": ",".join(exclude), "no_ignore": no_ignore}
    return {name: value for name, value in given.items() if value}


class KeyValue(click.ParamType[tuple[str, str]]):
    """A KEY=VALUE argument, converted to a pair."""

    name = "KEY=VALUE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """Split at the first `=`."""
        if isinstance(value, tuple):
            return value
        key, equals, text = str(value).partition("=")
        if not equals or not all(key.split(".")):
            self.fail(f"{value!r} is not KEY=VALUE. Example: strategy.astute.iterations=2", param, ctx)
        return key.strip(), text.strip()

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the keys of all options, each with its `=`."""
        from .completion import keys

        return keys(Run.from_params(ctx.find_root().params), incomplete)


class FiniteFloat(click.FloatRange):
    """A number in a range. Rejects nan, which compares as inside every range, and infinity."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number


class StoredKey(click.ParamType["Key"]):
    """The name of a stored key, converted to the Key."""

    name = "NAME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Key:
        """Look the key up. Raises ConfigError if `value` cannot be a name."""
        from ..config.key import Key
        from ..config.keys import find

        return value if isinstance(value, Key) else find(str(value))


def _names(
    kind: Kind, *, several: bool = False
) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """Complete the names of that kind. With `several`, the last of names that commas separate."""

    def complete(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from .completion import names

        return names(Run.from_params(ctx.find_root().params), kind, incomplete, several=several)

    return complete


class _Output(click.Path):
    """The path of an output file or folder. Rejects KEY=VALUE, which belongs to -O, and endings of other formats."""

    def __init__(self, *, stdout: bool, urls: bool, formats: Sequence[str], **kinds: bool) -> None:
        super().__init__(path_type=str if urls else Path, **kinds)
        self._stdout = stdout
        self._formats = formats

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path, or None for standard output."""
        if value == "-":
            if not self._stdout:
                self.fail("this command cannot write to stdout. Give a path: -o result", param, ctx)
            return None
        self._check_ending(str(value), param, ctx)
        return super().convert(value, param, ctx)

    def _check_ending(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> None:
        suffix = suffix_of(value)
        is_folder = "://" in value or value.endswith("/") or Path(value).is_dir()
        if suffix and not is_folder and self._formats and suffix not in self._formats:
            allowed = ", ".join(f".{each}" for each in self._formats)
            self.fail(f"this command cannot write .{suffix} files. End the name in {allowed}.", param, ctx)


def output_option(
    metavar: str,
    help: str,
    *,
    name: str = "out",
    required: bool = False,
    stdout: bool = True,
    urls: bool = False,
    formats: Sequence[str] = (),
    **kinds: bool,
) -> Callable[[F], F]:
    """Add the option -o, --output. The parameter `name` holds the path, or None for standard output.

    `-` means standard output if `stdout` is true and is an error otherwise. With `urls` the parameter is text that may
    be a URL. `formats`: the endings that a file name may have; () allows all. `kinds` go to click.Path.
    """
    kind = _Output(stdout=stdout, urls=urls, formats=formats, **kinds)
    return click.option("-o", "--output", name, metavar=metavar, type=kind, required=required, help=help)


def jobs_option(command: F) -> F:
    """Add the option -j, --jobs: the number of questions in flight at once."""
    add = click.option(
        "-j",
        "--jobs",
        metavar="N",
        type=click.IntRange(1, 50_000),
        default=8,
        show_default=True,
        help="Questions in flight at once.",
    )
    return add(command)


def engine_option(command: F) -> F:
    """Add the option --engine."""
    add = click.option(
        "--engine",
        metavar="NAME",
        shell_complete=_names("engine"),
        help="Engine that answers the rows. List them with `rqa plugins`. Default: local.",
    )
    return add(command)


def _split(ctx: click.Context, param: click.Parameter, values: Sequence[str]) -> tuple[str, ...]:
    """Return the comma-separated names of all values, without duplicates."""
    names = (name.strip() for value in values for name in value.split(","))
    return tuple(dict.fromkeys(name for name in names if name))


def with_options(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    """Join decorators into one. The first one's option comes first in the help."""

    def decorate(command: F) -> F:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


def reading_options(command: F) -> F:
    """Add the options that say which files of a folder are left out."""
    add = with_options(
        click.option(
            "--exclude",
            metavar="PATTERN",
            multiple=True,
            help="Leave out files and folders of this pattern, as in .gitignore. May be repeated.",
        ),
        click.option(
            "--no-ignore", is_flag=True, help="Read also what .gitignore names and programs made, such as node_modules."
        ),
    )
    return add(command)


def retrieval_options(*option_flags: str) -> Callable[[F], F]:
    """Add the options that choose what is searched. `option_flags` replace the flags -O and --option."""
    return with_options(
        click.option(
            "-r",
            "--retriever",
            metavar="EXPR",
            shell_complete=_names("retriever"),
            help="Retriever to use, NAME or NAME@K; see `rqa help expressions`. Replaces a question's own passages.",
        ),
        click.option("-k", metavar="N", type=click.IntRange(1, 10_000), help="Passages to retrieve per question."),
        click.option(
            "-d",
            "--docs",
            metavar="PATH",
            type=click.Path(exists=True, path_type=Path, allow_dash=True),
            multiple=True,
            help="Search these files or folders, - for stdin. May be repeated.",
        ),
        reading_options,
        click.option(
            *(option_flags or ("-O", "--option")),
            "option",
            type=KeyValue(),
            multiple=True,
            help="Set a configuration option. May be repeated.",
        ),
        click.option("--no-cache", is_flag=True, help="Do not use the cache of finished calls."),
    )


def answering_options(*option_flags: str, several: bool = False) -> Callable[[F], F]:
    """Add the answering options to a command. `option_flags` replace the flags -O and --option.

    With `several`, -s takes comma-separated names and may be repeated, and `strategy` is a tuple.
    """
    return with_options(
        click.option(
            "-s",
            "--strategy",
            metavar="NAMES" if several else "NAME",
            multiple=several,
            callback=_split if several else None,
            shell_complete=_names("strategy", several=several),
            help="Strategies to use, separated by commas. May be repeated. List them with `rqa plugins`."
            if several
            else "Strategy to use. List them with `rqa plugins`.",
        ),
        click.option(
            "--reader",
            metavar="NAME",
            shell_complete=_names("reader"),
            help="Reader to use. List them with `rqa plugins`.",
        ),
        retrieval_options(*option_flags),
    )


def filter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that restrict the search. The parameter `filters` has those given, as options of retrievers."""

    from ..kit.dates import day_named

    @wraps(command)
    def with_filters(*args: Any, within: str | None, **params: Any) -> Any:
        given = {"within": within, **{name: params.pop(name) for name in ("types", "since", "title")}}
        if since := given["since"]:
            given["since"] = day_named(since, date.today())
            if not given["since"]:
                raise click.UsageError(f"--since {since} is not a date. Write 2025-01-31, 31 January 2025, 2025 or 7d.")
        return command(*args, filters={name: value for name, value in given.items() if value}, **params)

    add = with_options(
        click.option("--in", "within", metavar="PATH", help="Search only files at or under PATH."),
        click.option(
            "--type", "types", metavar="SUFFIXES", help="Search only files with these suffixes, as in pdf,docx."
        ),
        click.option(
            "--since",
            metavar="DATE",
            help="Search only documents of this date or later, as in 2025-01-31, yesterday or 7d.",
        ),
        click.option("--title", metavar="WORDS", help="Search only passages with these words in their title."),
    )
    return add(with_filters)


def history_option(command: F) -> F:
    """Add the option --no-history. Use it together with `answering_options`."""
    add = click.option("--no-history", is_flag=True, help="Do not keep the answers in the history.")
    return add(command)


def passages_in(path: Path) -> tuple[Passage, ...]:
    """Return the passages in the file at `path`, or on stdin if `path` is "-".

    Raises InputError if the file cannot be read or holds no passages.
    """
    from ..answering.passages import read_passages

    try:
        raw = sys.stdin.buffer.read() if path == Path("-") else path.read_bytes()
    except OSError as error:
        raise InputError(
            f"Cannot read passages from {path}: {error.strerror}.", hint="Give the path of a file, or - for stdin."
        ) from error
    return tuple(read_passages(raw, "standard input" if path == Path("-") else str(path)))
