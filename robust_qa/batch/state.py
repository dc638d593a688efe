"""The state of a run: what its answers depend on. A run can only be continued with the same state."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ..answering.toolbox import Toolbox
from ..calls.limits import RESERVED
from ..calls.pipeline import Pipeline
from ..config import options as settings
from ..config.layers import Config
from ..config.values import Value, scrubbed
from ..errors import InputError, RqaError
from ..expressions import BUILT_IN, Tree, sources
from ..types import Question
from ..version import __version__
from .input import bare, input_rows
from .lines import read_lines
from .rows import given_passages, parse_row

if TYPE_CHECKING:
    from ..answering.session import Session

NEW_RUN = "Use `--force` to start again and replace the answers."
_LACKING, _NOTHING = "retriever of rows without passages", "nothing"
_OF_EVALUATORS = ("evaluator.", "defaults.evaluator")
_LIMITS = RESERVED - {"plugin"}


class State(msgspec.Struct, frozen=True):
    """What the answers of a run depend on, saved as `OUT.state.json`.

    `input` is the SHA-256 of a regular file, None for a stream. Secrets are saved as asterisks.
    """

    rqa: str
    input: str | None
    plan: dict[str, str]
    configuration: dict[str, Any]

    @classmethod
    def load(cls, path: Path) -> State | None:
        """Read the state at `path`, None if it is missing or damaged. Raises InputError if it cannot be opened."""
        try:
            return msgspec.json.decode(path.read_bytes(), type=cls)
        except (FileNotFoundError, msgspec.DecodeError, RecursionError):
            return None
        except OSError as error:
            raise InputError(f"Cannot read {path}: {error.strerror}.") from error

    @classmethod
    def decoded(cls, stored: bytes, what: str) -> State:
        """Decode the state of the answers in `what`. Raises InputError if it is damaged."""
        try:
            return msgspec.json.decode(stored, type=cls)
        except (msgspec.DecodeError, RecursionError) as error:
            raise InputError(f"{what} cannot be continued: its state is damaged.", hint=NEW_RUN) from error

    def check_continues(self, now: State, what: str, *, retry: bool = False) -> None:
        """Raise InputError if `what`, which has answers with this state, cannot be continued by a run with `now`.

        With `retry`, a retriever may be new: the rows that needed one failed before and run again.
        """
        if changes := self._changes(now, retry=retry):
            raise InputError(
                f"{what} cannot be continued: {'; '.join(changes)}.",
                hint=f"Use the same input and configuration as before. {NEW_RUN}",
            )

    def _changes(self, now: State, *, retry: bool) -> list[str]:
        """The differences between this state and `now`, one phrase each."""
        phrases = []
        retriever_may_be_new = retry and self.plan.get(_LACKING) == _NOTHING
        if self.rqa != now.rqa:
            phrases.append(f"rqa {self.rqa} started it, and this is rqa {now.rqa}")
        if self.input != now.input:
            phrases.append("the input has changed")
        for before, after in ((self.plan, now.plan), (self.configuration, now.configuration)):
            for key in sorted(before.keys() | after.keys()):
                was, is_now = _shown(before, key), _shown(after, key)
                new_retriever = key == _LACKING or (key.startswith("retriever ") and key not in before)
                if retriever_may_be_new and new_retriever:
                    continue
                if was != is_now:
                    phrases.append(f"`{key}` was {was} and is {is_now}")
        return phrases


def state_of(
    session: Session,
    found: Survey,
    chosen: tuple[str, Toolbox] | None,
    without: Callable[[], tuple[str, Toolbox]],
) -> State:
    """The state of a new run over the surveyed input.

    `chosen`: the strategy and toolbox for its first row. `without`: returns those for rows without passages.
    """
    retrieved = _retrieved(session, *chosen, without if found.lacking else None) if chosen else {}
    judged = chosen is not None and session.judged(chosen[0], chain(*retrieved.values()))
    options = _options(session.components.config)
    if not judged:
        options = {key: value for key, value in options.items() if not key.startswith(_OF_EVALUATORS)}
    described = _described(chosen, retrieved, judged=judged)
    return State(__version__.rpartition(".")[0], found.digest, described, options)


def _retrieved(
    session: Session, strategy: str, toolbox: Toolbox, without: Callable[[], tuple[str, Toolbox]] | None
) -> dict[str, list[Tree]]:
    """The retriever expressions that a run may use: of `toolbox`, of the strategy's options, and of `without`."""
    expressions = session.components.own_expressions("strategy", strategy)
    if toolbox.expression:
        expressions.insert(0, toolbox.expression)
    try:
        other = without()[1].expression if without else None
    except RqaError:
        return {"retriever": expressions, _LACKING: []}
    return {"retriever": expressions} | ({} if other is None or other in expressions else {_LACKING: [other]})


