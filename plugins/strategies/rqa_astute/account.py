"""Report how an answer was found, as JSON: `Answer.details` and the notes in the trace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from robust_qa import Answer, Passage
from rqa_prompts import fenced

from .parsing import Consolidated, Verdict


def source(documents: Sequence[int], pool: Sequence[Passage]) -> str:
    """Return S_j of a document, from its sources in `pool`: "memory", "retrieval" or "both"."""
    origins = {"memory" if pool[number - 1].origin == "memory" else "retrieval" for number in documents}
    return "both" if len(origins) > 1 else "".join(origins)


def listed(consolidated: Sequence[Consolidated], pool: Sequence[Passage]) -> list[dict[str, Any]]:
    """Return one round, D_j with S_j, as JSON."""
    return [
        {"documents": list(document.documents), "source": source(document.documents, pool), "text": document.text}
        for document in consolidated
    ]


def rendered(consolidated: Sequence[Consolidated], pool: Sequence[Passage], *, source_aware: bool) -> str:
    """Return one round as fenced documents for the prompt of the next round."""
    documents = []
    for document in consolidated:
        numbers = f' documents="{", ".join(map(str, document.documents))}"' if document.documents else ""
        where = source(document.documents, pool).replace("both", "memory and retrieval")
        origin = f' from="{where}"' if where and source_aware else ""
        documents.append(f"<document{numbers}{origin}>\n{fenced(document.text)}\n</document>")
    return "\n".join(documents) or "(None of the documents helped.)"


def details(verdict: Verdict, pool: Sequence[Passage], rounds: Sequence[Sequence[Consolidated]]) -> dict[str, Any]:
    """Return `Answer.details`. Documents are numbered from 1, retrieved ones first."""
    grouped = {number for group in verdict.groups for number in group.documents}
    removed = sum(group.removed for group in verdict.groups)
    removed += sum(document.removed for consolidated in rounds for document in consolidated)
    return {
        "documents": [
            {"number": number, "id": passage.id, "title": passage.title, "origin": passage.origin}
            for number, passage in enumerate(pool, start=1)
        ],
        "memory": [passage.text for passage in pool if passage.origin == "memory"],
        "rounds": [listed(consolidated, pool) for consolidated in rounds],
        "groups": [
            {
                "documents": list(group.documents),
                "source": source(group.documents, pool),
                "summary": group.summary,
                "answer": group.answer or None,
                "confidence": group.confidence,
            }
            for group in verdict.groups
        ],
        "dropped": [number for number in range(1, len(pool) + 1) if number not in grouped],
        "citations_removed": removed,
        "reason": verdict.reason,
        "repaired": verdict.repaired,
        "degraded": verdict.degraded,
    }


def explained(answer: Answer, verdict: Verdict) -> str:
    """Return the decision and its reason in one line."""
    if verdict.degraded:
        return "the reply has no groups; its plain text is taken as the answer"
    if answer.text is None:
        decision = answer.reason
    elif verdict.answer == answer.text:
        decision = f"chosen: {answer.text!r}. {verdict.reason}".strip()
    else:
        decision = f"no choice that stands, and {answer.text!r} has the highest confidence"
    if answer.reason and answer.text is not None:
        decision = f"{decision} {answer.reason}"
    return f"groups of documents: {len(verdict.groups)}; {decision}"
