"""The forms of the replies. Fields stand in the order in which a model should think: the answer last."""

from __future__ import annotations

from robust_qa.kit import ANSWER, NUMBER, TEXT, Form, list_of, numbers_of, object_of


def memory(limit: int) -> Form:
    """At most `limit` passages."""
    return Form("memory", object_of(passages=list_of(TEXT, limit)))


def consolidation(size: int) -> Form:
    """New documents made from `size` documents."""
    return Form("consolidate", object_of(consolidated=list_of(object_of(documents=numbers_of(size), text=TEXT), size)))


def verdict(size: int, *, abstain: bool) -> Form:
    """Reasoning, groups of `size` documents, each with its candidate answer, and the final answer."""
    group = object_of(documents=numbers_of(size), summary=TEXT, answer=TEXT, confidence=NUMBER)
    final = ANSWER if abstain else TEXT
    return Form("finalise", object_of(reasoning=TEXT, groups=list_of(group, size), reason=TEXT, answer=final))
