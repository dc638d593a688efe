"""Convert a configuration table to an options dataclass and validate each value."""

from __future__ import annotations

import dataclasses
import re
import types
import typing
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, TypeVar
from urllib.parse import urlsplit

import msgspec
import tomli
from msgspec import Meta

from ..errors import ConfigError, PluginError, did_you_mean
from ..expressions import is_free_name, parse_expression
from ..types import EmbedderName, Expression, Trusted, Url
from .key import Key
from .trusted_files import check_text, leaves, redirections
from .values import Layer, Table, Value, absolute, shown

T = TypeVar("T")

_TYPES = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "null": "nothing",
}
_BOUNDS = {">=": "at least", "<=": "at most", ">": "above", "<": "below"}


def build(options: type[T], table: Table, *, reserved: Collection[str] = ()) -> T:
    """Return an instance of the dataclass `options` from `table`. Ignores `reserved` keys that are not its fields.

    Raises ConfigError with all problems at once: file, table, key and the expected type. Raises PluginError if
    `options` has types that TOML cannot express.
    """
    try:
        hints = typing.get_type_hints(options, include_extras=True)
    except Exception as error:
        raise PluginError(f"The options of [{table.name}] have types that cannot be read: {error}.") from error
    fields = {f.name: f for f in dataclasses.fields(options) if f.init}  # type: ignore[arg-type]
    given = {key: value for key, value in table.values.items() if key in fields or key not in reserved}
    problems = [*_unknown(given, [*fields, *reserved], table), *_missing(given, fields, hints, table)]
    converted: dict[str, Any] = {}
    for key in fields.keys() & given.keys():
        try:
            converted[key] = convert(given[key], hints[key], f"{table.name}.{key}", untrusted=table.untrusted)
        except ConfigError as error:
            problems.append(error)
    if not problems:
        problems += redirections(table, converted)
    if problems:
        raise ConfigError.of(problems)
    try:
        return options(**converted)
    except (ValueError, TypeError) as error:
        origins = dict.fromkeys(layer.origin for value in given.values() for layer in value.layers)
        raise ConfigError(f"{', '.join(origins) or _a_file(table)}: [{table.name}] {error}.") from error


def convert(value: Value, hint: Any, key: str, *, untrusted: Layer | None = None) -> Any:
    """Convert `value` to the type `hint`. Raises ConfigError with its origin, `key` and the expected type.

    Raises ConfigError for a Key or a Trusted while an `untrusted` file applies, because every one of its values may
    spend money: it chooses the reader, the strategy, or only the number of passages.
    """
    origin = ", ".join(layer.origin for layer in value.layers)
    textual = any(layer.textual for layer in value.layers)
    try:
        if untrusted and _mentions(hint, Trusted):
            raise ConfigError(
                f"rqa does not use this option while {untrusted.origin} is not trusted.",
                hint=f"Read that file. {untrusted.allowing}",
            )
        raw = _prepared(value, hint)
        return msgspec.convert(raw, hint, strict=not textual, dec_hook=lambda kind, obj: _decode(kind, obj, untrusted))
    except msgspec.ValidationError as error:
        detail = f"{_plain(str(error))}, not {shown(key, value.value)}" if not _mentions(hint, Key) else ""
        raise ConfigError(f"{origin}: `{key}` must be {describe(hint)}{detail}.") from error
    except ConfigError as error:
        raise type(error)(f"{origin}: `{key}`: {error.message}", hint=error.hint) from error
    except (TypeError, ValueError, NotImplementedError, RecursionError) as error:
        raise PluginError(f"TOML cannot express the type of the option `{key}`: {error}.") from error


def told(options: Any) -> list[tuple[str, str]]:
    """Return each option with the repr of its value. A Key's repr shows only its name."""
    fields = () if options is None else dataclasses.fields(options)
    return [(each.name, repr(getattr(options, each.name))) for each in fields]


def expressions(options: Any, keys: Collection[str]) -> Iterator[tuple[str, str]]:
    """Return the retriever expressions in the values of those options, with the option's name."""
    for key in expression_options(type(options)):
        if key in keys:
            yield from ((key, leaf) for leaf in leaves(getattr(options, key)) if isinstance(leaf, str))


