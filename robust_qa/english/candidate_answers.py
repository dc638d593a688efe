"""Candidate answers in passages: the sentences that share words with the question, and the few words in them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ..types import Passage
from .evidence import Candidate, weigh
from .question import analyse
from .spans import find

_SPACES = re.compile(r"[^\S ]|  ")
_READ = 8  # sentences that are looked into for short answers
_LACKING = 1.5  # taken from a sentence without anything of the kind asked for: without a date it hardly says when


def candidates(question: str, passages: Sequence[Passage]) -> tuple[list[Candidate], list[Candidate]]:
    """Sentences of `passages` that may answer `question`, the likeliest first, and short answers in them.

    Questions of some kinds have short answers: persons, places, dates, quantities, and what stands in closed lists, as
    countries do. Any text will do; in languages other than English there are hardly any.
    """
    query = analyse(question)
    sentences: list[Candidate] = []
    shorter: list[Candidate] = []
    for held in weigh(query, passages)[:_READ]:
        text, at = _single_spaced(passages[held.passage].text, held.start, held.end)
        found = find(query, text, 0, len(text))
        lacking = found is not None and not found
        sentences.append(replace(held, logit=held.logit - _LACKING) if lacking else held)
        shorter.extend(
            Candidate(held.passage, at[span.start], at[span.end - 1] + 1, held.logit + span.trust)
            for span in found or ()
        )
    return sentences, shorter


def _single_spaced(text: str, start: int, end: int) -> tuple[str, Sequence[int]]:
    """`text[start:end]` with a space for each run of whitespace, and where each of its characters stands."""
    plain = text[start:end]  # its lines may be broken anywhere, where the patterns have a space
    if _SPACES.search(plain) is None:
        return plain, range(start, end)
    at = [n for n in range(start, end) if not (text[n].isspace() and text[n - 1 : n].isspace())]
    return "".join(" " if text[n].isspace() else text[n] for n in at), at
