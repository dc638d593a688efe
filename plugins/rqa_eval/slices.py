"""Views: the questions in slices, each told by itself. A question may be in several slices of a view, or in none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from .holding import holds, precision

Row = Mapping[str, Any]  # a line of questions.jsonl
Right: TypeAlias = Mapping[str, bool | None]  # whether a strategy's answer to it is right, by name

_BUCKETS = ("0%", "1-20%", "21-40%", "41-60%", "61-80%", "81-100%")
MEMORY, PASSAGES = "norag", "rag"  # the strategies that stand for what the model knows, and for what the passages say


@dataclass(frozen=True, slots=True)
class View:
    """`slices` in reading order; `of` names those a question is in; `needs` are the strategies it looks at."""

    name: str
    slices: tuple[str, ...]
    of: Callable[[Row, Right], Sequence[str]]
    needs: tuple[str, ...] = ()


def _retrieval_precision(row: Row, _: Right) -> Sequence[str]:
    """By the share of passages that hold a gold answer (Astute RAG, Figure 7)."""
    share = precision(row.get("passages"), row["gold"], row.get("relevant") or ())
    # In whole per cent, so that 0.2 + 0.4 of a float does not decide; but one passage of a thousand is not none.
    return () if share is None else (_BUCKETS[-(-max(round(100 * share), share > 0) // 20)],)


def _conflict(_: Row, right: Right) -> Sequence[str]:
    """By whether the model alone, and the model that reads the passages, are right (Astute RAG, Figure 8)."""
    memory, passages = right.get(MEMORY), right.get(PASSAGES)
    if memory is None or passages is None:
        return ()
    return ("conflicting" if memory != passages else "both right" if memory else "both wrong",)


def _knowledge(row: Row, right: Right) -> Sequence[str]:
    """By where the answer is to be found: in the passages, or in what the model knows (ActiveRAG, Table 4)."""
    found = []
    passages, relevant = row.get("passages"), row.get("relevant") or ()
    if passages is not None and (row["gold"] or relevant):
        there = any(holds(passage, row["gold"], relevant) for passage in passages)
        found.append("has answer" if there else "miss answer")
    return [*found, "internal knowledge"] if right.get(MEMORY) else found


VIEWS = {
    view.name: view
    for view in (
        View("retrieval-precision", _BUCKETS, _retrieval_precision),
        View("conflict", ("both right", "conflicting", "both wrong"), _conflict, (MEMORY, PASSAGES)),
        View("knowledge", ("has answer", "miss answer", "internal knowledge"), _knowledge, (MEMORY,)),
    )
}