def expression_options(kind: type) -> list[str]:
    """Return the options of that dataclass that hold retriever expressions."""
    hints = typing.get_type_hints(kind, include_extras=True)
    return [key for key, hint in hints.items() if _mentions(hint, Expression)]


def embedder_options(kind: type | None) -> list[str]:
    """Return the options of that dataclass that name embedders."""
    hints = {} if kind is None else typing.get_type_hints(kind, include_extras=True)
    return [key for key, hint in hints.items() if _mentions(hint, EmbedderName)]


def describe(hint: Any) -> str:
    """Return a description of a type for error messages."""
    if hint is Url:
        return "a URL"
    if hint is Key:
        return "a key's name"
    if hint is Expression:
        return "a retriever expression"
    if hint is EmbedderName:
        return "an embedder's name"
    if hint is Trusted:
        return "text"
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return describe(arguments[0])
    if origin is typing.Literal:
        return "one of " + ", ".join(repr(value) for value in arguments)
    if origin in (list, tuple, set, frozenset):
        each = describe(arguments[0]) if arguments else ""
        return f"a list, each {each}" if each.startswith("one of") else "a list"
    if origin is dict:
        return "a table"
    if arguments:
        return " or ".join(describe(argument) for argument in arguments if argument is not type(None))
    names = {str: "text", int: "a whole number", float: "a number", bool: "true or false", Path: "a path"}
    return names.get(hint, getattr(hint, "__name__", str(hint)))


def _unknown(given: Mapping[str, Value], known: list[str], table: Table) -> Iterator[ConfigError]:
    for key, value in given.items():
        if key not in known:
            yield ConfigError(
                f"{value.layer.origin}: [{table.name}] has no option `{key}`. "
                f"Its options are {', '.join(sorted(known)) or 'none'}.",
                hint=did_you_mean(key, known),
            )


def _missing(
    given: Mapping[str, Value], fields: Mapping[str, dataclasses.Field[Any]], hints: Mapping[str, Any], table: Table
) -> Iterator[ConfigError]:
    for key, spec in fields.items():
        required = spec.default is dataclasses.MISSING and spec.default_factory is dataclasses.MISSING
        if required and key not in given:
            yield ConfigError(
                f"[{table.name}] needs the option `{key}`, which has no default.",
                hint=f"Add `{key} = ...` ({describe(hints[key])}) under [{table.name}] in {_a_file(table)}, "
                f"or give `-O {table.name}.{key}=...`.",
            )


def _prepared(value: Value, hint: Any) -> Any:
    """Return the raw value, merged from all layers that set a part of it."""
    own = _read(value.value, hint, value.layer)
    return _merged(_prepared(value.under, hint), own) if value.under else own


def _read(raw: Any, hint: Any, layer: Layer) -> Any:
    if layer.textual and isinstance(raw, str) and isinstance(given := _from_text(raw, hint), dict | list):
        raw, layer = given, dataclasses.replace(layer, textual=False)  # parsed as TOML already
    if isinstance(raw, dict):
        return {name: _read(inner, _hint_inside(hint, name), layer) for name, inner in raw.items()}
    if isinstance(raw, list):
        return [_read(inner, _hint_inside(hint), layer) for inner in raw]
    if layer.textual and isinstance(raw, str):
        raw = _from_text(raw, hint)
    if isinstance(raw, int | float) and not -(2**63) <= raw < 2**63:  # also inf and nan
        raise ConfigError(f"the number {shown('', raw)} is out of range.")
    named = any(
        raw in typing.get_args(kind) for kind in _alternatives(hint) if typing.get_origin(kind) is typing.Literal
    )
    if not isinstance(raw, str) or named or _mentions(hint, Key):
        return raw
    if _mentions(hint, Url):
        _check_url(raw)
    if _mentions(hint, Expression):
        raw = str(parse_expression(raw))
    if _mentions(hint, Path):
        raw = str(absolute(raw, layer.folder))
    if layer.confined:
        check_text(raw, layer, is_path=_mentions(hint, Path))
    return raw


def _merged(weaker: Any, stronger: Any) -> Any:
    if not isinstance(weaker, dict) or not isinstance(stronger, dict):
        return stronger
    return {**weaker, **{key: _merged(weaker.get(key), value) for key, value in stronger.items()}}