def answered_by(session: Session, strategy: str, *, has_passages: bool, as_given: bool = False) -> dict[str, str]:
    """The default reader and evaluator, with digests of their content and options.

    A strategy may use others by its options or its name. Raises the same errors as `Session.choose` for `strategy`.
    """
    session.choose(has_passages=has_passages, strategy=strategy, as_given=as_given)
    toolbox = session.toolbox_for(Question("", passages=() if has_passages else None), as_given=as_given)
    found = _identified({"reader": toolbox.reader, "evaluator": toolbox.evaluator})
    options = _options(session.components.config)
    for what, name in list(found.items()):
        if own := {key: value for key, value in options.items() if key.startswith(f"{name}.")}:
            found[f"{what} options"] = _digest(json.dumps(own, sort_keys=True, default=str))
    return found


def options_of(table: str, options: Any) -> dict[str, Any]:
    """Return all options of a component by name. Secrets are asterisks; options with a hidden repr are left out."""
    fields = () if options is None else dataclasses.fields(options)
    return {one.name: scrubbed(f"{table}.{one.name}", getattr(options, one.name)) for one in fields if one.repr}


def _options(config: Config) -> dict[str, Any]:
    """The configured values that answers depend on, by dotted name."""
    leaves = [(key, value) for key, value in config.leaves() if _matters(key)]
    values = {key: scrubbed(key, value.value) for key, value in leaves}
    values.update((f"{key} content", content) for key, value in leaves if (content := _content(key, value)))
    options: dict[str, Any] = msgspec.to_builtins(values, enc_hook=str)
    return options


def _matters(key: str) -> bool:
    """Whether answers depend on the option. They do not depend on the cache, the history, the engine and limits."""
    *table, option = key.split(".")
    if table[:1] in (["cache"], ["history"], ["engine"]) or key == "defaults.engine":
        return False
    return not (len(table) == 2 and option in _LIMITS)


def _content(key: str, value: Value) -> str:
    """The digest of the prompt file that the option names, "" for other options and unreadable files.

    Other files belong to the component's `fingerprint`.
    """
    if key.split(".")[-2:-1] != ["prompts"]:
        return ""
    try:
        path: Path = settings.convert(value, Path, key)
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16] if path.is_file() else ""
    except (RqaError, OSError):
        return ""  # the table of an unused strategy may be invalid


def _described(
    chosen: tuple[str, Toolbox] | None, retrieved: Mapping[str, Sequence[Tree]], *, judged: bool
) -> dict[str, str]:
    if chosen is None:
        return {}
    strategy, toolbox = chosen
    described = {"strategy": strategy}
    components = {"reader": toolbox.reader, "evaluator": toolbox.evaluator if judged else None}
    for what, trees in retrieved.items():
        if trees or what == _LACKING:
            described[what] = ", ".join(dict.fromkeys(map(str, trees))) or _NOTHING
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


@dataclass(frozen=True, slots=True)
class Survey:
    """The input of a batch, read as a whole before the first call.

    `digest`: its SHA-256, None for a stream. `lacking`: whether some row has no passages.
    `rows`: their number without blank lines, None if unknown.
    """

    digest: str | None = None
    first: bytes | None = None  # row that is not blank
    lacking: bool = True
    rows: int | None = None


def survey(rows: Iterable[bytes]) -> Survey:
    """Survey the rows of an input, as `input_rows` returns them."""
    content, first, lacking, count = hashlib.sha256(), None, False, 0
    for row in rows:
        content.update(row.rstrip(b"\r\n") + b"\n")
        if bare(row):
            count += 1
            first = row if first is None else first
            lacking = lacking or _lacks_passages(row)
    return Survey(content.hexdigest(), first, lacking, count)


def survey_file(descriptor: int, name: str = "The input", column: str = "") -> Survey:
    """Survey the unread part of a regular file, and keep the file position. Of a stream nothing is known."""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        return Survey()
    position = os.lseek(descriptor, 0, os.SEEK_CUR)
    with os.fdopen(os.dup(descriptor), "rb") as file:
        found = survey(row for _, row in input_rows(read_lines(file), name, column))
    os.lseek(descriptor, position, os.SEEK_SET)
    return found


def _lacks_passages(line: bytes) -> bool:
    try:
        fields = parse_row(line, 0).fields
    except InputError:
        return False  # the row fails in any case
    return bytes(given_passages(fields) or b"null") == b"null"


def _shown(values: Mapping[str, Any], key: str) -> str:
    return str(values[key]) if key in values else "not set"
