"""Finds plugins, holds their components by kind and name, and keeps a broken one from taking the rest along."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pluggy

from ..config import environment
from ..config.installation import OWN_DISTRIBUTION
from ..errors import ConfigError, PluginError, did_you_mean, interrupted
from ..types import KINDS, Kind
from .hookspecs import Hooks
from .registry import NAME, Plugin, Registration, Registry

if TYPE_CHECKING:
    from .metrics import Metric

import hashlib
import re
from contextlib import suppress
from importlib.metadata import Distribution
from types import ModuleType


def import_file(path: Path) -> ModuleType:
    """The module in the file, or in the folder's __init__.py."""
    file = path / "__init__.py" if path.is_dir() else path
    if not file.is_file():
        raise PluginError(f"there is no file {file}")
    name = f"rqa_plugin_{re.sub(r'[^a-zA-Z0-9_]', '_', path.stem)}"
    while (other := sys.modules.get(name)) is not None and other.__file__ != str(file):
        name += "_"  # a file of the same name in another folder
    spec = importlib.util.spec_from_file_location(
        name, file, submodule_search_locations=[str(path)] if path.is_dir() else None
    )
    if spec is None or spec.loader is None:
        raise PluginError(f"{file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up while it is being executed
    try:
        spec.loader.exec_module(module)
    except BaseException:  # also when it exits: a half-run module must not be found
        del sys.modules[name]
        raise
    return module


def is_editable(distribution: Distribution) -> bool:
    """Whether it was installed with `pip install -e`: its code changes, and its version stays (PEP 610)."""
    return '"editable": true' in (distribution.read_text("direct_url.json") or "")


def content_digest(path: Path) -> str:
    """What stands for a version where nobody gave one: cached calls of other code are not this plugin's."""
    digest = hashlib.sha256()
    for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
        with suppress(OSError):  # importing it says what is wrong
            digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


GROUP = "rqa"


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
        with redirect_stdout(sys.stderr):  # what plugins print is no part of a command's output
            self._load_installed(None if only is None else frozenset(only))
            for file in files:
                self.load_file(file)

    @classmethod
    def from_environment(cls, *, files: Sequence[Path] = (), strict: bool = False) -> Host:
        """The host as RQA_PLUGINS and RQA_STRICT_PLUGINS ask for it."""
        wanted = os.environ.get(environment.PLUGINS)
        only = None
        if wanted:
            only = [] if wanted == "none" else [name.strip() for name in wanted.split(",") if name.strip()]
        return cls(only=only, files=files, strict=strict or environment.flag(environment.STRICT_PLUGINS))

    def _load_installed(self, only: frozenset[str] | None) -> None:
        # The own ones first, so that no other distribution can take a built-in name.
        ordered = sorted(
            self._entry_points(),
            key=lambda pair: (pair[0].distribution != OWN_DISTRIBUTION, pair[0].distribution, pair[0].name),
        )
        for plugin, entry in ordered:
            self.plugins.append(plugin)
            if only is not None and entry.name not in only:
                plugin.state, plugin.reason = "off", f"not among {environment.PLUGINS}"
            else:
                self._load(plugin, partial(_imported, plugin, entry))
        known = {entry.name for _, entry in ordered}
        for name in sorted((only or frozenset()) - known):
            hint = did_you_mean(name, known)
            self._fail(Plugin(name), f"{environment.PLUGINS} names it, and it is not installed. {hint}".strip())

    def _entry_points(self) -> Iterator[tuple[Plugin, importlib.metadata.EntryPoint]]:
        seen: set[str] = set()
        for distribution in importlib.metadata.distributions():
            if f"[{GROUP}]" not in (distribution.read_text("entry_points.txt") or ""):
                continue
            metadata = distribution.metadata  # a damaged one lacks fields
            name = metadata["Name"] if "Name" in metadata else ""  # noqa: SIM401  (it has no `get`)
            version = metadata["Version"] if "Version" in metadata else ""  # noqa: SIM401
            if name in seen:
                continue  # what stands further down the path is not what is imported
            seen.add(name)
            try:
                entries = distribution.entry_points.select(group=GROUP)
            except Exception as error:  # a damaged file, which would hide the plugins of all distributions
                self._fail(Plugin(name, name, version), f"its entry_points.txt is damaged: {_told(error)}")
                continue
            for entry in entries:
                yield Plugin(entry.name, name, version), entry

    def load_file(self, path: Path) -> None:
        """Load a plugin from a Python file, or from a package's folder; one that is loaded already stays as it is."""
        path = path.resolve()
        plugin = Plugin(path.stem, distribution=str(path), version=content_digest(path))
        if plugin.distribution in {known.distribution for known in self.plugins}:
            return
        self.plugins.append(plugin)
        self._load(plugin, lambda: import_file(path))

    def _load(self, plugin: Plugin, load: Callable[[], Any]) -> None:
        registry = Registry(plugin)
        try:
            module = load()
            try:
                self._pluggy.register(module, name=_label(plugin))
            except pluggy.PluginValidationError as error:
                raise PluginError(
                    "a hook of it has other parameters than rqa calls it with, such as rqa_register(registry): "
                    + _told(error)
                ) from error
            callers = self._pluggy.get_hookcallers(module) or []
            if not callers:
                raise PluginError("it implements no hook: put @hookimpl over rqa_register(registry)")
            if unknown := sorted(caller.name for caller in callers if not caller.has_spec()):
                hint = did_you_mean(unknown[0], [name for name in vars(Hooks) if name.startswith(f"{GROUP}_")])
                raise PluginError(f"it implements {unknown[0]}, and there is no such hook. {hint}".strip())
            own = (impl.function for caller in callers for impl in caller.get_hookimpls() if impl.plugin is module)
            if waiting := [function.__name__ for function in own if inspect.iscoroutinefunction(function)]:
                raise PluginError(f"its {waiting[0]} is an `async def`: write `def`")
            others = [other for other in self._pluggy.get_plugins() if other is not module]
            self._pluggy.subset_hook_caller("rqa_register", others)(registry=registry)
        except BaseException as error:
            if interrupted(error):
                raise
            if self._pluggy.has_plugin(_label(plugin)):
                self._pluggy.unregister(name=_label(plugin))
            self._fail(plugin, _told(error))
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

    def names(self, kind: Kind) -> list[str]:
        """The names of the registered components of that kind, the highest rank first."""
        return [registration.name for registration in self.components(kind)]

    def find(self, kind: Kind, name: str, *, configured: Sequence[str] = ()) -> Registration:
        """The component of that kind and name; ConfigError names the nearest one when there is none.

        `configured` are further names that can be meant.
        """
        try:
            return self._components[kind, name]
        except KeyError:
            pass
        known = [registration.name for registration in self.components(kind)]
        raise ConfigError(
            f"There is no {kind} named {name!r}; installed: {', '.join(known) or 'none'}.",
            hint=did_you_mean(name, [other for other in (*known, *configured) if other != name])
            or "`rqa plugins` lists what is installed, and what is broken.",
        )

    def metrics(self) -> tuple[list[Metric], list[str]]:
        """The metrics of the plugins, the built-in ones first, and a line for each that is left out."""
        from .metrics import Metric

        found: dict[str, Metric] = {}

        def add(call: Callable[..., Any]) -> list[str]:
            reasons = []
            for metric in [metric for metrics in call() for metric in metrics]:
                if not isinstance(metric, Metric) or not NAME.match(metric.name):
                    reasons.append(f"{metric!r} is no Metric with a name of a-z, 0-9, - and _")
                elif metric.name in found:
                    reasons.append(f"its metric {metric.name!r} has a name that is taken")
                else:
                    found[metric.name] = metric
            return reasons

        troubles = self.call_each("rqa_metrics", "metrics", add)
        return list(found.values()), troubles

    def call_each(self, hook: str, what: str, use: Callable[[Callable[..., Any]], list[str]]) -> list[str]:
        """Hand `use` each plugin's `hook` to call; the troubles it tells or raises are that plugin's alone."""
        troubles: list[str] = []
        for plugin in self.plugins:
            module = self._pluggy.get_plugin(_label(plugin))
            if module is None:
                continue
            others = [other for other in self._pluggy.get_plugins() if other is not module]
            try:
                with redirect_stdout(sys.stderr):
                    reasons = use(self._pluggy.subset_hook_caller(hook, others))
            except BaseException as error:
                if interrupted(error):
                    raise
                reasons = [f"its {what} are left out: {_told(error)}"]
            if reasons:
                plugin.reason = "; ".join(reasons)
                troubles.append(f"plugin {plugin.name} ({plugin.distribution}): {plugin.reason}")
        if troubles and self._strict:
            raise PluginError(f"{troubles[0][0].upper()}{troubles[0][1:]}.")
        return troubles


def _imported(plugin: Plugin, entry: importlib.metadata.EntryPoint) -> Any:
    """The plugin's module, or what its entry point names in it."""
    loaded = entry.load()
    theirs = plugin.distribution != OWN_DISTRIBUTION and entry.dist is not None and is_editable(entry.dist)
    module = sys.modules[entry.module]
    package = sys.modules[entry.module.partition(".")[0]]
    if theirs and (file := package.__file__ or module.__file__):  # a namespace has none
        path = Path(file)  # the version stays while the code changes
        plugin.version += f"+{content_digest(path.parent if module.__package__ else path)}"
    return loaded


def _label(plugin: Plugin) -> str:
    return f"{plugin.name} ({plugin.distribution})"


def _told(error: BaseException) -> str:
    """What a plugin's code raised, for people. It may be anything: SystemExit, or a panic of compiled code."""
    if isinstance(error, PluginError):
        return error.message
    return " ".join(f"{type(error).__name__}: {error}".split()).rstrip(": ")
