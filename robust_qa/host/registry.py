"""Registration of a plugin's components, commands, metrics, tools and formats of files, as plain data."""

from __future__ import annotations

import dataclasses
import importlib
import re
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import pluggy

from ..errors import PluginError, interrupted
from ..expressions import BUILT_IN
from ..file_formats import FileFormat
from ..types import NAMED_KINDS, RESERVED_TABLES, Kind, Power, are_names
from ..version import OWN_DISTRIBUTION

if TYPE_CHECKING:
    from ..protocols import (
        AssistedEvaluator,
        Checker,
        Embedder,
        Evaluator,
        ExtractiveReader,
        LanguageModel,
        Recorder,
        Retriever,
        Strategy,
    )
    from .metrics import Metric

NAME = re.compile(r"[a-z][a-z0-9_-]*\Z")
_TARGET = re.compile(r"[\w.]+:\w+(\.\w+)*\Z")


@dataclass(eq=False)
class Plugin:
    """A plugin, as listed by `rqa plugins`. `reason` says why it is broken or off."""

    name: str
    distribution: str = ""
    version: str = ""
    state: Literal["loaded", "broken", "off"] = "loaded"
    reason: str = ""

    @property
    def is_file(self) -> bool:
        """Whether it is a Python file or a folder that is not installed; `distribution` is then its path."""
        return Path(self.distribution).is_absolute()


@dataclass(eq=False)
class Registered:
    """An object of a plugin, given as itself or as "package.module:name". `reason` is set if the host refused it."""

    name: str
    target: Any
    plugin: Plugin
    declared_summary: str = ""
    reason: str = ""
    section: str = ""  # of `rqa --help`

    @cached_property
    def object(self) -> Any:
        """The object, imported on first use. Raises PluginError if that fails."""
        if not isinstance(self.target, str):
            return self.target
        module, _, path = self.target.partition(":")
        try:
            with redirect_stdout(sys.stderr):  # keep plugins' prints out of the command's output
                found: Any = importlib.import_module(module)
            for part in path.split("."):
                found = getattr(found, part)
        except BaseException as error:
            if interrupted(error):
                raise
            raise PluginError(
                f"Plugin {self.plugin.name} cannot import {self.target}: {one_line(error)}.",
                hint=f"Reinstall {self.plugin.distribution}, or tell its author.",
            ) from error
        return found

    @property
    def label(self) -> str:
        """Kind and name, for messages."""
        return f"command {self.name!r}"

    @property
    def summary(self) -> str:
        """One line for lists."""
        if self.declared_summary:
            return self.declared_summary
        text = getattr(self.object, "help", None) or self.object.__doc__ or ""  # click commands have `help`
        return str(text).strip().partition("\n")[0]


@dataclass(eq=False, kw_only=True)
class RegisteredFormat(Registered):
    """A registered format of files. `target` is its reader."""

    file_format: FileFormat

    @property
    def label(self) -> str:
        """Kind and name, for messages."""
        return f"format {self.name!r}"


@dataclass(eq=False, kw_only=True)
class Registration(Registered):
    """A registered component. `declared_needs` are the needs of a strategy that is not imported yet."""

    kind: Kind
    rank: int = 0
    declared_needs: frozenset[Power] | None = None

    @property
    def label(self) -> str:
        """Kind and name, for messages."""
        return f"{self.kind} {self.name!r}"

    @cached_property
    def factory(self) -> Callable[..., Any]:
        """The component's class or function, imported on first use. Raises PluginError if it breaks the contract."""
        factory = self.object
        options = getattr(factory, "Options", None)
        if not callable(factory):
            raise PluginError(f"register {self.label} with (name, factory), not with {factory!r}")
        if options is not None and not dataclasses.is_dataclass(options):
            raise PluginError(f"the Options of {self.label} is not a dataclass")
        if options is not None and "plugin" in (each.name for each in dataclasses.fields(options) if each.init):
            raise PluginError(f"the Options of {self.label} has a field `plugin`, which is reserved")
        if self.declared_needs is not None and self.declared_needs != (own := set(getattr(factory, "needs", ()))):
            raise PluginError(f"{self.label} is registered with needs={set(self.declared_needs)}, its class has {own}")
        return factory  # type: ignore[no-any-return]

    def has(self, attribute: str) -> bool:
        """Return whether its class has that attribute. False if the class cannot be imported."""
        try:
            return hasattr(self.factory, attribute)
        except PluginError:
            return False

    @property
    def options(self) -> type[Any] | None:
        """The component's `Options` dataclass, or None."""
        return getattr(self.factory, "Options", None)

    @property
    def needs(self) -> frozenset[Power]:
        """What a strategy needs, empty if only its instances say."""
        if self.declared_needs is not None:
            return self.declared_needs
        return frozenset(getattr(self.factory, "needs", ()))


