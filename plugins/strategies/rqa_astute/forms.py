"""JSON schemas of the replies. The answer is the last field, so that the model reasons before it answers."""

from __future__ import annotations

from robust_qa.kit import ANSWER, NUMBER, TEXT, Form, list_of, numbers_of, object_of

# A small model may go on reasoning in circles until the reply is cut, so what is not the answer is bounded.
_NOTE = {"type": "string", "maxLength": 600}


def memory(limit: int) -> Form:
    """Return the form for at most `limit` passages."""
    return Form("memory", object_of(passages=list_of(TEXT, limit)))


def consolidation(size: int) -> Form:
    """Return the form for new documents made from `size` documents."""
    return Form("consolidate", object_of(consolidated=list_of(object_of(documents=numbers_of(size), text=TEXT), size)))


def verdict(size: int, *, abstain: bool) -> Form:
    """Return the form for reasoning, groups of `size` documents with their answers, and the final answer."""
    group = object_of(documents=numbers_of(size), summary=_NOTE, answer=TEXT, confidence=NUMBER)
    final = ANSWER if abstain else TEXT
    return Form("finalise", object_of(reasoning=_NOTE, groups=list_of(group, size), reason=_NOTE, answer=final))
