"""What a run's answers depend on, so that an interrupted run is continued only as it was begun."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from .. import __version__
from ..answering.components import Plan
from ..calls.limits import RESERVED
from ..calls.pipeline import Pipeline
from ..config import options as settings
from ..config.files import write_private
from ..config.layers import Config
from ..config.redaction import scrubbed
from ..config.values import Value
from ..documents.lines import LONGEST
from ..errors import InputError, RqaError
from ..expressions import BUILT_IN, Tree, sources
from .rows import bare, parse_row

if TYPE_CHECKING:
    from ..answering.session import Session

_LACKING, _NOTHING = "retriever of rows without passages", "nothing"
_OF_EVALUATORS = ("evaluator.", "defaults.evaluator")
_LIMITS = RESERVED - {"plugin"}


class State(msgspec.Struct, frozen=True):
    """A run as it was begun, kept beside its output in `OUT.state.json`.

    `input` is the SHA-256 of a regular file, None for a stream. Options that look secret are asterisks.
    """

    rqa: str
    input: str | None
    plan: dict[str, str]
    configuration: dict[str, Any]

    @classmethod
    def of(
        cls,
        config: Config,
        plan: Plan | None,
        input_digest: str | None,
        retrieved: Mapping[str, Sequence[Tree]] | None = None,
        *,
        judged: bool = False,
    ) -> State:
        """The state of a run that is about to begin: `plan` is that of its first row, `retrieved` what the function
        of that name says, and `judged` whether the evaluator has a part in it.
        """
        described, options = _described(plan, retrieved or {}, judged=judged), _options(config)
        if not judged:
            options = {key: value for key, value in options.items() if not key.startswith(_OF_EVALUATORS)}
        return cls(__version__.rpartition(".")[0], input_digest, described, options)

    @classmethod
    def load(cls, path: Path) -> State:
        """The state kept at `path`. InputError when there is none, or none that can be read."""
        try:
            return msgspec.json.decode(path.read_bytes(), type=cls)
        except FileNotFoundError as error:
            raise InputError(f"There is no {path.name} beside it to say which run it is.") from error
        except (OSError, msgspec.DecodeError) as error:
            raise InputError(f"{path.name} cannot be read: {error}.") from error

    def save(self, path: Path) -> None:
        """Keep it at `path`, in one step. InputError when it cannot be written."""
        try:
            write_private(path, msgspec.json.format(msgspec.json.encode(self), indent=2).decode() + "\n")
        except OSError as error:
            raise InputError(f"Cannot write {path}: {error.strerror}.") from error

    def changes(self, now: State, *, retry: bool = False) -> list[str]:
        """What makes `now` another run than this one, a phrase each.

        Rows that all failed, and are answered by a `retry`, may be answered from what was not there before.
        """
        phrases = []
        anew = retry and self.plan.get(_LACKING) == _NOTHING
        if self.rqa != now.rqa:
            phrases.append(f"it was begun by rqa {self.rqa}, and this is {now.rqa}")
        if self.input != now.input:
            phrases.append("the input has changed")
        for before, after in ((self.plan, now.plan), (self.configuration, now.configuration)):
            for key in sorted(before.keys() | after.keys()):
                was, is_now = _shown(before, key), _shown(after, key)
                if anew and (key == _LACKING or (key.startswith("retriever ") and key not in before)):
                    continue
                if was != is_now:
                    phrases.append(f"`{key}` was {was} and is {is_now}")
        return phrases


def retrieved(session: Session, plan: Plan, without: Callable[[], Plan] | None) -> dict[str, list[Tree]]:
    """What a run may retrieve: as the `plan` of its first row and the options of the strategy say, and as the one of
    rows `without` passages, if there may be such; nothing where those fail.
    """
    name, _, chosen = plan
    every = session.assembly.own_expressions("strategy", name)
    if chosen.expression:
        every.insert(0, chosen.expression)
    try:
        other = without().components.expression if without else None
    except RqaError:
        return {"retriever": every, _LACKING: []}
    return {"retriever": every} | ({} if other is None or other in every else {_LACKING: [other]})


def answered_by(session: Session, strategy: str, *, has_passages: bool, as_given: bool = False) -> dict[str, str]:
    """By what a strategy answers: `reader` and `evaluator`, with digests of their content and of their options.

    What they are by default: a strategy may choose others by its options. Raises what Session.plan does.
    """
    chosen = session.plan(has_passages=has_passages, strategy=strategy, as_given=as_given).components
    found = _identified({"reader": chosen.reader, "evaluator": chosen.evaluator})
    options = _options(session.assembly.config)
    for what, name in list(found.items()):
        if of_it := {key: value for key, value in options.items() if key.startswith(f"{name}.")}:
            found[f"{what} options"] = _digest(json.dumps(of_it, sort_keys=True, default=str))
    return found


def _options(config: Config) -> dict[str, Any]:
    """What is configured that answers depend on, by dotted name."""
    leaves = [(key, value) for key, value in config.leaves() if _matters(key)]
    values = {key: scrubbed(key, value.value) for key, value in leaves}
    values.update((f"{key} content", content) for key, value in leaves if (content := _content(key, value)))
    options: dict[str, Any] = msgspec.to_builtins(values, enc_hook=str)
    return options


def _matters(key: str) -> bool:
    """Whether answers depend on the option of that dotted name: not on the cache, and not on limits."""
    *table, option = key.split(".")
    return table[:1] != ["cache"] and not (len(table) == 2 and option in _LIMITS)


def _content(key: str, value: Value) -> str:
    """The digest of the prompt that the option names; empty for other options, and where there is none to read.

    Other files are the matter of the component's `fingerprint`: not every file that an option names is one to read.
    """
    if key.split(".")[-2:-1] != ["prompts"]:
        return ""
    try:
        path: Path = settings.convert(value, Path, key)
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16] if path.is_file() else ""
    except (RqaError, OSError):
        return ""  # of a strategy that is not used: its table may hold anything


def _described(plan: Plan | None, retrieved: Mapping[str, Sequence[Tree]], *, judged: bool) -> dict[str, str]:
    if plan is None:
        return {}
    strategy, _, chosen = plan
    described = {"strategy": strategy}
    components = {"reader": chosen.reader, "evaluator": chosen.evaluator if judged else None}
    for what, trees in retrieved.items():
        if trees or what == _LACKING:
            described[what] = ", ".join(dict.fromkeys(map(str, trees))) or _NOTHING
    every = (tree for trees in retrieved.values() for tree in trees)
    for name in (name for tree in every for name in sources(tree) if name not in BUILT_IN):
        with suppress(RqaError):  # one that is not there is left out by the strategy that names it
            components[f"retriever {name}"] = chosen.names.retriever(name)
    return described | _identified(components)


def _identified(components: Mapping[str, Pipeline | None]) -> dict[str, str]:
    """The name of each, and a digest of its content where it has a fingerprint."""
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


def surveyed(descriptor: int) -> tuple[str | None, bool]:
    """Of a regular file's rows that are still to be read the SHA-256, and whether one may lack passages.

    Its position stays. A stream has no digest, and what it will bring nobody knows.
    """
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        return None, True
    content, lacking, position = hashlib.sha256(), False, os.lseek(descriptor, 0, os.SEEK_CUR)
    with os.fdopen(os.dup(descriptor), "rb") as file:
        while line := file.readline(LONGEST + 1):  # what is longer is no row
            content.update(line)
            lacking = lacking or (bool(bare(line)) and _lacks_passages(line))
    os.lseek(descriptor, position, os.SEEK_SET)
    return content.hexdigest(), lacking


def _lacks_passages(line: bytes) -> bool:
    try:
        fields = parse_row(line, 0).fields
    except InputError:
        return False  # it fails, whatever there is to retrieve from
    return bytes(fields.get("passages", b"null")) == b"null"


def _shown(values: Mapping[str, Any], key: str) -> str:
    return str(values[key]) if key in values else "not set"
