"""Open a session from the answering options."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext

from ..answering.history import recorder
from ..answering.opening import open_session as open_configured
from ..answering.session import Session
from ..protocols import IndexReport
from .options import Answering
from .run import Run


def open_session(
    run: Run,
    answering: Answering,
    *,
    detailed: bool = True,
    record: str = "",
    fresh: bool = True,
    filters: Mapping[str, str] | None = None,
) -> Session:
    """Return a session for the command line and the configuration. Index the files of --docs first.

    `fresh` and `filters` are as for the function of that name in `answering.opening`.
    `record`: a command, such as "ask", whose answers go to the history.
    """
    from .progress import indexing_progress

    def say_skipped(report: IndexReport) -> None:
        from ..documents import summarised

        # Only after the index changed, so that not every question repeats the list.
        changed = report.added or report.changed or report.removed or report.unread or not report.passages
        for line in summarised(report.skipped) if changed else ():
            run.say(line)

    config = run.load_config(answering.overrides())
    with indexing_progress(run) if answering.docs else nullcontext() as progress:
        return open_configured(
            config,
            run.host,
            docs=answering.docs,
            named=bool(answering.retriever),
            progress=progress,
            indexed=say_skipped,
            history=recorder(config, record, run.say) if record else None,
            detailed=detailed,
            fresh=fresh,
            filters=filters,
        )
