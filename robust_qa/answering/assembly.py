"""The components that a configuration names: which plugin, with what options, built and checked."""

from __future__ import annotations

import asyncio
import hashlib
import shlex
import shutil
import stat
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from ..calls.contract import CONTRACT, PLUGIN_FAULT, attributed, check_component, closed, validated
from ..calls.limits import Limits, reserved
from ..config import environment
from ..config import options as settings
from ..config.layers import Config
from ..config.values import Layer, Table, Value
from ..errors import BusyError, ConfigError, PluginError, RqaError
from ..expressions import (
    BUILT_IN,
    NOTHING,
    Applied,
    Source,
    Tree,
    expanded,
    is_free_name,
    nodes,
    parse_expression,
    sources,
)
from ..host.loading import Host
from ..host.registry import Registration
from ..kit.prompts import load_prompts
from ..prompt import Prompt
from ..protocols import IndexProgress, IndexReport
from ..types import KINDS, Expression, Kind
from .components import EXPRESSION_PROMPTS


@dataclass(frozen=True, slots=True)
class Defaults:
    """The table [defaults]: what is used when the command line names nothing else."""

    strategy: str | None = None  # a strategy; default: the most robust one that the reader can run
    retriever: Expression | None = None  # a retriever, or an expression of several
    reader: str | None = None  # a reader
    evaluator: str | None = None  # an evaluator
    k: Annotated[int, Meta(ge=1, le=10_000)] = 10  # passages a question retrieves
    expressions: dict[str, Expression] = field(default_factory=dict)  # retriever expressions by names of your choice
    prompts: dict[str, Path] = field(default_factory=dict)  # files to put in place of prompts: background, compress

    def __post_init__(self) -> None:
        for name in self.expressions:
            if not is_free_name(name):
                raise ValueError(f"cannot name an expression {name!r}")


@dataclass(frozen=True, slots=True)
class Part:
    """One component before it is built: its registration, the host's limits for it, its options (None without)."""

    registration: Registration
    limits: Limits
    options: Any

    @property
    def identity(self) -> tuple[Any, ...]:
        """What its work depends on besides what it keeps or loads: kind, plugin, version, and all its options."""
        plugin, options = self.registration.plugin, settings.told(self.options)
        return self.registration.kind, self.registration.name, plugin.distribution, plugin.version, options

    def build(self) -> Any:
        """A new instance."""
        with self.attributed():
            factory = self.registration.factory
            return factory() if self.registration.options is None else factory(self.options)

    def attributed(self) -> AbstractContextManager[None]:
        """Names the plugin in whatever unforeseen goes wrong inside."""
        kind, name, plugin = self.registration.kind, self.registration.name, self.registration.plugin.name
        return attributed(f"Building {kind} {name!r} of plugin {plugin}")


