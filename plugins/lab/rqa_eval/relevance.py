"""Whether passages contain a gold answer: retrieval precision and has-answer."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from robust_qa.kit import contains_answer, normalise

# A letter or digit, except in scripts without spaces between words, such as Thai and Chinese.
_LETTER = r"[^\W\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff]"

_POSSESSIVE = re.compile(r"'s\b", re.IGNORECASE)


def contains_words(text: str, answers: Iterable[str]) -> bool:
    """Return whether `text` contains one of `answers` as whole words, after normalisation."""
    haystack = search_text(text)
    return any(in_words(answer, haystack) for answer in map(normalise, answers))


def search_text(text: str) -> str:
    """Return `text` normalised, with and without possessives, so that "England's" contains England."""
    return f"{normalise(text)} | {normalise(_POSSESSIVE.sub('', text))}"


def in_words(needle: str, haystack: str) -> bool:
    """Return whether `haystack` contains `needle` as whole words. Both must be normalised."""
    if not needle or needle not in haystack:
        return False
    return re.search(f"(?<!{_LETTER}){re.escape(needle)}(?!{_LETTER})", haystack) is not None


def text_of(passage: Mapping[str, Any]) -> str:
    """Return the title and the text of a passage as one string."""
    return f"{passage.get('title') or ''}\n{passage['text']}".strip()


def contains_gold(
    passage: Mapping[str, Any], gold: Sequence[Sequence[str]], relevant: Collection[str] = frozenset()
) -> bool | None:
    """Return whether the passage contains an answer to any fact in `gold`. None without gold answers.

    If the set lists `relevant` ids, a passage is relevant if its id or its document ("d1" of "d1#2") is listed.
    Otherwise it must contain an answer after normalisation (Astute RAG, Section 3, footnote 3).
    """
    if relevant:
        name = str(passage.get("id"))
        document, _, number = name.rpartition("#")
        return name in relevant or (number.isdecimal() and document in relevant)
    if not gold:
        return None
    return contains_answer(text_of(passage), [answer for fact in gold for answer in fact])


def precision(
    passages: Sequence[Mapping[str, Any]] | None,
    gold: Sequence[Sequence[str]],
    relevant: Collection[str] = frozenset(),
) -> float | None:
    """Return the share of the passages that contain an answer. None without passages or gold answers."""
    relevance = [contains_gold(passage, gold, relevant) for passage in passages or ()]
    return None if not relevance or None in relevance else sum(map(bool, relevance)) / len(relevance)


def retrieval_quality(questions: Iterable[Mapping[str, Any]]) -> tuple[int, float, float] | None:
    """Return the number of questions with gold answers, their has-answer rate and mean retrieval precision.

    `questions` are lines of questions.jsonl. Questions without passages count for has-answer only. None if no
    precision is defined.
    """
    has_answer, precisions = [], []
    for row in questions:
        relevant = row.get("relevant") or ()
        share = precision(row.get("passages"), row["gold"], relevant)
        if share is not None:
            precisions.append(share)
        if share is not None or (not row.get("passages") and (row["gold"] or relevant)):
            has_answer.append(bool(share))
    return (len(has_answer), fmean(has_answer), fmean(precisions)) if precisions else None
