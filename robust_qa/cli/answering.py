"""Open a session from the answering options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..answering.components import Components
from ..answering.history import recorder
from ..answering.session import Session
from ..errors import MissingError
from ..types import Kind
from .options import Answering
from .run import Run


def open_session(run: Run, answering: Answering, *, detailed: bool = True, record: str = "") -> Session:
    """Return a session for the command line and the configuration. Index the files of --docs first.

    `record`: a command, such as "ask", whose answers go to the history.
    """
    pairs = answering.overrides()
    overrides: dict[tuple[Kind, str], Mapping[str, Any]] = {}
    if answering.docs:
        from ..answering import indexing
        from .progress import indexing_progress

        config = run.load_config(pairs)
        components = Components(config, run.host)
        for kind in ("strategy", "reader", "evaluator", "embedder"):
            components.check_default(kind)  # fail before the slow indexing
        with indexing_progress(run) as progress:
            name, options, report = indexing.for_documents(
                config, run.host, answering.docs, progress, named=bool(answering.retriever)
            )
        # Only after the index changed, so that not every question repeats the list.
        index_changed = report.added or report.changed or report.removed or not report.passages
        for path, why in report.skipped if index_changed else ():
            run.say(f"skipped {path}: {why}")
        if not report.passages:
            raise MissingError(
                f"Found no text in {', '.join(map(str, answering.docs))}.",
                hint="`rqa help` lists the supported file formats, under `rqa index`.",
            )
        if not answering.retriever:
            pairs.append(("defaults.retriever", name))
        overrides["retriever", name] = options
    config = run.load_config(pairs)
    session = Session(
        config,
        run.host,
        detailed=detailed,
        prefer_retriever=bool(answering.retriever or answering.docs),
        history=recorder(config, record, run.say) if record else None,
        overrides=overrides,
    )
    for kind, table in config.overridden():
        session.components.component(kind, table)  # validate overrides of components that this question does not use
    return session