class Assembly:
    """What `config` says of the components of `host`.

    `overrides` are option values by component ("retriever", name) that no file holds, such as the index of
    `--docs`.
    """

    def __init__(
        self, config: Config, host: Host, *, overrides: Mapping[tuple[Kind, str], Mapping[str, Any]] | None = None
    ) -> None:
        self.config = config
        self.host = host
        self._overrides = overrides or {}

    @cached_property
    def defaults(self) -> Defaults:
        """The table [defaults]."""
        return settings.build(Defaults, self.config.table("defaults"))

    @cached_property
    def expressions(self) -> dict[str, Tree]:
        """The expressions that [defaults] names."""
        return {name: parse_expression(text) for name, text in self.defaults.expressions.items()}

    @cached_property
    def prompts(self) -> dict[str, Prompt]:
        """The prompts of retriever expressions."""
        return load_prompts(EXPRESSION_PROMPTS, self.defaults.prompts)

    @property
    def retriever(self) -> Tree | None:
        """What [defaults] asks to retrieve, with the named expressions in their places; None: nothing in particular."""
        if self.defaults.retriever is None:
            return None
        return expanded(parse_expression(self.defaults.retriever), self.expressions)

    def part(self, kind: Kind, name: str) -> Part:
        """The component of that name, as [kind.name] or else its plugin's defaults say.

        ConfigError says what is wrong with the table, or that there is no such component.
        """
        table = self._table(kind, name)
        registration = self._registration(kind, name, table)
        if kind == "retriever" and name in BUILT_IN:
            raise ConfigError(f"[{table.name}]: {name!r} means something else in retriever expressions.")
        kept = reserved(kind)
        own = {key: value for key, value in table.values.items() if key in kept and key != "plugin"}
        problems: list[RqaError] = []
        with _collected(problems):
            _check_reach(registration, table)
        with _collected(problems):
            limits = settings.build(Limits, Table(table.name, own))
        options = None
        if registration.options is not None:
            with _collected(problems):
                options = settings.build(registration.options, table, reserved=kept)
                self._check_expressions(options, table)
        else:
            problems += (
                ConfigError(
                    f"{value.layer.origin}: [{table.name}] sets `{key}`, and {registration.name!r} has no options."
                )
                for key, value in table.values.items()
                if key not in kept
            )
        if problems:
            raise ConfigError.of(problems)
        return Part(registration, limits, options)

    def keeps_index(self, name: str) -> bool:
        """Whether the retriever `name` keeps an index; ConfigError where there is no such retriever."""
        return hasattr(self._registration("retriever", name, self._table("retriever", name)).factory, "index")

    def indexing(self, names: Iterable[str]) -> Iterator[str]:
        """Those of the retrievers `names` that keep an index. One whose plugin is not there keeps none."""
        for name in names:
            with suppress(ConfigError):
                if self.keeps_index(name):
                    yield name

    def check(self, kind: Kind, name: str) -> list[RqaError]:
        """Build that component as before its first call, which opens nothing yet, and look up what it names.

        What is wrong with some of the retriever expressions of an option is returned: a question goes without those.
        """
        part = self.part(kind, name)
        try:
            component = part.build()
            check_component(kind, name, component)
            named: tuple[tuple[Kind, str], ...] = (("strategy", "hands_to"), ("evaluator", "scored_by"))
            problems: list[RqaError] = []
            for other_kind, attribute in named:
                for other in getattr(component, attribute, ()):
                    with _collected(problems):
                        self._registration(other_kind, other, self._table(other_kind, other))
            if problems:
                raise ConfigError.of(problems)
        except RqaError as error:
            raise RqaError(f"[{kind}.{name}]: {error.message}", hint=error.hint) from error
        by_option = groupby(settings.expressions(part.options, self._table(kind, name).values), key=itemgetter(0))
        unusable = [error for _, given in by_option for error in self._unusable([text for _, text in given])]
        if kind == "strategy":
            self._check_handing(component, (name,))
        return unusable

    def _unusable(self, expressions: Sequence[str]) -> list[RqaError]:
        """What is wrong with some of those expressions; raised where it leaves none of them."""
        errors: list[RqaError] = []
        for text in expressions:
            try:
                self._check_sources(expanded(parse_expression(text), self.expressions))
            except RqaError as error:
                errors.append(error)
        if len(errors) == len(expressions):
            raise ConfigError.of(errors)
        return errors

    def _check_handing(self, strategy: Any, path: tuple[str, ...]) -> None:
        for other in getattr(strategy, "hands_to", ()):
            if other in path:
                raise in_circle((*path, other))
            self._check_handing(self.part("strategy", other).build(), (*path, other))

    def _check_sources(self, tree: Tree) -> None:
        for name in sources(tree):
            if name not in BUILT_IN:
                self.part("retriever", name)

    def check_defaults(self) -> list[RqaError]:
        """Everything that is wrong with [defaults]. Its wrong values then count as not set."""
        problems: list[RqaError] = []
        try:
            self.defaults  # noqa: B018
        except ConfigError as error:
            problems.append(error)
            self.defaults = self._sound_defaults()
        for kind in KINDS:
            with _collected(problems):
                self.check_default(kind)
        return problems

    def _sound_defaults(self) -> Defaults:
        """[defaults] without its wrong values. Expressions keep their names if one is wrong, since others name them."""
        table = self.config.table("defaults")
        sound: dict[str, Value] = {}
        for key, value in table.values.items():
            with suppress(ConfigError):
                settings.build(Defaults, Table(table.name, {key: value}))
                sound[key] = value
        defaults = settings.build(Defaults, Table(table.name, sound))
        if "expressions" in table.values and "expressions" not in sound:
            with suppress(ConfigError):
                names = self.config.table("defaults", "expressions").values
                defaults = replace(
                    defaults, expressions=dict.fromkeys(filter(is_free_name, names), Expression(NOTHING))
                )
        return defaults

    def check_default(self, kind: Kind) -> None:
        """Check that what [defaults] names for that kind is configured or installed, and rightly."""
        if kind == "retriever":
            self._check_expressions(self.defaults, self.config.table("defaults"))
            if self.retriever:
                self._check_sources(self.retriever)
        elif (name := getattr(self.defaults, kind)) is not None:
            self.part(kind, name)

    def own_expressions(self, kind: Kind, name: str) -> list[Tree]:
        """The retriever expressions among the options of that component, the named ones in their places."""
        given = settings.expressions(self.part(kind, name).options, self._table(kind, name).values)
        return [expanded(parse_expression(text), self.expressions) for _, text in given]

    def _check_expressions(self, options: Any, table: Table) -> None:
        """ConfigError when an expression that `table` sets names what is neither configured nor installed."""
        problems: list[RqaError] = []
        for key, text in settings.expressions(options, table.values):
            try:
                self._check_expression(text)
            except ConfigError as error:
                told = f"{table.values[key].layer.origin}: `{table.name}.{key}`: `{text}`: {error.message}"
                problems.append(ConfigError(told, hint=error.hint))
        if problems:
            raise ConfigError.of(problems)

    def _check_expression(self, text: str) -> None:
        problems: list[RqaError] = []
        for node in nodes(expanded(parse_expression(text), self.expressions)):
            with _collected(problems):
                match node:
                    case Source(name) if name not in BUILT_IN:
                        self._registration("retriever", name, self._table("retriever", name))
                    case Applied(name):
                        self.check_corrects(name)
        if problems:
            raise ConfigError.of(problems)

    def check_corrects(self, strategy: str) -> None:
        """ConfigError when there is no such strategy, or it is none that corrects passages."""
        registration = self._registration("strategy", strategy, self._table("strategy", strategy))
        if not hasattr(registration.factory, "correct"):
            able = [r.name for r in self.host.components("strategy") if hasattr(r.factory, "correct")]
            raise ConfigError(
                f"Strategy {strategy!r} corrects no passages, so `{strategy}(...)` is no retriever; "
                f"those that do: {', '.join(able) or 'none'}."
            )

    def _table(self, kind: Kind, name: str) -> Table:
        table = self.config.table(kind, name)
        extra = self._overrides.get((kind, name))
        if not extra:
            return table
        layer = Layer("the command line", {})
        return Table(table.name, {**table.values, **{key: Value(value, layer) for key, value in extra.items()}})

    def _registration(self, kind: Kind, name: str, table: Table) -> Registration:
        named = table.values.get("plugin")
        if named is None:
            try:
                return self.host.find(kind, name, configured=self.config.names(kind))
            except ConfigError as error:
                if not table.values:
                    raise
                value = next(iter(table.values.values()))
                raise ConfigError(
                    f"{value.layer.origin}: [{table.name}] does not say which plugin it configures. {error.message}",
                    hint="If a plugin of yours has it, install that: `pip install -e .` in its folder. If not, "
                    f'add `plugin = "..."` under [{table.name}]. {error.hint}',
                ) from error
        if not isinstance(named.value, str):
            raise ConfigError(f"{named.layer.origin}: `{table.name}.plugin` must be text, and it is {named.value!r}.")
        try:
            return self.host.find(kind, named.value)
        except ConfigError as error:
            raise ConfigError(f"{named.layer.origin}: [{table.name}] {error.message}", hint=error.hint) from error


