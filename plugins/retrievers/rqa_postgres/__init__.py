"""Retriever `pg`: passages from Postgres, from your own files or from a table that exists.

`retriever` has the options, `database` the connections and errors, `index` the tables, their update and the search.
"""

from __future__ import annotations

from .retriever import Postgres

__all__ = ["Postgres"]
