"""One answer out of many candidates: the likeliest, counting every passage that gives it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from robust_qa import Passage
from robust_qa.english import Candidate, candidates
from robust_qa.kit import normalise

# By how much a span has to be likelier than its sentence. Where the span would be wrong one time in three, the
# whole sentence is the better answer.
_MARGIN = 0.6


@dataclass(frozen=True, slots=True)
class Choice:
    """An answer where it stands first, with the log-odds of all `passages` that give it."""

    passages: tuple[int, ...]
    best: Candidate


def choose(question: str, passages: Sequence[Passage], *, spans: bool) -> Choice | None:
    """The best answer, a sentence or with `spans` a part of one; None if no passage shares a word."""
    sentences, shorter = candidates(question, passages)
    sentence = _best(sentences, passages)
    span = _best(shorter, passages) if spans else None
    if sentence and span and span.best.logit >= sentence.best.logit + _MARGIN:
        return span
    return sentence


def _best(every: Iterable[Candidate], passages: Sequence[Passage]) -> Choice | None:
    """The answer whose passages together have the highest odds; each counts once, by its best candidate."""
    groups: dict[str, dict[int, Candidate]] = {}
    for candidate in every:
        answer = normalise(passages[candidate.passage].text[candidate.start : candidate.end])
        group = groups.setdefault(answer, {})
        known = group.get(candidate.passage)
        if known is None or candidate.logit > known.logit:
            group[candidate.passage] = candidate
    groups.pop("", None)
    choices = map(_together, groups.values())
    return max(choices, key=lambda choice: choice.best.logit, default=None)


def _together(group: dict[int, Candidate]) -> Choice:
    ranked = sorted(group.values(), key=lambda candidate: -candidate.logit)
    odds = sum(math.exp(candidate.logit) for candidate in ranked)
    return Choice(tuple(candidate.passage for candidate in ranked), replace(ranked[0], logit=math.log(odds)))