@contextmanager
def _collected(problems: list[RqaError]) -> Iterator[None]:
    """Add the error that is raised inside to `problems`, so that the next check runs, too."""
    try:
        yield
    except RqaError as error:
        problems.append(error)


def in_circle(strategies: Sequence[str]) -> ConfigError:
    """What is wrong with strategies that hand passages to each other in that order."""
    return ConfigError(
        f"The strategies {' -> '.join(strategies)} hand their passages on in a circle.",
        hint="Let one of them hand its passages to another strategy (crag: `then`).",
    )


def _check_reach(registration: Registration, table: Table) -> None:
    """ConfigError where a file that nobody vouched for configures what asks hosts of its own choice."""
    if not getattr(registration.factory, "reaches_out", False):
        return
    for key, value in table.values.items():
        for layer in value.layers:
            if layer.confined:
                raise ConfigError(
                    f"{layer.origin}: `{table.name}.{key}` would have {registration.name!r} send questions to other "
                    "hosts, and the file was found by walking up.",
                    hint=layer.allowing,
                )


_WAIT_FOR_OTHERS = 60.0  # seconds: another process may be indexing the same files
_KEEP_UNUSED = 30 * 24 * 3600  # seconds that the index of a --docs call is kept after its last use


def indexing_retriever(assembly: Assembly, *, named: bool) -> str:
    """The retriever that keeps an index: the configured one, else the highest-ranked one.

    Where the command line `named` what is configured, there must be just one in it.
    """
    asked = assembly.retriever
    within = [name for name in sources(asked) if name not in BUILT_IN] if asked else []
    keeping = [name for name in within if assembly.keeps_index(name)]
    if named and within and len(keeping) != 1:
        raise ConfigError(
            f"The retrievers {', '.join(keeping)} of `{asked}` all keep an index."
            if keeping
            else f"Retriever {str(asked)!r} keeps no index.",
            hint="Name one that does with -r; `rqa plugins` lists them.",
        )
    if keeping:
        return keeping[0]
    installed = (registration.name for registration in assembly.host.components("retriever"))
    for name in assembly.indexing((*assembly.config.names("retriever"), *installed)):
        return name
    raise ConfigError(
        "No installed retriever keeps an index.", hint="`rqa plugins` lists what is installed, and what is broken."
    )


