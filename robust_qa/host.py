"""Finds plugins, holds their components by kind and name, and keeps a broken one from taking the rest along."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import importlib.util
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, get_args

import pluggy

from . import environment
from .errors import ConfigError, PluginError
from .hookspecs import Hooks
from .nearest import did_you_mean

if TYPE_CHECKING:
    import click

Kind = Literal["retriever", "reader", "evaluator", "strategy"]
KINDS: tuple[Kind, ...] = get_args(Kind)
GROUP = "rqa"
OWN_DISTRIBUTION = "robust-qa"

_NAME = re.compile(r"[a-z][a-z0-9_-]*\Z")


@dataclass(slots=True)
class Plugin:
    """One plugin as `rqa plugins` lists it. `reason` says why it is broken or was left out."""

    name: str
    distribution: str = ""
    version: str = ""
    state: Literal["loaded", "broken", "off"] = "loaded"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Registration:
    """A component as its plugin registered it. A refused one has a `reason` and cannot be built."""

    kind: Kind
    name: str
    factory: Callable[..., Any]
    plugin: Plugin
    rank: int = 0
    summary: str = ""
    reason: str = ""

    @property
    def options(self) -> type[Any] | None:
        """The component's `Options` dataclass, None when it takes none."""
        return getattr(self.factory, "Options", None)


@dataclass(slots=True)
class Registry:
    """What `rqa_register` is handed: one method a kind.

    `rank` decides what is used when the configuration names none: of the components that work without any
    configuration the highest rank wins. `summary` defaults to the first line of the factory's docstring.
    """

    plugin: Plugin
    staged: list[Registration] = field(default_factory=list)

    def retriever(self, name: str, factory: Callable[..., Any], *, rank: int = 0, summary: str = "") -> None:
        """Register a retriever: query to passages."""
        self._stage("retriever", name, factory, rank, summary)

    def reader(self, name: str, factory: Callable[..., Any], *, rank: int = 0, summary: str = "") -> None:
        """Register a reader: what reads passages, or writes text, or both."""
        self._stage("reader", name, factory, rank, summary)

    def evaluator(self, name: str, factory: Callable[..., Any], *, rank: int = 0, summary: str = "") -> None:
        """Register an evaluator: relevance of texts to a question."""
        self._stage("evaluator", name, factory, rank, summary)

    def strategy(self, name: str, factory: Callable[..., Any], *, rank: int = 0, summary: str = "") -> None:
        """Register a strategy: question to Answer."""
        self._stage("strategy", name, factory, rank, summary)

    def _stage(self, kind: Kind, name: str, factory: Callable[..., Any], rank: int, summary: str) -> None:
        if not _NAME.match(name):
            raise PluginError(f"{name!r} is no name for a {kind}: use a-z, 0-9, - and _, a letter first")
        options = getattr(factory, "Options", None)
        if options is not None and not dataclasses.is_dataclass(options):
            raise PluginError(f"the Options of {kind} {name!r} is not a dataclass")
        summary = summary or (factory.__doc__ or "").strip().partition("\n")[0]
        self.staged.append(Registration(kind, name, factory, self.plugin, rank, summary))


