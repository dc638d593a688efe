"""A table of the configuration as an instance of an options dataclass, each value checked by its type."""

from __future__ import annotations

import dataclasses
import ipaddress
import typing
from collections.abc import Collection
from pathlib import Path
from typing import Any, NewType, TypeVar
from urllib.parse import urlsplit

import msgspec
import tomli

from . import secrets
from .config import Layer, Table, Value
from .errors import ConfigError
from .nearest import did_you_mean
from .secrets import Key

Url = NewType("Url", str)
"""An endpoint. A configuration that nobody vouched for may point it at this machine, or at a host for which
the user stored a key."""

T = TypeVar("T")


def build(options: type[T], table: Table, *, reserved: Collection[str] = ()) -> T:
    """An instance of the dataclass `options` from `table`, leaving out the `reserved` keys.

    Raises ConfigError that names file, table, key and what was expected.
    """
    hints = typing.get_type_hints(options, include_extras=True)
    fields = {f.name: f for f in dataclasses.fields(options) if f.init}  # type: ignore[arg-type]
    given = {key: value for key, value in table.values.items() if key not in reserved}
    for key, value in given.items():
        if key not in fields:
            known = [*fields, *reserved]
            raise ConfigError(
                f"{value.layer.origin}: [{table.name}] has no option `{key}`; "
                f"its options are {', '.join(sorted(known)) or 'none'}.",
                hint=did_you_mean(key, known),
            )
    for key, spec in fields.items():
        required = spec.default is dataclasses.MISSING and spec.default_factory is dataclasses.MISSING
        if required and key not in given:
            raise ConfigError(
                f"[{table.name}] lacks `{key}`, which has no default.",
                hint=f"Add `{key} = ...` ({describe(hints[key])}) under [{table.name}] in {_a_file(table)}.",
            )
    # One value from a confined file, and a key named beside it must not go where that value may point.
    confined = any(value.layer.confined for value in table.values.values())
    converted = {
        key: convert(value, hints[key], f"{table.name}.{key}", confined=confined) for key, value in given.items()
    }
    try:
        return options(**converted)
    except (ValueError, TypeError) as error:
        origins = dict.fromkeys(value.layer.origin for value in given.values())
        raise ConfigError(f"{', '.join(origins)}: [{table.name}] {error}.") from error


def convert(value: Value, hint: Any, key: str, *, confined: bool = False) -> Any:
    """`value` as the type `hint`; ConfigError names where it came from, `key`, and what was expected.

    With `confined` a key is revealed only to the host it was stored for.
    """
    raw, layer = value.value, value.layer
    if layer.textual and isinstance(raw, str):
        raw = _from_text(raw, hint)
    try:
        result = msgspec.convert(
            raw, hint, strict=not layer.textual, dec_hook=lambda kind, obj: _decode(kind, obj, layer, confined)
        )
    except msgspec.ValidationError as error:
        raise ConfigError(
            f"{layer.origin}: `{key}` must be {describe(hint)}: {_plain(str(error))}, and it is {raw!r}."
        ) from error
    if _mentions(hint, Url) and isinstance(result, str):
        _check_url(result, layer, key)
    return result


def describe(hint: Any) -> str:
    """A type, for people."""
    if hint is Url:
        return "a URL"
    if hint is Key:
        return "a key's name"
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return describe(arguments[0])
    if origin is typing.Literal:
        return "one of " + ", ".join(repr(value) for value in arguments)
    if origin in (list, tuple, set, frozenset):
        return "a list"
    if origin is dict:
        return "a table"
    if arguments:
        return " or ".join(describe(argument) for argument in arguments if argument is not type(None))
    names = {str: "text", int: "a whole number", float: "a number", bool: "true or false", Path: "a path"}
    return names.get(hint, getattr(hint, "__name__", str(hint)))


def _from_text(text: str, hint: Any) -> Any:
    """Text of the command line or environment: TOML where the option is no plain text and it parses as such."""
    if hint is str:
        return text
    try:
        return tomli.loads(f"value = {text}")["value"]
    except tomli.TOMLDecodeError:
        return text


def _decode(kind: type, raw: Any, layer: Layer, confined: bool) -> Any:
    if kind is Key:
        if not isinstance(raw, str):
            raise ValueError("Expected a key's name")
        return secrets.find(raw, confined=confined or layer.confined)
    if kind is Path:
        if not isinstance(raw, str):
            raise ValueError(f"Expected `str`, got `{type(raw).__name__}`")
        return _path(raw, layer)
    raise TypeError(f"options of type {kind.__name__} cannot be written in TOML")


def _path(raw: str, layer: Layer) -> Path:
    path = layer.folder / Path(raw).expanduser()
    if layer.confined and not path.resolve().is_relative_to(layer.folder):
        raise ConfigError(
            f"{layer.origin} names {raw}, which is outside its folder, and the file was found by walking up.",
            hint=f"To allow it: `rqa config trust {layer.origin}`, or name the file with --config.",
        )
    return path


def _check_url(url: str, layer: Layer, key: str) -> None:
    try:
        host = urlsplit(url).hostname
    except ValueError:
        host = None
    if not host or urlsplit(url).scheme not in ("http", "https"):
        raise ConfigError(f"{layer.origin}: `{key}` must be an http or https URL, and it is {url!r}.")
    if not layer.confined or _is_loopback(host):
        return
    if host not in {stored.host for stored in secrets.stored_keys().values()}:
        raise ConfigError(
            f"{layer.origin} would send questions and passages to {host}, and the file was found by walking up.",
            hint=f"To allow it: `rqa config trust {layer.origin}`, or name the file with --config.",
        )


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _mentions(hint: Any, wanted: Any) -> bool:
    return hint is wanted or any(_mentions(argument, wanted) for argument in typing.get_args(hint))


def _plain(message: str) -> str:
    return message.replace("`", "").removesuffix(" - at $").strip()


def _a_file(table: Table) -> str:
    origins = [value.layer.origin for value in table.values.values() if not value.layer.textual]
    return origins[0] if origins else "the configuration (`rqa config path`)"
