"""Open a session over a configuration, or over documents that are indexed first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..config.layers import Config
from ..config.values import Layer
from ..errors import MissingError
from ..host.loading import Host
from ..types import Kind
from .configured import Configured
from .session import Session

if TYPE_CHECKING:
    from ..protocols import IndexProgress, IndexReport


def new_session(
    config: Config,
    host: Host,
    *,
    docs: Sequence[Path] = (),
    reading: Mapping[str, Any] | None = None,
    named: bool = False,
    progress: IndexProgress | None = None,
    indexed: Callable[[IndexReport], None] = lambda report: None,
    record: str = "",
    say: Callable[[str], None] = lambda text: None,
    detailed: bool = True,
    fresh: bool = True,
    filters: Mapping[str, str] | None = None,
) -> Session:
    """Return a session that is not entered yet. Index `docs` first, in an index of their own.

    Without `docs`, `fresh` updates the configured indexes with what changed, where that is quick. With either, the
    session does so again before a question that comes after a pause.

    `named`: the caller names the retriever, which ignores a question's own passages and has to index `docs`.
    `reading`: options of the retriever that say which files of `docs` it leaves out.
    `filters`: options of the retrievers that restrict what is searched.
    `progress` and `indexed` are called during and after the indexing. The rest is as in Session.

    Raises ConfigError if the configuration is wrong, MissingError if `docs` hold no text.
    """
    overrides: dict[tuple[Kind, str], Mapping[str, Any]] = {}
    configured = Configured(config, host)
    if docs:
        from . import indexing

        for kind in ("strategy", "reader", "evaluator", "embedder"):
            configured.check_default(kind)  # fail before the slow indexing
        name, options, report = indexing.for_documents(configured, docs, progress, named=named, reading=reading or {})
        indexed(report)
        if not report.passages:
            raise MissingError(
                f"Found no text in {', '.join(repr(str(path)) for path in docs)}.",
                hint="`rqa help` lists the supported file formats, under `rqa index`.",
            )
        overrides["retriever", name] = options
        if not named:
            config = Config([Layer("the documents", {"defaults": {"retriever": name}}), *config.layers])
    if filters:
        names = [name] if docs else configured.retriever_names()
        configured.check_filters(names, filters)
        overrides |= {("retriever", name): {**overrides.get(("retriever", name), {}), **filters} for name in names}
    session = Session(
        config,
        host,
        detailed=detailed,
        prefer_retriever=named or bool(docs),
        record=record,
        say=say,
        overrides=overrides,
    )
    for kind, table in config.overridden():
        session.components.component(kind, table)  # validate what this question does not use, too
    if fresh:
        session.are_fresh() if docs else session.refresh()
    return session