def index(assembly: Assembly, name: str, paths: Sequence[Path], progress: IndexProgress | None = None) -> IndexReport:
    """Index `paths` with the retriever `name`. PluginError where that gives no report, or cannot be closed then."""
    component, named = assembly.part("retriever", name).build(), f"retriever.{name}"
    try:
        with attributed(named):
            report: IndexReport = component.index([path.absolute() for path in paths], progress)
    finally:
        unclosed = asyncio.run(closed(named, component))
    if problem := validated(report, IndexReport)[1]:
        raise PluginError(f"`index` of {named} returned {problem}.", hint=CONTRACT)
    if unclosed:  # perhaps before all of the index was written
        raise PluginError(unclosed, hint=PLUGIN_FAULT)
    return report


def open_to_others(report: IndexReport) -> str:
    """A warning when other users can read the folder of the index, else ""."""
    try:
        mode = stat.S_IMODE(Path(report.folder).stat().st_mode) if report.folder else 0
    except OSError:
        return ""
    if not mode & 0o055:
        return ""
    return (
        f"Other users can read the index folder {report.folder} (mode {mode:04o}), which holds the text of your files. "
        f"To keep it private: `chmod 700 {shlex.quote(report.folder)}`."
    )


def for_documents(
    config: Config, host: Host, paths: Sequence[Path], progress: IndexProgress | None = None, *, named: bool
) -> tuple[str, dict[str, str], IndexReport]:
    """An index of just `paths`, made or brought up to date: the retriever, its options, and what was done.

    `named` as in `indexing_retriever`.
    """
    name = indexing_retriever(Assembly(config, host), named=named)
    shelf = environment.cache_dir() / "docs"

    def kept_in(folder: Path) -> Assembly:
        return Assembly(config, host, overrides={("retriever", name): {"index": str(folder)}})

    # A retriever refuses an index of another plugin, or one made with other options: each has its own.
    folder = shelf / _key(paths, kept_in(shelf).part("retriever", name))
    assembly = kept_in(folder)
    try:
        shelf.parent.mkdir(parents=True, exist_ok=True, mode=0o700)  # a copy of their text, and the cache of calls
        shelf.mkdir(exist_ok=True, mode=0o700)
        (shelf / f"{folder.name}.used").touch()  # first: also what a killed run leaves is forgotten one day
    except OSError as error:  # before the retriever, whose `index` could not be set here
        raise ConfigError(
            f"The folder {shelf}, where these documents would be indexed, cannot be written to: {error.strerror}.",
            hint=f"Set {environment.CACHE_DIR} to a folder that can, or index them once with `rqa index PATH`.",
        ) from error
    give_up = time.monotonic() + _WAIT_FOR_OTHERS
    kept = folder.exists()
    while True:
        try:
            report = index(assembly, name, paths, progress)
            break
        except BusyError:
            if time.monotonic() > give_up:
                raise
            time.sleep(0.2)
        except ConfigError:
            if not kept:
                raise
            shutil.rmtree(folder, ignore_errors=True)  # perhaps of a former format; nobody else knows of it
            kept = False
    _forget_unused(shelf)
    return name, {"index": str(folder)}, report


def _key(paths: Sequence[Path], retriever: Part) -> str:
    content = "\0".join([repr(retriever.identity), *sorted(str(path.resolve()) for path in paths)])
    return hashlib.sha256(content.encode("utf-8", "surrogateescape")).hexdigest()[:20]


def _forget_unused(folder: Path) -> None:
    for mark in folder.glob("*.used"):
        try:
            if mark.stat().st_mtime < time.time() - _KEEP_UNUSED:
                shutil.rmtree(mark.with_suffix(""), ignore_errors=True)
                mark.unlink()
        except FileNotFoundError:
            continue  # another process was quicker
