"""Find and load plugins. A broken plugin does not affect the others."""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import redirect_stdout, suppress
from dataclasses import replace
from functools import cached_property, partial
from importlib.metadata import Distribution
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pluggy

from ..config import environment
from ..errors import ConfigError, Exit, MissingError, PluginError, did_you_mean, interrupted
from ..file_formats import FileFormat
from ..types import KINDS, NAMED_KINDS, Kind
from ..version import OWN_DISTRIBUTION
from .registry import NAME, Hooks, Plugin, Registered, RegisteredFormat, Registration, Registry, one_line

if TYPE_CHECKING:
    from .metrics import Metric

GROUP = "rqa"  # of the entry points
OWN_NAME = "rqa"  # of the host itself, which cannot be left out


def import_file(path: Path) -> ModuleType:
    """Import a Python file, or a folder's __init__.py."""
    file = path / "__init__.py" if path.is_dir() else path
    if not file.is_file():
        raise PluginError(f"there is no file {file}")
    name = f"rqa_plugin_{re.sub(r'[^a-zA-Z0-9_]', '_', path.stem)}"
    while (other := sys.modules.get(name)) is not None and other.__file__ != str(file):
        name += "_"  # another folder has a file of this name
    spec = importlib.util.spec_from_file_location(
        name, file, submodule_search_locations=[str(path)] if path.is_dir() else None
    )
    if spec is None or spec.loader is None:
        raise PluginError(f"{file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look up their module during execution
    try:
        spec.loader.exec_module(module)
    except BaseException:  # also SystemExit: do not keep a half-executed module
        del sys.modules[name]
        raise
    return module


def is_editable(distribution: Distribution) -> bool:
    """Return whether it was installed with `pip install -e` (PEP 610)."""
    return '"editable": true' in (distribution.read_text("direct_url.json") or "")


def content_digest(path: Path) -> str:
    """Return a digest of the code at `path`. It serves as a version, so that changed code misses the cache."""
    digest = hashlib.sha256()
    for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
        with suppress(OSError):  # the import reports it
            digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


class TakenError(PluginError):
    """Two plugins register the same name."""

    exit = Exit.USAGE


class Host:
    """The plugins and their components.

    `only` names the plugins to load; None loads all. "-NAME" is a plugin or a distribution to leave out.
    With `strict` a broken plugin raises PluginError.
    `own` registers the host's own components, whose names no plugin can take.
    """

    def __init__(
        self,
        *,
        only: Iterable[str] | None = None,
        files: Sequence[Path] = (),
        strict: bool = False,
        own: Callable[[Registry], None] | None = None,
    ) -> None:
        self.plugins: list[Plugin] = []
        self.refused: list[Registered] = []
        self.commands: dict[str, Registered] = {}
        self.groups: dict[str, str] = {}
        self.formats: dict[str, RegisteredFormat] = {}
        self._components: dict[tuple[Kind, str], Registration] = {}
        self._tables: dict[str, None] = {}
        self._extras: dict[tuple[Kind, str], str] = {}
        self._metrics: list[Registered] = []
        self._tools: list[Registered] = []
        self._prompting: list[Registered] = []
        self._pluggy = pluggy.PluginManager(GROUP)
        self._pluggy.add_hookspecs(Hooks)
        self._strict = strict
        self._only = None if only is None else [*only]
        self._left_out = {name[1:] for name in self._only or () if name.startswith("-")}
        self._wanted = None if self._only is None else {name for name in self._only if not name.startswith("-")}
        if self._left_out and not self._wanted:
            self._wanted = None  # all others
        if own:
            registry = Registry(Plugin(OWN_NAME, OWN_DISTRIBUTION, importlib.metadata.version(OWN_DISTRIBUTION)))
            own(registry)
            self._take(registry)
        with redirect_stdout(sys.stderr):  # keep plugins' prints out of the command's output
            self._load_installed()
            for file in files:
                self.load_file(file)

    @classmethod
    def from_environment(cls, *, files: Sequence[Path] = (), own: Callable[[Registry], None] | None = None) -> Host:
        """Create a host as RQA_PLUGINS and RQA_STRICT_PLUGINS say."""
        wanted = os.environ.get(environment.PLUGINS)
        only = None
        if wanted:
            only = [] if wanted == "none" else [name.strip() for name in wanted.split(",") if name.strip()]
        return cls(only=only, files=files, strict=environment.flag(environment.STRICT_PLUGINS), own=own)

    def __reduce__(self) -> tuple[Callable[..., Host], tuple[Any, ...]]:
        """Pickle what to load: another process imports the plugins anew."""
        files = [Path(plugin.distribution) for plugin in self.plugins if plugin.is_file]
        return _load_host, (self._only, files)

    def _load_installed(self) -> None:
        # Built-in plugins first, so that no other distribution can take their names.
        ordered = sorted(
            self._entry_points(),
            key=lambda pair: (pair[0].distribution != OWN_DISTRIBUTION, pair[0].distribution, pair[0].name),
        )
        known: set[str] = set()
        for plugin, entry in ordered:
            if plugin.distribution == OWN_DISTRIBUTION:
                known |= self._load_built_in(partial(_import, plugin, entry), plugin)
                continue
            self.plugins.append(plugin)
            known.add(entry.name)
            if not self._switch_off(plugin):
                self._load(plugin, partial(_import, plugin, entry))
        for name in sorted((self._wanted or set()) - known):
            hint = did_you_mean(name, known)
            self.plugins.append(Plugin(name))
            self._fail(self.plugins[-1], f"it is in {environment.PLUGINS} but not installed. {hint}".strip())

    def _load_built_in(self, load: Callable[[], Any], entry: Plugin) -> Set[str]:
        """Register the plugins that come with rqa, which share one entry point. Return their names."""
        registry = Registry(entry)
        load().rqa_register(registry)
        plugins: dict[str, Plugin] = {}
        for each in registry.everything():
            if isinstance(each.target, str):
                name = each.target.partition(":")[0].partition(".")[0].removeprefix("rqa_")
                each.plugin = plugins.setdefault(name, replace(entry, name=name))
        for plugin in plugins.values():
            self._switch_off(plugin)
        self.plugins += plugins.values()
        self._take(registry)
        return plugins.keys()

    def _switch_off(self, plugin: Plugin) -> bool:
        """Return whether RQA_PLUGINS leaves the plugin out, and mark it so."""
        if self._left_out & {plugin.name, plugin.distribution}:
            plugin.state, plugin.reason = "off", f"left out by {environment.PLUGINS}"
        elif self._wanted is not None and plugin.name not in self._wanted and not plugin.is_file:
            plugin.state, plugin.reason = "off", f"not in {environment.PLUGINS}"
        return plugin.state == "off"

    def _entry_points(self) -> Iterator[tuple[Plugin, importlib.metadata.EntryPoint]]:
        seen: set[str] = set()
        for distribution in importlib.metadata.distributions():
            if f"[{GROUP}]" not in (distribution.read_text("entry_points.txt") or ""):
                continue
            if distribution.name in seen:
                continue  # Python imports the first one on the path
            seen.add(distribution.name)
            for entry in distribution.entry_points.select(group=GROUP):
                yield Plugin(entry.name, distribution.name, distribution.version), entry

    def load_file(self, path: Path) -> None:
        """Load a plugin from a Python file or a package folder, once."""
        path = path.resolve()
        plugin = Plugin(path.stem, distribution=str(path), version=content_digest(path))
        if plugin.distribution in {known.distribution for known in self.plugins}:
            return
        self.plugins.append(plugin)
        if not self._switch_off(plugin):
            self._load(plugin, lambda: import_file(path))

    def _load(self, plugin: Plugin, load: Callable[[], Any]) -> None:
        registry = Registry(plugin)
        try:
            module = load()
            try:
                self._pluggy.register(module, name=_label(plugin))
            except pluggy.PluginValidationError as error:
                raise PluginError(
                    f"a hook has wrong parameters; write it as in rqa_register(registry): {one_line(error)}"
                ) from error
            callers = self._pluggy.get_hookcallers(module) or []
            if [caller.name for caller in callers] != ["rqa_register"]:
                raise PluginError("it implements no hook; put @hookimpl above rqa_register(registry)")
            others = [other for other in self._pluggy.get_plugins() if other is not module]
            self._pluggy.subset_hook_caller("rqa_register", others)(registry=registry)
        except BaseException as error:
            if interrupted(error):
                raise
            if self._pluggy.has_plugin(_label(plugin)):
                self._pluggy.unregister(name=_label(plugin))
            self._fail(plugin, one_line(error))
            return
        self._take(registry)

    def _take(self, registry: Registry) -> None:
        """Add what a plugin registered. The first owner of a name keeps it."""
        self._tables.update((each.name, None) for each in registry.components if each.kind in NAMED_KINDS)
        self._tables.update((each.name.partition(" ")[0], None) for each in registry.commands)
        for component in filter(_is_loaded, registry.components):
            self._add(self._components, (component.kind, component.name), component)
        self.groups = {**registry.groups, **self.groups}
        for command in filter(_is_loaded, registry.commands):
            group, in_group, _ = command.name.partition(" ")
            owner = self.commands.get(group) if in_group else None
            if (owner and owner.plugin.name != OWN_NAME) or (not in_group and group in self.groups):
                self._refuse(command, f"{group} is {'a command' if in_group else 'a group'}")
                continue
            self._add(self.commands, command.name, command)
            if in_group and not owner:
                self.groups.setdefault(group, "")
        self._extras |= registry.extras
        self._metrics += filter(_is_loaded, registry.metric_lists)
        self._tools += filter(_is_loaded, registry.tool_lists)
        self._prompting += registry.prompting_classes  # which no plugin works without
        for each in filter(_is_loaded, registry.formats):
            self._add(self.formats, each.name, each)

    def _add(self, known: dict[Any, Any], key: Any, new: Registered) -> None:
        if owner := known.get(key):
            self._refuse(new, f"plugin {owner.plugin.name} of {owner.plugin.distribution} already has this name")
        else:
            known[key] = new

    def _refuse(self, new: Registered, reason: str) -> None:
        new.reason = reason
        self.refused.append(new)
        if self._strict:
            raise PluginError(f"Plugin {new.plugin.name}: cannot register {new.label}: {reason}.")

    def _fail(self, plugin: Plugin, reason: str) -> None:
        plugin.state, plugin.reason = "broken", reason
        if self._strict:
            raise PluginError(f"Cannot load plugin {plugin.name} ({plugin.distribution or 'not installed'}): {reason}")

    def troubles(self) -> list[str]:
        """Return one warning for each plugin or component that was not loaded."""
        broken = [
            f"cannot load plugin {p.name} ({p.distribution or 'not installed'}): {p.reason}"
            for p in self.plugins
            if p.state == "broken"
        ]
        refused = [
            f"cannot register {r.label} of plugin {r.plugin.name} ({r.plugin.distribution}): {r.reason}"
            for r in self.refused
        ]
        return broken + refused

    @property
    def file_formats(self) -> tuple[FileFormat, ...]:
        """The formats of files, those of plugins that are not built in first."""
        found = (each.file_format for each in self.formats.values())
        return tuple(sorted(found, key=lambda each: not each.version))

    def components(self, kind: Kind | None = None) -> list[Registration]:
        """Return the registered components by kind, then rank (highest first), then name."""
        chosen = [r for r in self._components.values() if kind in (None, r.kind)]
        return sorted(chosen, key=lambda r: (KINDS.index(r.kind), -r.rank, r.name))

    @property
    def tables(self) -> list[str]:
        """The names of the tables that checkers, recorders and commands have in the configuration, off or not."""
        return [*self._tables]

    def names(self, kind: Kind) -> list[str]:
        """Return the names of the registered components of that kind, highest rank first."""
        return [registration.name for registration in self.components(kind)]

    def find(self, kind: Kind, name: str, *, configured: Sequence[str] = ()) -> Registration:
        """Return the component of that kind and name.

        Raises ConfigError with a suggestion from the registered and the `configured` names, MissingError if an extra
        has it, TakenError if two plugins registered it.
        """
        if found := self._components.get((kind, name)):
            self._check_owner(found)
            return found
        if extra := self._extras.get((kind, name)):
            from ..config.installation import install_hint

            hint = f"Install it: `{install_hint(extra)}`."
            raise MissingError(f"`{name}` is in {OWN_DISTRIBUTION}-{extra}.", hint=hint)
        known = [registration.name for registration in self.components(kind)]
        similar = did_you_mean(name, [other for other in (*known, *configured) if other != name])
        installed = "" if similar else f" Installed: {', '.join(known) or 'none'}."
        hint = similar or "List the components with `rqa plugins`."
        raise ConfigError(f"There is no {kind} named {name!r}.{installed}", hint=hint)

    def command(self, name: str) -> Registered | None:
        """Return the command of that name, None if there is none. Raises TakenError if two plugins registered it."""
        if found := self.commands.get(name):
            self._check_owner(found)
        return found

    def _check_owner(self, owner: Registered) -> None:
        if other := next((each for each in self.refused if each.label == owner.label), None):
            plugins = owner.plugin, other.plugin
            same = owner.plugin.name == other.plugin.name
            names = [each.distribution if same else each.name for each in plugins]
            ways = " or ".join(f"{environment.PLUGINS}=-{name}" for name in names if name != OWN_NAME)
            owners = " and ".join(f"Plugin {each.name} of {each.distribution}" for each in plugins)
            raise TakenError(f"{owners} both have {owner.label}.", hint=f"Leave one of the two out: {ways}")

    @cached_property
    def prompting(self) -> Any:
        """What asks language models in words."""
        return self._prompting[0].object()

    def metrics(self) -> tuple[list[Metric], list[str]]:
        """Return the plugins' metrics, built-in ones first, and one warning for each metric left out."""
        from .metrics import Metric

        found: dict[str, Metric] = {}

        def add(metrics: Any) -> None:
            for metric in metrics:
                if not isinstance(metric, Metric) or not NAME.match(metric.name):
                    raise PluginError(f"{metric!r} is not a Metric, or its name is not of a-z, 0-9, - and _")
                if metric.name in found:
                    raise PluginError(f"the metric name {metric.name!r} is already taken")
                found[metric.name] = metric

        warnings = self._each(self._metrics, add)
        return list(found.values()), warnings

    def tools(self, session: Any) -> tuple[list[Any], list[str]]:
        """Return the plugins' tools for `session`, and one warning for each plugin whose tools failed."""
        found: list[Any] = []
        warnings = self._each(self._tools, lambda make: found.extend(make(session)))
        return found, warnings

    def _each(self, registered: Sequence[Registered], use: Callable[[Any], None]) -> list[str]:
        """Call `use` with each object. Return one warning for each plugin with problems."""
        warnings: list[str] = []
        for one in registered:
            try:
                with redirect_stdout(sys.stderr):
                    use(one.object)
            except BaseException as error:
                if interrupted(error):
                    raise
                one.plugin.reason = f"its {one.name} are not available: {one_line(error)}"
                warnings.append(f"plugin {one.plugin.name} ({one.plugin.distribution}): {one.plugin.reason}")
                if self._strict:
                    raise PluginError(f"P{warnings[-1][1:]}.") from error
        return warnings


def _load_host(only: Sequence[str] | None, files: Sequence[Path]) -> Host:
    return Host(only=only, files=files)


def _import(plugin: Plugin, entry: importlib.metadata.EntryPoint) -> Any:
    """Import the plugin. Add a digest to the version of an editable one, whose code changes without its version."""
    loaded = entry.load()
    editable = plugin.distribution != OWN_DISTRIBUTION and entry.dist is not None and is_editable(entry.dist)
    module = sys.modules[entry.module]
    package = sys.modules[entry.module.partition(".")[0]]
    if editable and (file := package.__file__ or module.__file__):  # namespace packages have no file
        path = Path(file)
        plugin.version += f"+{content_digest(path.parent if module.__package__ else path)}"
    return loaded


def _is_loaded(registered: Registered) -> bool:
    return registered.plugin.state == "loaded"


def _label(plugin: Plugin) -> str:
    return f"{plugin.name} ({plugin.distribution})"
