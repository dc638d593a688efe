"""Retriever `pg`: passages from Postgres, from your own files or from a table that exists.

`retriever` has the options, `database` the connections and errors, `index` the tables, their update and the search.
"""

from __future__ import annotations

from robust_qa import Registry, hookimpl

from .retriever import Postgres

__all__ = ["Postgres"]


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the plugin."""
    registry.retriever(
        "pg", "rqa_postgres:Postgres", summary="Full text and vectors in Postgres, or a query of your own"
    )
