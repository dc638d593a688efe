"""The views of the papers, and the table of the conflict rate."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rqa_eval.relevance import contains_gold, precision
from rqa_eval.report.runs import Group
from rqa_eval.report.tables import Column, Table, share_cell
from rqa_eval.views import Correct, Row, View

_BUCKETS = ("0%", "1-20%", "21-40%", "41-60%", "61-80%", "81-100%")
CONFLICTING = "conflicting"
MEMORY, PASSAGES = "norag", "rag"  # their answers show the knowledge of the model and of the passages


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


def rate_table(groups: Sequence[Group], *, of: str) -> Table:
    """Return the share of questions on which memory and passages conflict, by retrieval precision."""
    places = dict.fromkeys((group.set or "all sets", group.condition or "") for group in groups)
    buckets = [name for name in dict.fromkeys(group.slice or "" for group in groups) if not name.endswith(CONFLICTING)]
    sizes = {(group.set or "all sets", group.condition or "", group.slice): group.rows for group in groups}
    cells = [
        [
            share_cell(sizes[*place, f"{name} {CONFLICTING}"] / rows if (rows := sizes[*place, name]) else None)
            for name in buckets
        ]
        for place in places
    ]
    return Table(
        title=f"conflict rate (%) by retrieval precision{of}",
        heads=("set", "condition"),
        columns=tuple(map(Column, buckets)),
        rows=tuple((place, tuple(row)) for place, row in zip(places, cells, strict=True)),
        shaded=True,
    )


RETRIEVAL_PRECISION = View("retrieval-precision", _BUCKETS, _retrieval_precision)
CONFLICT = View("conflict", ("both right", CONFLICTING, "both wrong"), _conflict, (MEMORY, PASSAGES))
CONFLICT_RATE = View(
    "conflict-rate",
    (*_BUCKETS, *(f"{bucket} {CONFLICTING}" for bucket in _BUCKETS)),
    _conflict_rate,
    (MEMORY, PASSAGES),
)
KNOWLEDGE = View("knowledge", ("has answer", "miss answer", "internal knowledge"), _knowledge, (MEMORY,))