def _from_text(text: str, hint: Any) -> Any:
    """Convert text of the command line or environment: unchanged for text options, otherwise parsed as TOML."""
    kinds = _alternatives(hint)
    if not text and type(None) in kinds:
        return None
    if kinds & {str, Url, Key, Path, Expression, EmbedderName, Trusted}:
        return text
    if any(text in typing.get_args(kind) for kind in kinds if typing.get_origin(kind) is typing.Literal):
        return text
    try:
        return tomli.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        return text


def _alternatives(hint: Any) -> set[Any]:
    """Return the members of a union type, or the type itself."""
    if typing.get_origin(hint) is typing.Annotated:
        return _alternatives(typing.get_args(hint)[0])
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return set().union(*map(_alternatives, typing.get_args(hint)))
    return {hint}


def _hint_inside(hint: Any, name: str | None = None) -> Any:
    """Return the type of a table's values or a list's items."""
    for kind in _alternatives(hint):
        if dataclasses.is_dataclass(kind):  # its fields would escape the checks for untrusted files
            raise TypeError(f"{describe(kind)} is a dataclass; make its fields options")
        arguments = typing.get_args(kind)
        if arguments and typing.get_origin(kind) is not typing.Literal:
            return arguments[0] if name is None else arguments[-1]
    return Any


def _decode(kind: type, raw: Any, untrusted: Layer | None) -> Any:
    if kind is Key:
        if not isinstance(raw, str):
            raise ValueError("Expected a key's name")
        from .keys import find

        key = find(raw)
        if untrusted:
            raise ConfigError(
                f"rqa uses no key while {untrusted.origin} is not trusted.",
                hint=f"Read that file. {untrusted.allowing}",
            )
        return key
    if kind is Path:
        if not isinstance(raw, str):
            raise ValueError(f"Expected `str`, got `{type(raw).__name__}`")
        return Path(raw)
    raise NotImplementedError(f"it is {kind.__name__}")  # not TypeError, which would blame the value


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        sound = False
    if not sound or not url.isprintable() or set(url) & set(' \\"<>'):
        raise ConfigError(f"this must be an http or https URL, not {shown('', url)}.")
    if parts.username is not None:
        raise ConfigError(
            "a URL must not contain a user name or password.",
            hint='Store a key with `rqa keys set NAME --host HOST` and write `key = "NAME"`.',
        )


def _mentions(hint: Any, wanted: Any) -> bool:
    return hint is wanted or any(_mentions(argument, wanted) for argument in typing.get_args(hint))


def _plain(message: str) -> str:
    """Return msgspec's message as the end of a sentence: a bound, or the part that does not fit."""
    if bound := re.fullmatch(r"Expected `[^`]*` ([<>]=?) (\S+)", message):
        return f", {_BOUNDS[bound[1]]} {float(bound[2]):g}"
    if " - at `" not in message and re.match(r"Expected `[^`]*`, got|Invalid enum value", message):
        return ""
    named = re.sub(
        r"`([a-z |]+)`", lambda kind: re.sub(r"\w+", lambda one: _TYPES.get(one[0], one[0]), kind[1]), message
    )
    return f": {named.replace('`', '').replace(' | ', ' or ')}"


def _a_file(table: Table) -> str:
    origins = [layer.origin for value in table.values.values() for layer in value.layers if not layer.textual]
    return origins[0] if origins else "the configuration (`rqa config path`)"


@dataclass(frozen=True, slots=True)
class Defaults:
    """The table [defaults]: used if the command line names no other."""

    strategy: str | None = None  # a strategy; default: the most robust one that the reader can run
    retriever: Expression | None = None  # a retriever, or an expression of several
    reader: str | None = None  # a reader
    evaluator: str | None = None  # an evaluator
    embedder: str | None = None  # an embedder
    engine: str | None = None  # an engine of `rqa batch` and `rqa eval`; default: local
    k: Annotated[int, Meta(ge=1, le=10_000)] = 10  # passages a question retrieves
    expressions: dict[str, Expression] = field(default_factory=dict)  # retriever expressions by names of your choice
    prompts: dict[str, Path] = field(default_factory=dict)  # files to put in place of prompts: background, compress

    def __post_init__(self) -> None:
        for name in self.expressions:
            if not is_free_name(name):
                raise ValueError(f"cannot name an expression {name!r}")
