"""Retriever `pg`: passages from Postgres, from your own files or from a table that exists.

`retriever` has the options, `database` the connections and errors, `index` the tables, their update and the search.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from robust_qa import hookimpl
from rqa_postgres.retriever import Postgres

if TYPE_CHECKING:
    from robust_qa import Registry

__all__ = ["Postgres"]


@hookimpl
def rqa_register(registry: Registry) -> None:
    registry.retriever("pg", Postgres, summary="Full text and vectors in Postgres, or a query of your own")
