"""From evidence to an answer: what each source says, the likeliest of them, and its rivals."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from robust_qa import PROBABLE, Passage, Reading
from robust_qa.kit import answer_key, without_mark
from rqa_claims import Claim, may_agree, says_same, source_of

from .evidence import Evidence, Part, likely_parts, logistic, without
from .spans import Span, text_of
from .windows import firsts

if TYPE_CHECKING:
    from .engine import Settings

_MOST_RIVALS = 3
_LEAST_LOGIT = -12.0  # of a part that is not among the most relevant

Answers = Mapping[str, Mapping[int, Span]]  # the best span of each answer, by `answer_key` and by passage


@dataclass(frozen=True, slots=True)
class Choice:
    """An answer and its spans, one for each passage that has it, best first.

    `odds` is the log-odds of its best span against "no answer" and all other answers.
    """

    key: str
    spans: tuple[Span, ...]
    odds: float

    def confidence(self, settings: Settings) -> float:
        """Return the probability that the answer is right."""
        bias, odds = settings.answer
        return logistic(bias + odds * self.odds)


def choose(evidence: Evidence, settings: Settings) -> Choice | None:
    """Return the answer that the passages of one source support most, None if there is no text.

    A passage supports an answer with its best span that says the same in more or fewer words ("Obama", "Barack
    Obama"), times the probability that the part around it is relevant.
    """
    answers = _answers(evidence)
    if not answers:
        return None
    parts = likely_parts(settings, evidence)

    def relevance(span: Span) -> float:
        return max((part.logit for part in parts if _in_part(span, part)), default=_LEAST_LOGIT)

    spans = [span for own in answers.values() for span in own.values()]
    total = _log_sum([0.0, *(span.margin for span in spans)])
    voices = {id(span): math.exp(span.margin - total) * logistic(relevance(span)) for span in spans}

    def support(key: str) -> tuple[float, float]:
        voice = max(voices[id(span)] for other in _alike_keys(answers, key) for span in answers[other].values())
        return round(voice, 3), max(span.margin + relevance(span) for span in answers[key].values())

    return _choice(answers, max(answers, key=support))


def choose_each(evidence: Evidence, settings: Settings) -> list[Choice]:
    """Return what each source answers when it is read alone, likeliest first."""
    sources: dict[str, set[int]] = defaultdict(set)
    for number in evidence.relevant:
        sources[source_of(evidence.passages[number])].add(number)
    own = (choose(without(evidence, evidence.relevant.keys() - numbers), settings) for numbers in sources.values())
    return sorted((choice for choice in own if choice is not None), key=lambda choice: -choice.odds)


def read(evidence: Evidence, settings: Settings, threshold: float) -> Reading:
    """Return the likeliest answer of a single source with its places, or none if its confidence is below `threshold`.

    Rivals are probable, and say something else about the same thing. Without an answer, they begin with the likeliest.
    """
    choices = choose_each(evidence, settings)
    if not choices:
        return Reading(None)
    best, *others = choices
    passages = evidence.passages
    alike = [other for other in others if says_same(best.key, other.key)]
    chosen = _reading(
        passages, replace(best, spans=tuple(span for each in (best, *alike) for span in each.spans)), settings
    )
    claim, told = Claim.of(chosen, passages), [best.key]
    rivals = []
    for other in others:
        if other.confidence(settings) < PROBABLE or any(may_agree(other.key, key) for key in told):
            continue
        rival = _reading(passages, other, settings)
        if claim.contradicts(Claim.of(rival, passages)):
            rivals.append(rival)
            told.append(other.key)
    chosen, *rivals = _shared([chosen, *rivals[:_MOST_RIVALS]])
    if (chosen.score or 0) >= threshold:
        return replace(chosen, rivals=tuple(rivals))
    return Reading(None, rivals=(chosen, *rivals))


def _shared(sides: Sequence[Reading]) -> list[Reading]:
    """Return the sides with the confidence divided among them and no answer, because at most one is right."""
    scores = [side.score or 0.0 for side in sides]
    total = 1 - max(scores) + sum(scores)
    return [replace(side, score=score / total) for side, score in zip(sides, scores, strict=True)]


def _answers(evidence: Evidence) -> Answers:
    found: dict[str, dict[int, Span]] = defaultdict(dict)
    for span in sorted(evidence.spans, key=lambda span: -span.margin):
        text = text_of(evidence.passages[span.passage])[span.start : span.end]
        if not span.astray and (key := answer_key(text)):
            found[key].setdefault(span.passage, span)
    return found


def _choice(answers: Answers, key: str) -> Choice:
    """Return the answer `key` with what speaks for it."""
    alike = _alike_keys(answers, key)
    best = max(span.margin for span in answers[key].values())
    others = (span.margin for other, spans in answers.items() if other not in alike for span in spans.values())
    own = sorted(answers[key].values(), key=lambda span: -span.margin)
    return Choice(key, tuple(own), best - _log_sum([0.0, *others]))


def _in_part(span: Span, part: Part) -> bool:
    """Whether `span` is in `part`. A title belongs to all parts of its passage."""
    return span.passage == part.passage and (span.place is None or part.start <= span.place[0] < part.end)


def _alike_keys(answers: Answers, key: str) -> set[str]:
    """Return the answers that say the same as `key` in more or fewer words."""
    return {other for other in answers if says_same(key, other)}


def _log_sum(values: Iterable[float]) -> float:
    """Return the log of the sum of the exponentials of `values`."""
    found = list(values)
    most = max(found)
    return most + math.log(sum(math.exp(value - most) for value in found))


def _reading(passages: Sequence[Passage], choice: Choice, settings: Settings) -> Reading:
    """Return the answer of `choice` as one line, with its places, also in copies of its passages."""
    best = choice.spans[0]
    text = " ".join(without_mark(text_of(passages[best.passage])[best.start : best.end]).split())
    first = firsts(passages)
    places = {
        number: _place(passages[number], span, text_of(passages[at])[span.start : span.end])
        for span in choice.spans
        for number, at in enumerate(first)
        if at == span.passage
    }
    start, end = next(iter(places.values()))
    starts = tuple(start for start, _ in places.values())
    return Reading(text, score=choice.confidence(settings), passages=tuple(places), start=start, end=end, places=starts)


def _place(passage: Passage, span: Span, words: str) -> tuple[int, int] | tuple[None, None]:
    """Return the characters of `span` in the text, found by search for the title's and in a copy with other spaces."""
    if span.place is not None and passage.text[slice(*span.place)] == words:
        return span.place
    spaced = r"\s+".join(map(re.escape, words.split()))
    match = re.search(rf"(?<!\w){spaced}(?!\w)", passage.text)
    return match.span() if match else (None, None)