class Host:
    """The installed plugins and their components.

    `only` names the entry points to load (None: all). With `strict` a broken plugin raises PluginError.
    """

    def __init__(self, *, only: Iterable[str] | None = None, files: Sequence[Path] = (), strict: bool = False) -> None:
        self.plugins: list[Plugin] = []
        self.refused: list[Registration] = []
        self._components: dict[tuple[Kind, str], Registration] = {}
        self._pluggy = pluggy.PluginManager(GROUP)
        self._pluggy.add_hookspecs(Hooks)
        self._strict = strict
        self._load_installed(None if only is None else frozenset(only))
        for file in files:
            self.load_file(file)

    @classmethod
    def from_environment(cls, *, files: Sequence[Path] = (), strict: bool = False) -> Host:
        """The host as RQA_PLUGINS and RQA_STRICT_PLUGINS ask for it."""
        wanted = os.environ.get(environment.PLUGINS)
        only = None
        if wanted:
            only = [] if wanted == "none" else [name.strip() for name in wanted.split(",")]
        return cls(only=only, files=files, strict=strict or environment.flag(environment.STRICT_PLUGINS))

    def _load_installed(self, only: frozenset[str] | None) -> None:
        found = importlib.metadata.entry_points(group=GROUP)
        # The own ones first, so that no other distribution can take a built-in name.
        ordered = sorted(found, key=lambda e: (_owner(e) != OWN_DISTRIBUTION, _owner(e), e.name))
        for entry in ordered:
            version = entry.dist.version if entry.dist else ""
            plugin = Plugin(entry.name, _owner(entry), version)
            if any(p.name == plugin.name and p.distribution == plugin.distribution for p in self.plugins):
                continue  # the same distribution found twice on the path
            self.plugins.append(plugin)
            if only is not None and entry.name not in only:
                plugin.state, plugin.reason = "off", f"not among {environment.PLUGINS}"
            else:
                self._load(plugin, entry.load)
        for name in sorted((only or frozenset()) - {entry.name for entry in ordered}):
            hint = did_you_mean(name, [entry.name for entry in ordered])
            self._fail(Plugin(name), f"{environment.PLUGINS} names it, and it is not installed. {hint}".strip())

    def load_file(self, path: Path) -> None:
        """Load a plugin from a Python file, or from a package's folder."""
        plugin = Plugin(path.stem, distribution=str(path))
        self.plugins.append(plugin)
        self._load(plugin, lambda: _import_file(path))

    def _load(self, plugin: Plugin, load: Callable[[], Any]) -> None:
        registry, module = Registry(plugin), None
        try:
            module = load()
            self._pluggy.register(module, name=_label(plugin))
            others = [other for other in self._pluggy.get_plugins() if other is not module]
            self._pluggy.subset_hook_caller("rqa_register", others)(registry=registry)
        # A stranger's module may raise anything, even SystemExit; one broken plugin must not end the tool.
        except (Exception, SystemExit) as error:
            if module is not None and self._pluggy.is_registered(module):
                self._pluggy.unregister(module)
            self._fail(plugin, f"{type(error).__name__}: {error}".rstrip(": "))
            return
        for registration in registry.staged:
            self._admit(registration)

    def _admit(self, new: Registration) -> None:
        owner = self._components.get((new.kind, new.name))
        if owner is None:
            self._components[new.kind, new.name] = new
            return
        reason = f"the name is taken by plugin {owner.plugin.name} of {owner.plugin.distribution}"
        self.refused.append(dataclasses.replace(new, reason=reason))
        if self._strict:
            raise PluginError(f"Plugin {new.plugin.name}: {new.kind} {new.name!r} is refused: {reason}.")

    def _fail(self, plugin: Plugin, reason: str) -> None:
        plugin.state, plugin.reason = "broken", reason
        if plugin not in self.plugins:
            self.plugins.append(plugin)
        if self._strict:
            raise PluginError(
                f"Plugin {plugin.name} ({plugin.distribution or 'not installed'}) cannot be loaded: {reason}"
            )

    def troubles(self) -> list[str]:
        """One line for each plugin or component that was refused, for people."""
        broken = [
            f"plugin {p.name} ({p.distribution or 'not installed'}) is left out: {p.reason}"
            for p in self.plugins
            if p.state == "broken"
        ]
        refused = [
            f"{r.kind} {r.name} of plugin {r.plugin.name} ({r.plugin.distribution}) is left out: {r.reason}"
            for r in self.refused
        ]
        return broken + refused

    def components(self, kind: Kind | None = None) -> list[Registration]:
        """What is registered, the highest rank first, then by name."""
        chosen = [r for r in self._components.values() if kind in (None, r.kind)]
        return sorted(chosen, key=lambda r: (KINDS.index(r.kind), -r.rank, r.name))

    def find(self, kind: Kind, name: str) -> Registration:
        """The component of that kind and name; ConfigError names the nearest one when there is none."""
        try:
            return self._components[kind, name]
        except KeyError:
            pass
        known = [registration.name for registration in self.components(kind)]
        raise ConfigError(
            f"There is no {kind} named {name!r}; installed: {', '.join(known) or 'none'}.",
            hint=did_you_mean(name, known) or "`rqa plugins` lists what is installed, and what is broken.",
        )

    def add_commands(self, cli: click.Group) -> None:
        """Let the plugins add commands to `cli`, none of them in place of one it has."""
        import click

        for module in self._pluggy.get_plugins():
            others = [other for other in self._pluggy.get_plugins() if other is not module]
            theirs = click.Group()
            plugin = next(p for p in self.plugins if self._pluggy.get_name(module) == _label(p))
            try:
                self._pluggy.subset_hook_caller("rqa_commands", others)(cli=theirs)
            except Exception as error:  # the same isolation as for components
                self._fail(plugin, f"its commands: {type(error).__name__}: {error}")
                continue
            for name, command in theirs.commands.items():
                if name in cli.commands:
                    self._fail(plugin, f"its command {name!r} has the name of another command")
                else:
                    cli.add_command(command, name)


def _label(plugin: Plugin) -> str:
    return f"{plugin.name} ({plugin.distribution})"


def _owner(entry: importlib.metadata.EntryPoint) -> str:
    return entry.dist.name if entry.dist else ""


def _import_file(path: Path) -> ModuleType:
    file = path / "__init__.py" if path.is_dir() else path
    if not file.is_file():
        raise PluginError(f"there is no file {file}")
    name = f"rqa_plugin_{re.sub(r'[^a-zA-Z0-9_]', '_', path.stem)}"
    spec = importlib.util.spec_from_file_location(
        name, file, submodule_search_locations=[str(path)] if path.is_dir() else None
    )
    if spec is None or spec.loader is None:
        raise PluginError(f"{file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up while it is being executed
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
