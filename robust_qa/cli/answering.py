"""From the answering options to a session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..answering.assembly import Assembly
from ..answering.session import Session
from ..errors import MissingError
from ..types import Kind
from .options import Answering
from .run import Run


def open_session(run: Run, answering: Answering, *, detailed: bool = True) -> Session:
    """A session as the command line and the configuration ask for it; indexes the files of --docs first."""
    pairs = answering.overrides()
    overrides: dict[tuple[Kind, str], Mapping[str, Any]] = {}
    if answering.docs:
        from ..answering import assembly as indexing
        from .progress import indexing_progress

        config = run.load_config(pairs)
        assembly = Assembly(config, run.host)
        for kind in ("strategy", "reader", "evaluator"):
            assembly.check_default(kind)  # before the wait for an index
        with indexing_progress(run) as progress:
            name, options, report = indexing.for_documents(
                config, run.host, answering.docs, progress, named=bool(answering.retriever)
            )
        # Told when the index is made or renewed, and not again with every question.
        news = report.added or report.changed or report.removed or not report.passages
        for path, why in report.skipped if news else ():
            run.say(f"{path} is left out: {why}")
        if not report.passages:
            raise MissingError(
                f"There is no text to answer from in {', '.join(map(str, answering.docs))}.",
                hint="`rqa help` says which files are read, under `rqa index`.",
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
        overrides=overrides,
    )
    for kind, table in config.overridden():
        session.assembly.part(kind, table)  # also where this question does not come to use it
    return session
