"""Choose the most likely answer among the candidates of all passages."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from robust_qa import Passage
from robust_qa.english import Candidate, candidates
from robust_qa.kit import normalise

# Minimum advantage of a span in log-odds. If a span is wrong one time in three, its sentence is the better answer.
_MARGIN = 0.6


@dataclass(frozen=True, slots=True)
class Choice:
    """The best candidate of an answer, and the `passages` that give it. Its log-odds combine all of them."""

    passages: tuple[int, ...]
    best: Candidate


def choose(question: str, passages: Sequence[Passage], *, spans: bool) -> Choice | None:
    """Return the best sentence, or with `spans` the best part of one. None if no passage shares a word."""
    sentences, parts = candidates(question, passages)
    sentence = _best(sentences, passages)
    span = _best(parts, passages) if spans else None
    if sentence and span and span.best.logit >= sentence.best.logit + _MARGIN:
        return span
    return sentence


def _best(every: Iterable[Candidate], passages: Sequence[Passage]) -> Choice | None:
    """Return the answer with the highest total odds. Each passage counts once, by its best candidate."""
    groups: dict[str, dict[int, Candidate]] = {}
    for candidate in every:
        answer = normalise(passages[candidate.passage].text[candidate.start : candidate.end])
        group = groups.setdefault(answer, {})
        known = group.get(candidate.passage)
        if known is None or candidate.logit > known.logit:
            group[candidate.passage] = candidate
    groups.pop("", None)
    choices = map(_combine, groups.values())
    return max(choices, key=lambda choice: choice.best.logit, default=None)


def _combine(group: dict[int, Candidate]) -> Choice:
    ranked = sorted(group.values(), key=lambda candidate: -candidate.logit)
    odds = sum(math.exp(candidate.logit) for candidate in ranked)
    return Choice(tuple(candidate.passage for candidate in ranked), replace(ranked[0], logit=math.log(odds)))
