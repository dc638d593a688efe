"""JSON schemas of the replies. The answer is the last field, so that the model reasons before it answers."""

from __future__ import annotations

from robust_qa.kit import ANSWER, NOTE, NUMBER, TEXT, Form, list_of, numbers_of, object_of


def memory(limit: int) -> Form:
    """Return the form for at most `limit` passages."""
    return Form("memory", object_of(passages=list_of(TEXT, limit)))


def consolidation(size: int) -> Form:
    """Return the form for new documents made from `size` documents."""
    return Form("consolidate", object_of(consolidated=list_of(object_of(documents=numbers_of(size), text=TEXT), size)))


def verdict(size: int, *, abstain: bool) -> Form:
    """Return the form for reasoning, groups of `size` documents with their answers, and the final answer."""
    group = object_of(documents=numbers_of(size), summary=NOTE, answer=TEXT, confidence=NUMBER)
    final = ANSWER if abstain else TEXT
    return Form("finalise", object_of(reasoning=NOTE, groups=list_of(group, size), reason=NOTE, answer=final))
