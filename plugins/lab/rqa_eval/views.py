"""Views: questions grouped into slices. A question can be in several slices of a view, or in none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from .extras import VIEWS, find

Row = Mapping[str, Any]  # a line of questions.jsonl
Correct: TypeAlias = Mapping[str, bool | None]  # by strategy, whether its answer is right


@dataclass(frozen=True, slots=True)
class View:
    """A view. `assign` returns the slices of a question; `needs` are the strategies whose answers it uses.

    Without `slices`, the questions decide which there are.
    """

    name: str
    slices: tuple[str, ...]
    assign: Callable[[Row, Correct], Sequence[str]]
    needs: tuple[str, ...] = ()


def view(name: str) -> View:
    """Return the view of that name, or the one that slices by the field `name` of the rows. Raises MissingError."""
    found: View = find("views", name) if name in VIEWS else View(name, (), lambda row, _: _values(row, name))
    return found


def _values(row: Row, name: str) -> Sequence[str]:
    """Return the value of a field as the only slice, or the items of a list."""
    value = row.get("fields", {}).get(name)
    return () if value is None else tuple(map(str, value)) if isinstance(value, list) else (str(value),)
