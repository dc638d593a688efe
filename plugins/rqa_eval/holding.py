"""Which passages hold a gold answer: what retrieval precision, and half of the views, are about."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from robust_qa.kit import contains_answer, normalise

# A letter or digit, but not of Thai, Chinese and the like, which put no spaces between words.
_LETTER = r"[^\W\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff]"

_POSSESSIVE = re.compile(r"'s\b", re.IGNORECASE)


def contains_words(text: str, answers: Iterable[str]) -> bool:
    """Whether any of `answers` occurs in `text` in whole words, both normalised: "ro" is not in "Croatia"."""
    haystack = searched(text)
    return any(in_words(answer, haystack) for answer in map(normalise, answers))


def searched(text: str) -> str:
    """`text` as `in_words` searches it: normalised, also without possessives, since England is in "England's"."""
    return f"{normalise(text)} | {normalise(_POSSESSIVE.sub('', text))}"


def in_words(needle: str, haystack: str) -> bool:
    """Whether it occurs there in whole words, both normalised; nothing does not."""
    if not needle or needle not in haystack:
        return False
    return re.search(f"(?<!{_LETTER}){re.escape(needle)}(?!{_LETTER})", haystack) is not None


def text_of(passage: Mapping[str, Any]) -> str:
    """Title and text, as one text."""
    return f"{passage.get('title') or ''}\n{passage['text']}".strip()


def holds(
    passage: Mapping[str, Any], gold: Sequence[Sequence[str]], relevant: Collection[str] = frozenset()
) -> bool | None:
    """Whether the passage holds an answer to any of the facts in `gold`; None where nothing says what is right.

    Where the set judges passages, in `relevant`, its judgement stands, and of a document it is one of each passage that
    an index cuts it into ("d1#2" of "d1"). Otherwise an answer must be contained, both normalised (Astute RAG,
    Section 3, footnote 3).
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
    """The share of the passages that hold an answer; None where that is not known, or there are none."""
    held = [holds(passage, gold, relevant) for passage in passages or ()]
    return None if not held or None in held else sum(map(bool, held)) / len(held)


def held(questions: Iterable[Mapping[str, Any]]) -> tuple[int, float, float] | None:
    """Of the lines of questions.jsonl, the share that has a passage which holds an answer, and the mean share of such.

    Over the questions of which either is known, whose number comes first; None where there is none. A question
    without passages has none that holds an answer.
    """
    there, shares = [], []
    for row in questions:
        relevant = row.get("relevant") or ()
        share = precision(row.get("passages"), row["gold"], relevant)
        if share is not None:
            shares.append(share)
        if share is not None or (not row.get("passages") and (row["gold"] or relevant)):
            there.append(bool(share))
    return (len(there), sum(there) / len(there), sum(shares) / len(shares)) if shares else None
