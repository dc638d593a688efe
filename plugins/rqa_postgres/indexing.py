"""Updates an index with files, each in a transaction of its own."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import batched
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robust_qa import IndexReport
from robust_qa.documents import Entry, FileReader, Skipped, Unreadable, check_known, find, is_gone, removed, shown
from robust_qa.kit import with_title

from .index import Index, storable, written

if TYPE_CHECKING:
    from psycopg import Connection

    from robust_qa import EmbedderHandle, IndexProgress

_BATCH = 256  # passages embedded and copied at once
