"""Build and update indexes, for `rqa index` and `--docs`."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import shutil
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..calls.cache import open_cache
from ..calls.contract import CONTRACT, PLUGIN_FAULT, attributed, validated
from ..config import environment
from ..errors import BusyError, ConfigError, MissingError, PluginError, RqaError
from ..expressions import BUILT_IN, sources
from ..types import Kind
from .components import Components
from .configured import Component, Configured

if TYPE_CHECKING:
    from ..protocols import IndexedFile, IndexProgress, IndexReport

_LOCK_TIMEOUT = 60.0  # seconds to wait for another process that indexes the same files
_KEEP_UNUSED = 30 * 24 * 3600  # seconds to keep a --docs index after its last use
_MOST_BYTES = 2_000_000_000  # of all --docs indexes; above it the longest unused ones are deleted


def indexing_retriever(configured: Configured, *, named: bool, in_folder: bool = False) -> str:
    """The retriever to index with: the configured one that has an index, else the installed one of highest rank.

    `named`: the command line names the retriever. Then exactly one retriever in it must have an index. `in_folder`:
    the index must be in a folder, which is the option `index`.
    Raises ConfigError if no retriever fits.
    """
    tree = configured.retriever
    names = [name for name in sources(tree) if name not in BUILT_IN] if tree else []
    candidates = [name for name in names if configured.keeps_index(name, in_folder=in_folder)]
    if named and names and len(candidates) != 1:
        raise ConfigError(
            f"`{tree}` names several retrievers that have an index: {', '.join(candidates)}."
            if candidates
            else f"Retriever {str(tree)!r} has no index{' in a folder' if in_folder else ''}.",
            hint="Name one that has an index with -r. `rqa plugins` lists them.",
        )
    if candidates:
        return candidates[0]
    for name in configured.indexing_by_default(in_folder=in_folder):
        return name
    raise ConfigError("No installed retriever has an index.", hint="`rqa plugins` lists installed and broken plugins.")


def index(
    configured: Configured,
    name: str,
    paths: Sequence[Path],
    progress: IndexProgress | None = None,
    *,
    remove: bool = False,
) -> IndexReport:
    """Index `paths` with the retriever `name`, by default what it indexed before. `remove` removes them.

    Raises ConfigError if it cannot do that, PluginError if it returns no report or fails to close.
    """
    absolute = [path.absolute() for path in paths]
    if remove:
        _check_can(configured, name, "remove", "remove files from its index")
        return _indexed(configured, name, lambda it: it.remove(absolute))
    return _indexed(configured, name, lambda it: it.index(absolute, progress))


def indexed_files(components: Components, name: str) -> Mapping[str, IndexedFile]:
    """Return what the index of that retriever keeps of each file. Raises ConfigError if it cannot list them."""
    _check_can(components, name, "files", "list its files")
    with attributed(f"retriever.{name}"):
        files: Mapping[str, IndexedFile] = components.build("retriever", name).files()
    return files


def _check_can(configured: Configured, name: str, method: str, what: str) -> None:
    if not configured.has("retriever", name, method):
        raise ConfigError(f"Retriever {name!r} cannot {what}.", hint="Name another one with -r.")


def refresh(configured: Configured) -> list[str]:
    """Update the indexes of the configured retrievers with what changed, where that is quick.

    Returns what the user should know. An index that is missing or being written is left alone.
    """
    messages: list[str] = []
    for name in dict.fromkeys(configured.retriever_names()):
        try:
            if not configured.has("retriever", name, "refresh"):
                continue
            report = _indexed(configured, name, lambda it: it.refresh())
        except (BusyError, ConfigError, MissingError):  # the question reports a wrong configuration
            continue
        except RqaError as error:
            messages.append(f"The index of {name} was not updated: {error.message}")
            continue
        if report.pending:
            command = f"rqa index -r {name}" if configured.config.names("retriever") else "rqa index"
            files = "1 file has" if report.pending == 1 else f"{report.pending:,} files have"
            messages.append(f"{files} changed since the files were indexed. Update the index with `{command}`.")
        if report.advice:
            messages.append(report.advice)
    return messages


def _indexed(configured: Configured, name: str, work: Callable[[Any], Any]) -> IndexReport:
    """Return the report of `work`, which gets the retriever, built for this alone."""
    components = Components(configured.config, configured.host, overrides=configured.overrides)
    cache = open_cache(components.config) if components.component("retriever", name).embedders else None
    components.cache, qualified = cache, f"retriever.{name}"
    with asyncio.Runner() as runner:
        try:
            component = components.build("retriever", name)
            with attributed(qualified):
                # Not in the event loop, where Ctrl-C would not interrupt a plain `def`.
                result = work(component)
                report: IndexReport = runner.run(_result(result)) if inspect.isawaitable(result) else result
        finally:
            unclosed = "\n".join(runner.run(components.close()))
            if cache:
                cache.close()
    from ..protocols import IndexReport

    if problem := validated(report, IndexReport)[1]:
        raise PluginError(f"Indexing with {qualified} returned {problem}.", hint=CONTRACT)
    if unclosed:  # the index may be incomplete
        raise PluginError(unclosed, hint=PLUGIN_FAULT)
    return report


async def _result(indexing: Awaitable[IndexReport]) -> IndexReport:
    return await indexing


def for_documents(
    configured: Configured,
    paths: Sequence[Path],
    progress: IndexProgress | None = None,
    *,
    named: bool,
    reading: Mapping[str, Any],
) -> tuple[str, dict[str, Any], IndexReport]:
    """Create or update an index of only `paths`. Returns the retriever, its options and the report.

    Sets the option `quick` of a retriever that has it: somebody waits for the answer.

    `named` as in `indexing_retriever`, `reading` as in `new_session`.
    """
    name = indexing_retriever(configured, named=named, in_folder=True)
    configured.check_filters([name], reading)
    parent = environment.cache_dir() / "docs"

    chosen = {**reading, **({"quick": True} if configured.indexes_quickly(name) else {})}

    def with_index(folder: Path) -> Configured:
        overrides: dict[tuple[Kind, str], Mapping[str, Any]] = {("retriever", name): {"index": str(folder), **chosen}}
        return Configured(configured.config, configured.host, overrides=overrides)

    # Other paths, options or plugin versions need an index of their own.
    folder = parent / _key(paths, with_index(parent).component("retriever", name))
    try:
        parent.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        parent.mkdir(exist_ok=True, mode=0o700)
        (parent / f"{folder.name}.used").touch()  # first, so that an index without this file never stays
    except OSError as error:
        raise ConfigError(
            f"Cannot write to the index folder {parent}: {error.strerror}.",
            hint=f"Set {environment.CACHE_DIR} to a writable folder, or index the documents with `rqa index PATH`.",
        ) from error
    deadline = time.monotonic() + _LOCK_TIMEOUT
    while True:
        try:
            report = index(with_index(folder), name, paths, progress)
            break
        except BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
    _delete_unused(parent)
    return name, {"index": str(folder), **chosen}, report


def _key(paths: Sequence[Path], retriever: Component) -> str:
    content = "\0".join([repr(retriever.identity), *sorted(str(path.resolve()) for path in paths)])
    return hashlib.sha256(content.encode("utf-8", "surrogateescape")).hexdigest()[:20]


def _delete_unused(folder: Path) -> None:
    size = 0
    with suppress(FileNotFoundError):  # another process deletes, too
        used = {mark: mark.stat().st_mtime for mark in folder.glob("*.used")}
        for number, mark in enumerate(sorted(used, key=lambda mark: -used[mark])):
            index = mark.with_suffix("")
            size += sum(file.stat().st_size for file in index.rglob("*"))
            if used[mark] < time.time() - _KEEP_UNUSED or (size > _MOST_BYTES and number):
                shutil.rmtree(index, ignore_errors=True)
                mark.unlink()