@dataclass(eq=False)
class Registry:
    """The argument of `rqa_register`. Registration is plain data: it imports nothing and builds nothing.

    A `factory` is a class or function, or "package.module:Class", which the host imports when it is used. `rank` sets
    the default: if the configuration names no component, the highest rank that works without configuration is used.
    `summary` is one line for lists. By default it is the first line of the factory's docstring.
    """

    plugin: Plugin
    components: list[Registration] = field(default_factory=list)
    commands: list[Registered] = field(default_factory=list)
    groups: dict[str, str] = field(default_factory=dict)
    metric_lists: list[Registered] = field(default_factory=list)
    tool_lists: list[Registered] = field(default_factory=list)
    prompting_classes: list[Registered] = field(default_factory=list)
    formats: list[RegisteredFormat] = field(default_factory=list)
    extras: dict[tuple[Kind, str], str] = field(default_factory=dict)

    def retriever(
        self, name: str, factory: str | Callable[..., Retriever], *, rank: int = 0, summary: str = ""
    ) -> None:
        """Register a retriever, which returns passages for a query."""
        self._component("retriever", name, factory, rank, summary)

    def reader(
        self,
        name: str,
        factory: str | Callable[..., ExtractiveReader | LanguageModel],
        *,
        rank: int = 0,
        summary: str = "",
    ) -> None:
        """Register a reader, which finds answers in passages or generates text."""
        self._component("reader", name, factory, rank, summary)

    def evaluator(
        self,
        name: str,
        factory: str | Callable[..., Evaluator | AssistedEvaluator],
        *,
        rank: int = 0,
        summary: str = "",
    ) -> None:
        """Register an evaluator, which scores the relevance of texts to a question."""
        self._component("evaluator", name, factory, rank, summary)

    def embedder(self, name: str, factory: str | Callable[..., Embedder], *, rank: int = 0, summary: str = "") -> None:
        """Register an embedder, which turns texts into vectors."""
        self._component("embedder", name, factory, rank, summary)

    def strategy(
        self,
        name: str,
        factory: str | Callable[..., Strategy],
        *,
        rank: int = 0,
        summary: str = "",
        needs: Collection[str] | None = None,
    ) -> None:
        """Register a strategy, which answers a question.

        `needs` repeats the class attribute of that name, so that rqa can choose a strategy without importing it.
        """
        if needs is None and rank > 0:
            needs = getattr(factory, "needs", None)
            if not are_names(needs):
                raise PluginError(f"strategy {name!r} has a rank, so it needs a set of names `needs`")
        declared = None if needs is None else cast("frozenset[Power]", frozenset(needs))
        self._component("strategy", name, factory, rank, summary, needs=declared)

    def checker(self, name: str, factory: str | Callable[..., Checker], *, summary: str = "") -> None:
        """Register a checker, which examines what language models answer."""
        self._component("checker", name, factory, 0, summary)

    def recorder(self, name: str, factory: str | Callable[..., Recorder], *, summary: str = "") -> None:
        """Register a recorder, which keeps answers."""
        self._component("recorder", name, factory, 0, summary)

    def engine(self, name: str, factory: str | Callable[..., Any], *, summary: str = "") -> None:
        """Register an engine, which answers the rows of a batch."""
        self._component("engine", name, factory, 0, summary)

    def command(self, name: str, command: Any, *, summary: str = "", section: str = "Commands of plugins") -> None:
        """Register a click command, such as "lint", or "train reader" in a group that plugins share.

        Name the group once with `group`. `summary` is the line in `rqa --help`, by default that of the command, and
        `section` where it stands, such as "Ask" or "Documents".
        """
        if any(not NAME.match(word) for word in name.split(" ")) or name.count(" ") > 1:
            raise PluginError(f"invalid command name {name!r}: use a-z, 0-9, - and _, and one space after a group")
        target = _checked(f"command {name!r}", command)
        self.commands.append(Registered(name, target, self.plugin, summary, section=section))

    def group(self, name: str, summary: str) -> None:
        """Name a group of commands, such as "train". Several plugins may name the same group."""
        self.groups[name] = summary

    def metrics(self, metrics: str | Sequence[Metric]) -> None:
        """Register metrics for `rqa eval`: a list of Metric, or "package.module:NAME" of one."""
        self.metric_lists.append(Registered("metrics", _checked("metrics", metrics), self.plugin))

    def tools(self, make: str | Callable[..., Any]) -> None:
        """Register tools for `rqa mcp`: a function that takes a Session and returns a list of async functions.

        Their annotations become the schema, and their docstrings tell agents what they do. They return JSON-ready data.
        """
        self.tool_lists.append(Registered("tools", _checked("tools", make), self.plugin))

    def prompting(self, prompting: str) -> None:
        """Register what asks language models in words: "package.module:Class". rqa has one, and the first one counts.

        See `robust_qa.answering.Prompting`.
        """
        self.prompting_classes.append(Registered("prompting", _checked("prompting", prompting), self.plugin))

    def format(self, name: str, *, read: str, suffixes: str = "", magic: bytes = b"", opens: str = "") -> None:
        """Register a format of files, of text, binary or packed ones.

        `read` is "package.module:function", because worker processes import it. It takes a File and a Report and
        yields Documents; see `rqa_files`. `suffixes` is a regular expression for the whole suffix in lower case,
        without its dot, such as "org". `magic` is one for the first bytes, such as b"%PDF-". `opens` is a function in
        the form of `read`: it takes a File and says whether it is of this format. A file must have all that is given.
        Formats with `magic` are asked first, then those that know the suffix, then the others, about text only. A
        format of a plugin comes before those of rqa.
        """
        for target in filter(None, (read, opens)):
            if not isinstance(target, str) or not _TARGET.match(target):
                raise PluginError(f'format {name!r} is registered with {target!r}; write "package.module:function"')
        if not (suffixes or magic or opens):
            raise PluginError(f"format {name!r} needs `suffixes`, `magic` or `opens`")
        for what, pattern in (("suffixes", suffixes), ("magic", magic)):
            try:
                re.compile(pattern)
            except re.error as error:
                raise PluginError(f"format {name!r} has {what} {pattern!r}, no regular expression: {error}") from error
        if not isinstance(name, str) or not NAME.match(name):
            raise PluginError(f"invalid name of a format {name!r}: use a-z, 0-9, - and _, starting with a letter")
        about = f"Reads files *.{suffixes}." if suffixes else "Reads files by how they begin."
        folder = str(Path(self.plugin.distribution).parent) if self.plugin.is_file else ""
        version = "" if self.plugin.distribution == OWN_DISTRIBUTION else self.plugin.version
        file_format = FileFormat(name, read, suffixes, magic, opens, folder, version)
        self.formats.append(RegisteredFormat(name, read, self.plugin, about, file_format=file_format))

    def in_extra(self, extra: str, kind: Kind, names: Sequence[str]) -> None:
        """Name components that robust-qa has in `extra`, so that rqa says what to install where one is missing."""
        self.extras |= {(kind, name): extra for name in names}

    def everything(self) -> Iterator[Registered]:
        """Yield all that was registered."""
        yield from (*self.components, *self.commands, *self.metric_lists, *self.tool_lists, *self.formats)

    def _component(
        self,
        kind: Kind,
        name: str,
        factory: str | Callable[..., Any],
        rank: int,
        summary: str,
        *,
        needs: frozenset[Power] | None = None,
    ) -> None:
        if not isinstance(name, str) or not NAME.match(name):
            raise PluginError(f"invalid {kind} name {name!r}: use a-z, 0-9, - and _, starting with a letter")
        if kind in NAMED_KINDS and name in RESERVED_TABLES:
            raise PluginError(f"invalid {kind} name {name!r}: the configuration has a table of this name")
        if kind == "retriever" and name in BUILT_IN:
            raise PluginError(f"invalid retriever name {name!r}: it is built into retriever expressions")
        _checked(f"{kind} {name!r}", factory)
        new = Registration(name, factory, self.plugin, summary, kind=kind, rank=rank, declared_needs=needs)
        if not isinstance(factory, str):
            new.factory  # noqa: B018 (report a class that breaks the contract at once)
        self.components.append(new)


def _checked(what: str, target: Any) -> Any:
    """Return the target. Raises PluginError if it is text and not "package.module:name"."""
    if isinstance(target, str) and not _TARGET.match(target):
        raise PluginError(f'{what} is registered with {target!r}; write "package.module:name"')
    return target


def one_line(error: BaseException) -> str:
    """Return an exception of a plugin's code as one line."""
    if isinstance(error, PluginError):
        return error.message
    return " ".join(f"{type(error).__name__}: {error}".split()).rstrip(": ")


hookspec = pluggy.HookspecMarker("rqa")
hookimpl = pluggy.HookimplMarker("rqa")


class Hooks:
    """The hook that a plugin implements. See also rqa-plugin(7)."""

    @hookspec
    def rqa_register(self, registry: Registry) -> None:
        """Register components, commands, metrics and tools, for example `registry.retriever(name, "module:Class")`.

        This hook runs at every start, so give classes by name or import heavy libraries inside them. The host calls
        a factory with an instance of its `Options` dataclass, or without arguments if it has none.
        """
