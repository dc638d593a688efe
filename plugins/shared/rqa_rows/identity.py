"""What the answers of a session depend on: components with digests of their content, and configured values."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from robust_qa import Question, RqaError
from robust_qa.answering import ANSWERING_KINDS, RESERVED, convert, scrubbed, sources
from robust_qa.kit import BUILT_IN

if TYPE_CHECKING:
    from robust_qa.answering import Pipeline, Session, SessionToolbox, Tree, Value

LACKING, NOTHING = "retriever of rows without passages", "nothing"
_OF_EVALUATORS = ("evaluator.", "defaults.evaluator")
_LIMITS = RESERVED - {"plugin"}


def settings_of(session: Session, *, judged: bool = True) -> dict[str, Any]:
    """Return the configured values that answers depend on, by dotted name. `judged`: also those of evaluators."""
    options = _options(session)
    return options if judged else {key: value for key, value in options.items() if not key.startswith(_OF_EVALUATORS)}


def depends_on(
    session: Session, *, has_passages: bool, lacking: bool, strategy: str | None = None, as_given: bool = False
) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the components that answer questions, by what they do, and the configured values.

    `has_passages`: the questions have passages of their own. `lacking`: some of them lack these. The rest is as in
    `Session.choose`, whose errors this raises.
    """

    def choose(*, has_passages: bool) -> tuple[str, SessionToolbox]:
        return session.choose(has_passages=has_passages, strategy=strategy, as_given=as_given)

    name, toolbox = choose(has_passages=has_passages)
    expressions = session.components.own_expressions("strategy", name)
    if toolbox.expression:
        expressions.insert(0, toolbox.expression)
    retrieved = {"retriever": expressions}
    try:
        other = choose(has_passages=False)[1].expression if lacking else None
    except RqaError:
        retrieved[LACKING] = []
    else:
        if other is not None and other not in expressions:
            retrieved[LACKING] = [other]
    judged = session.judged(name, chain(*retrieved.values()))
    return _described(name, toolbox, retrieved, judged=judged), settings_of(session, judged=judged)


def answered_by(session: Session, strategy: str, *, has_passages: bool, as_given: bool = False) -> dict[str, str]:
    """The default reader and evaluator, with digests of their content and options.

    A strategy may use others by its options or its name. Raises the same errors as `Session.choose` for `strategy`.
    """
    session.choose(has_passages=has_passages, strategy=strategy, as_given=as_given)
    toolbox = session.toolbox_for(Question("", passages=() if has_passages else None), as_given=as_given)
    found = _identified({"reader": toolbox.reader, "evaluator": toolbox.evaluator})
    options = _options(session)
    for what, name in list(found.items()):
        if own := {key: value for key, value in options.items() if key.startswith(f"{name}.")}:
            found[f"{what} options"] = _digest(json.dumps(own, sort_keys=True, default=str))
    return found


def options_of(table: str, options: Any) -> dict[str, Any]:
    """Return all options of a component by name. Secrets are asterisks; options with a hidden repr are left out."""
    fields = () if options is None else dataclasses.fields(options)
    return {one.name: scrubbed(f"{table}.{one.name}", getattr(options, one.name)) for one in fields if one.repr}


def _options(session: Session) -> dict[str, Any]:
    config, checkers = session.components.config, session.components.host.names("checker")
    tables = {*ANSWERING_KINDS, "defaults", "trust", "plugins", *checkers}
    leaves = [(key, value) for key, value in config.leaves() if _matters(key, tables)]
    values = {key: scrubbed(key, value.value) for key, value in leaves}
    values.update((f"{key} content", content) for key, value in leaves if (content := _content(key, value)))
    options: dict[str, Any] = msgspec.to_builtins(values, enc_hook=str)
    return options


def _matters(key: str, tables: Set[str]) -> bool:
    """Whether answers depend on the option: it is in one of `tables`, and neither a limit nor the engine."""
    *table, option = key.split(".")
    if key.partition(".")[0] not in tables or key == "defaults.engine":
        return False
    return not (len(table) == 2 and option in _LIMITS)


def _content(key: str, value: Value) -> str:
    """The digest of the prompt file that the option names, "" for other options and unreadable files.

    Other files belong to the component's `fingerprint`.
    """
    if key.split(".")[-2:-1] != ["prompts"]:
        return ""
    try:
        path: Path = convert(value, Path, key)
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16] if path.is_file() else ""
    except (RqaError, OSError):
        return ""  # the table of an unused strategy may be invalid


def _described(
    strategy: str, toolbox: SessionToolbox, retrieved: Mapping[str, Sequence[Tree]], *, judged: bool
) -> dict[str, str]:
    described = {"strategy": strategy}
    components = {"reader": toolbox.reader, "evaluator": toolbox.evaluator if judged else None}
    for what, trees in retrieved.items():
        if trees or what == LACKING:
            described[what] = ", ".join(dict.fromkeys(map(str, trees))) or NOTHING
    expressions = (tree for trees in retrieved.values() for tree in trees)
    for name in (name for tree in expressions for name in sources(tree) if name not in BUILT_IN):
        with suppress(RqaError):  # the strategy skips a retriever that is missing
            components[f"retriever {name}"] = toolbox.components.pipeline("retriever", name)
    return described | _identified(components)


def _identified(components: Mapping[str, Pipeline | None]) -> dict[str, str]:
    """The name of each component, and a digest of its content if it has a fingerprint."""
    found = {}
    for what, pipeline in components.items():
        if pipeline is None:
            continue
        found[what] = pipeline.name
        if pipeline.fingerprint is not None:
            found[f"{what} content"] = _digest(str(pipeline.fingerprint))
    return found


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
