"""What the shell completes: names of components, and keys of options."""

from __future__ import annotations

from typing import TYPE_CHECKING

from click.shell_completion import CompletionItem

from ..errors import RqaError
from ..expressions import GIVEN_PARTS, MEMORY, NOTHING
from .reference import option_names
from .run import Run

if TYPE_CHECKING:
    from ..config.layers import Config
    from ..types import Kind


def keys(run: Run, incomplete: str) -> list[CompletionItem]:
    """Return the keys of all options, each with its `=`."""
    try:
        return [CompletionItem(f"{key}=") for key in option_names(run) if key.startswith(incomplete)]
    except RqaError:
        return []


def names(run: Run, kind: Kind, incomplete: str, *, several: bool) -> list[CompletionItem]:
    """Return the names of that kind. With `several`, for the last of names that commas separate."""
    before, comma, incomplete = incomplete.rpartition(",") if several else ("", "", incomplete)
    try:
        known = {registration.name: registration.summary for registration in run.host.components(kind)}
        config = run.load_config()
        known.update({name: f"[{kind}.{name}]" for name in config.names(kind)})
        if kind == "retriever":
            known.update(_expressions(config))
    except RqaError:
        return []
    return [
        CompletionItem(f"{before}{comma}{name}", help=summary)
        for name, summary in sorted(known.items())
        if name.startswith(incomplete)
    ]


def _expressions(config: Config) -> dict[str, str]:
    """Return the named expressions and the built-in names, with their descriptions."""
    named = config.table("defaults", "expressions").values
    return {
        **{name: str(value.value) for name, value in named.items()},
        **dict.fromkeys(GIVEN_PARTS, "the question's own passages"),
        MEMORY: "a passage that the reader writes",
        NOTHING: "no passages",
    }
