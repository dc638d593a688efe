"""The table [defaults]."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from ..expressions import is_free_name
from ..types import Expression


@dataclass(frozen=True, slots=True)
class Defaults:
    """The table [defaults]: used if the command line names no other."""

    strategy: str | None = None  # a strategy; default: the most robust one that the reader can run
    retriever: Expression | None = None  # a retriever, or an expression of several
    reader: str | None = None  # a reader
    evaluator: str | None = None  # an evaluator
    embedder: str | None = None  # an embedder
    engine: str | None = None  # an engine of `rqa batch` and `rqa eval`; default: local
    k: Annotated[int, Meta(ge=1, le=10_000)] = 10  # passages a question retrieves
    expressions: dict[str, Expression] = field(default_factory=dict)  # retriever expressions by names of your choice
    prompts: dict[str, Path] = field(default_factory=dict)  # files to put in place of prompts: background, compress

    def __post_init__(self) -> None:
        for name in self.expressions:
            if not is_free_name(name):
                raise ValueError(f"cannot name an expression {name!r}")
