"""Documents into an index: the user's own, or one made for the files of `--docs` and kept while they last."""

from __future__ import annotations

import asyncio
import hashlib
import shlex
import shutil
import stat
import time
from collections.abc import Sequence
from pathlib import Path

from . import environment
from .assembly import Assembly, Part
from .components import IndexProgress, IndexReport
from .config import Config
from .errors import BusyError, ConfigError, PluginError
from .expressions import BUILT_IN, sources
from .faults import CONTRACT, PLUGIN_FAULT, blaming, closed
from .host import Host
from .returned import misfit

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
        with blaming(named):
            report: IndexReport = component.index([path.absolute() for path in paths], progress)
    finally:
        unclosed = asyncio.run(closed(named, component))
    if wrong := misfit(report, IndexReport):
        raise PluginError(f"`index` of {named} gave {wrong}.", hint=CONTRACT)
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
