"""The reference of all options, from the classes that define them: a table each, as `rqa config options` prints it."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
import textwrap
import tokenize
import typing
from collections.abc import Iterator
from enum import Enum
from typing import Any

import click
import msgspec

from ..calls.cache import CacheSettings
from ..calls.limits import Limits, reserved
from ..config.options import Defaults, describe
from ..errors import PluginError
from ..host.loading import Host
from ..sanitize import single_line
from ..types import KINDS, NAMED_KINDS
from .run import Run

_COLUMN = 29  # where the comments begin
_OBVIOUS = ("text", "true or false", "a list", "a table")


@dataclasses.dataclass(frozen=True, slots=True)
class OptionTable:
    """A table of the configuration: its name, what it is for, the class of its options, and the distribution.

    `owner` is None if the component cannot be imported, and `about` then says why. A `command` has its options itself.
    """

    name: str
    about: str
    owner: type[Any] | None
    distribution: str = ""
    command: click.Command | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Option:
    """An option: its name, the TOML of its default ("" if it is required or unset), its type and its comment."""

    name: str
    default: str
    is_required: bool
    kind: str
    comment: str


def option_tables(host: Host) -> list[OptionTable]:
    """Return the tables of the host, then those of all components that have options, by kind."""
    limits = "Options of every retriever, reader, evaluator and embedder, besides its own"
    found = [
        OptionTable("defaults", "Used if the command line names no other", Defaults),
        OptionTable("cache", "Finished calls, kept on disk", CacheSettings),
        OptionTable("KIND.NAME", limits, Limits),
    ]
    for each in sorted(host.components(), key=lambda each: (KINDS.index(each.kind), each.name)):
        name = each.name if each.kind in NAMED_KINDS else f"{each.kind}.{each.name}"
        try:
            if each.options:
                about = each.summary[:1].upper() + each.summary[1:]
                found.append(OptionTable(name, about, each.options, each.plugin.distribution))
        except PluginError as error:
            found.append(OptionTable(name, single_line(error.message).removesuffix("."), None))
    return found


def options_of(owner: type[Any] | None) -> Iterator[Option]:
    """Yield the options of a dataclass in order."""
    if owner is None:
        return
    hints, comments = typing.get_type_hints(owner, include_extras=True), _comments(owner)
    for spec in dataclasses.fields(owner):
        hint = hints[spec.name]
        default = spec.default if spec.default_factory is dataclasses.MISSING else spec.default_factory()
        is_unset = default in (None, dataclasses.MISSING)
        yield Option(
            spec.name,
            "" if is_unset else _toml(default),
            default is dataclasses.MISSING,
            f"{describe(hint)}{_bounds(hint)}",
            comments.get(spec.name, ""),
        )


def options_of_command(command: click.Command) -> Iterator[Option]:
    """Yield the options of a command that its table can set, in order."""
    context = click.Context(command, resilient_parsing=True)
    for param in command.params:
        if isinstance(param, click.Option) and param.name and param.expose_value and not param.is_eager:
            default = param.get_default(context)
            is_unset = not isinstance(default, str | int | float | list | tuple)  # click marks it by an object
            kind = "true or false" if param.is_flag else "text"
            yield Option(param.name, "" if is_unset else _toml(default), param.required, kind, param.help or "")


def as_toml(table: OptionTable, *, only_required: bool = False) -> Iterator[str]:
    """Yield the lines of a table whose options are commented out."""
    yield f"# {table.about.rstrip('.')}."
    yield f"# [{table.name}]"
    for each in options_of_command(table.command) if table.command else options_of(table.owner):
        if each.is_required or not only_required:
            comment = f"required: {each.comment}" if each.is_required else each.comment
            kind = "" if each.kind in _OBVIOUS else f" ({each.kind})"
            yield f"{f'# {each.name} = {each.default}':{_COLUMN - 1}} # {comment}{kind}"


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key} = {_toml(inner)}' for key, inner in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value.value if isinstance(value, Enum) else value, ensure_ascii=False, default=str)


def _bounds(hint: Any) -> str:
    for meta in getattr(hint, "__metadata__", ()):
        if isinstance(meta, msgspec.Meta):
            words = {"at least": meta.ge, "above": meta.gt, "at most": meta.le, "below": meta.lt}
            return "".join(f", {word} {bound}" for word, bound in words.items() if bound is not None)
    return next((bounds for each in typing.get_args(hint) if (bounds := _bounds(each))), "")


def _comments(owner: type[Any]) -> dict[str, str]:
    """Return the comment above or beside each field of a dataclass and of its bases."""
    found: dict[str, str] = {}
    for each in owner.__mro__[-2::-1]:
        try:
            source = textwrap.dedent(inspect.getsource(each))
        except (OSError, TypeError):  # a class that was made by code has no comments
            continue
        lines = iter(source.splitlines(keepends=True))
        notes = {
            token.start[0]: token.string.lstrip("# ")
            for token in tokenize.generate_tokens(lambda lines=lines: next(lines, ""))  # type: ignore[misc]
            if token.type == tokenize.COMMENT and not token.string.startswith("# noqa")
        }
        end = 0
        for node in typing.cast("ast.ClassDef", ast.parse(source).body[0]).body:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                found[node.target.id] = " ".join(note for line, note in notes.items() if end < line <= node.end_lineno)  # type: ignore[operator]
            end = node.end_lineno or end
    return found


def option_names(run: Run) -> list[str]:
    """Return the dotted keys of the options of the host and of all installed and configured components, sorted."""
    config = run.load_config()
    found = {
        f"{table}.{name}" for table, of in (("defaults", Defaults), ("cache", CacheSettings)) for name in _fields(of)
    }
    for kind in KINDS:
        installed = {registration.name: registration.options for registration in run.host.components(kind)}
        for name in {*installed, *config.names(kind)}:
            plugin = config.table(kind, name).values.get("plugin")
            options = installed.get(str(plugin.value) if plugin else name)
            own = {*_fields(options)} if kind in NAMED_KINDS else {*_fields(options), *reserved(kind)}
            table = name if kind in NAMED_KINDS else f"{kind}.{name}"
            found.update(f"{table}.{option}" for option in own)
    return sorted(found)


def _fields(options: type | None) -> Iterator[str]:
    """Yield the options of a dataclass that are no tables."""
    for field in dataclasses.fields(options) if options else ():
        if field.init and field.default_factory is not dict:
            yield field.name
