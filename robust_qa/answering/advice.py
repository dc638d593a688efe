"""What to do when the configuration cannot answer, and when an index is out of date."""

from __future__ import annotations

import shlex
from typing import Any

from ..errors import ConfigError, MissingError, RqaError
from ..types import Power
from .components import Components
from .toolbox import ADD_DOCUMENTS, SessionToolbox

_FILES_NAMED = 5  # stale files in a warning


def nothing_to_answer_from(components: Components) -> RqaError:
    """The error of a session without documents, passages and language model."""
    return MissingError(
        "There is nothing to answer from: no documents, no passages and no language model.",
        hint="\n".join([ADD_DOCUMENTS, *_language_models(components)]),
    )


def _language_models(components: Components) -> list[str]:
    """How to get a language model, by each reader plugin."""
    factories: list[Any] = [each.factory for each in components.host.components("reader") if each.has("advice")]
    return [factory.advice() for factory in factories]


def _reader_can(components: Components, power: str, name: str) -> bool:
    """Whether the configured reader of that name has `power`. False if its table is invalid."""
    try:
        return components.component("reader", name).registration.has(power)
    except ConfigError:
        return False


def cannot(strategy: str, lacking: frozenset[Power], toolbox: SessionToolbox) -> RqaError:
    """The error of a strategy that needs powers which no component has."""
    if "retrieve" in lacking:
        return MissingError(
            f"Strategy {strategy!r} retrieves passages, but there are no documents.", hint=ADD_DOCUMENTS
        )
    if {"generate", "continue_text"} & lacking:
        return _no_model(strategy, lacking, toolbox)
    if "quote" in lacking:
        return ConfigError(
            f"Strategy {strategy!r} needs a reader that points at text, such as `embedded`.",
            hint="Name one with --reader, or another strategy with -s.",
        )
    kind, one = ("reader", "a reader") if "read" in lacking else ("evaluator", "an evaluator")
    return ConfigError(
        f"Strategy {strategy!r} needs {one}, and none is configured.",
        hint=f"Set `{kind} = ...` under [defaults]. `rqa plugins` lists installed plugins.",
    )


def _no_model(strategy: str, lacking: frozenset[Power], toolbox: SessionToolbox) -> RqaError:
    reader = toolbox.reader.name if toolbox.reader else "no reader"
    components = toolbox.components
    advice = _language_models(components)
    power: Power = "generate"
    message = f"Strategy {strategy!r} needs a language model, and {reader} does not write text."
    if "continue_text" in lacking:
        power = "continue_text"
        message = f"Strategy {strategy!r} needs token probabilities from the reader, and {reader} does not return any."
        plugins = [r.name for r in components.host.components("reader") if r.has(power)]
        advice.append(f"Reader plugins with token probabilities: {', '.join(plugins) or 'none'}.")
    if configured := [name for name in components.config.names("reader") if _reader_can(components, power, name)]:
        advice.append(f"Choose a configured reader with --reader: {', '.join(configured)}.")
    else:
        advice.append("To use a model on a server, create a configuration with `rqa init`.")
    error = ConfigError if components.defaults.reader else MissingError
    return error(message, hint="\n".join(advice))


def on_stale(files: list[str]) -> str:
    """How to update the index with these files."""
    more = f" {len(files) - _FILES_NAMED:,} more are marked in the answers." if len(files) > _FILES_NAMED else ""
    command = shlex.join(["rqa", "index", *files[:_FILES_NAMED]])
    return f"The index no longer agrees with files that it quotes. Update it with `{command}`.{more}"
