"""Views: questions grouped into slices. A question can be in several slices of a view, or in none."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from .relevance import contains_gold, precision

Row = Mapping[str, Any]  # a line of questions.jsonl
Correct: TypeAlias = Mapping[str, bool | None]  # by strategy, whether its answer is right

_BUCKETS = ("0%", "1-20%", "21-40%", "41-60%", "61-80%", "81-100%")
RATE = "conflict-rate"
CONFLICTING = "conflicting"
MEMORY, PASSAGES = "norag", "rag"  # their answers show the knowledge of the model and of the passages


@dataclass(frozen=True, slots=True)
class View:
    """A view. `assign` returns the slices of a question; `needs` are the strategies whose answers it uses.

    Without `slices`, the questions decide which there are.
    """

    name: str
    slices: tuple[str, ...]
    assign: Callable[[Row, Correct], Sequence[str]]
    needs: tuple[str, ...] = ()


def _retrieval_precision(row: Row, _: Correct) -> Sequence[str]:
    """Slice by the share of passages with a gold answer (Astute RAG, Figure 7)."""
    share = precision(row.get("passages"), row["gold"], row.get("relevant") or ())
    return () if share is None else (_BUCKETS[math.ceil(round(100 * share) / 20)],)


def _conflict(_: Row, correct: Correct) -> Sequence[str]:
    """Slice by whether the model is right without and with the passages (Astute RAG, Figure 8)."""
    memory, passages = correct.get(MEMORY), correct.get(PASSAGES)
    if memory is None or passages is None:
        return ()
    return (CONFLICTING if memory != passages else "both right" if memory else "both wrong",)


def _conflict_rate(row: Row, correct: Correct) -> Sequence[str]:
    """Slice by retrieval precision, and by conflict inside each slice (Astute RAG, Figure 3)."""
    state = _conflict(row, correct)
    found = _retrieval_precision(row, correct) if state else ()
    return [*found, *(f"{bucket} {CONFLICTING}" for bucket in found if CONFLICTING in state)]


def _knowledge(row: Row, correct: Correct) -> Sequence[str]:
    """Slice by where the answer is: in the passages or in the model's memory (ActiveRAG, Table 4)."""
    found = []
    passages, relevant = row.get("passages"), row.get("relevant") or ()
    if passages is not None and (row["gold"] or relevant):
        has_answer = any(contains_gold(passage, row["gold"], relevant) for passage in passages)
        found.append("has answer" if has_answer else "miss answer")
    return [*found, "internal knowledge"] if correct.get(MEMORY) else found


def view(name: str) -> View:
    """Return the view of that name, or the one that slices by the field `name` of the rows."""
    return VIEWS.get(name) or View(name, (), lambda row, _: _values(row, name))


def _values(row: Row, name: str) -> Sequence[str]:
    """Return the value of a field as the only slice, or the items of a list."""
    value = row.get("fields", {}).get(name)
    return () if value is None else tuple(map(str, value)) if isinstance(value, list) else (str(value),)


VIEWS = {
    view.name: view
    for view in (
        View("retrieval-precision", _BUCKETS, _retrieval_precision),
        View("conflict", ("both right", CONFLICTING, "both wrong"), _conflict, (MEMORY, PASSAGES)),
        View(
            RATE, (*_BUCKETS, *(f"{bucket} {CONFLICTING}" for bucket in _BUCKETS)), _conflict_rate, (MEMORY, PASSAGES)
        ),
        View("knowledge", ("has answer", "miss answer", "internal knowledge"), _knowledge, (MEMORY,)),
    )
}
