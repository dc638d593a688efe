"""One answer out of many candidates: the likeliest, counting every passage that gives it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from robust_qa import Passage, normalise

from .evidence import Evidence, weigh
from .question import analyse
from .spans import find

_READ = 8  # sentences that are looked into for short answers
# By how much a span has to be likelier than its sentence. Where the span would be wrong one time in three, the
# whole sentence is the better answer.
_MARGIN = 0.6
_LACKING = 1.5  # taken from a sentence without anything of the kind asked for: without a date it hardly says when
# Log-odds to confidence: fitted like the weights of evidence.py, on each question twice, with and without the
# passage that has its answer.
_SLOPE, _OFFSET = 0.75, 0.4


@dataclass(frozen=True, slots=True)
class Choice:
    """An answer at its offsets in the first of `passages`; the others give the same answer."""

    passages: tuple[int, ...]
    start: int
    end: int
    logit: float

    @property
    def confidence(self) -> float:
        """How likely the answer is right, in (0, 1)."""
        return 1 / (1 + math.exp(-(_SLOPE * self.logit + _OFFSET)))


def choose(question: str, passages: Sequence[Passage], *, spans: bool) -> Choice | None:
    """The best answer, a sentence or with `spans` a part of one; None if no passage shares a word."""
    query = analyse(question)
    sentences: list[Evidence] = []
    shorter: list[Evidence] = []
    for held in weigh(query, passages)[:_READ]:
        found = find(query, passages[held.passage].text, held.start, held.end)
        lacking = found is not None and not found
        sentences.append(replace(held, logit=held.logit - _LACKING) if lacking else held)
        shorter.extend(Evidence(held.passage, span.start, span.end, held.logit + span.trust) for span in found or ())
    sentence = _best(sentences, passages)
    span = _best(shorter, passages) if spans else None
    if sentence and span and span.logit >= sentence.logit + _MARGIN:
        return span
    return sentence


def _best(candidates: Iterable[Evidence], passages: Sequence[Passage]) -> Choice | None:
    """The answer whose passages together have the highest odds; each counts once, by its best candidate."""
    groups: dict[str, dict[int, Evidence]] = {}
    for candidate in candidates:
        answer = normalise(passages[candidate.passage].text[candidate.start : candidate.end])
        group = groups.setdefault(answer, {})
        known = group.get(candidate.passage)
        if known is None or candidate.logit > known.logit:
            group[candidate.passage] = candidate
    groups.pop("", None)
    choices = map(_together, groups.values())
    return max(choices, key=lambda choice: choice.logit, default=None)


def _together(group: dict[int, Evidence]) -> Choice:
    ranked = sorted(group.values(), key=lambda candidate: -candidate.logit)
    odds = sum(math.exp(candidate.logit) for candidate in ranked)
    best = ranked[0]
    return Choice(tuple(candidate.passage for candidate in ranked), best.start, best.end, math.log(odds))
