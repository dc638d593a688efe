"""From what passages tell to an answer: the one that they agree on, what speaks for it, and what others say instead."""

from __future__ import annotations

import dataclasses
import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from robust_qa import Passage, Reading
from robust_qa.kit import answer_key

from .told import Fits, Marked, Span, Told, kinds_in, likelihood, seconded, text_of, told_by
from .windows import firsts, head

if TYPE_CHECKING:
    from .engine import Settings

_RIVAL = 0.5  # likelihood from which an answer that other passages give is told, too
_MOST_RIVALS = 3
_LEAST = 1e-4  # support below which there is no difference


@dataclass(frozen=True, slots=True)
class Choice:
    """An answer: its spans, one a passage, likeliest first, and how likely each passage that says the same is right.

    Of equal passages only the first is among them: a copy is no witness.
    """

    spans: tuple[Span, ...]
    support: tuple[float, ...]

    @property
    def features(self) -> tuple[float, float]:
        """What its confidence is made of: the log-odds of the surest passage, and how much more the others say."""
        best = min(max(self.support), 1 - 1e-6)
        return math.log(best / (1 - best)), math.log(sum(self.support) / best)


def chosen(passages: Sequence[Passage], marked: Sequence[Marked], settings: Settings) -> Choice | None:
    """The answer that all passages together support most; None where there is no text.

    Every passage supports an answer with its likeliest span that says the same, or the same in more or fewer words
    ("Obama", "Barack Obama"). Told twice with some doubt is better than told once with a little less; and the less
    sure the surest passage is, the more it counts how many agree, for small likelihoods differ by chance.
    """
    told = _exclusive(_unnamed(seconded(told_by(passages, marked, settings, None), passages, marked, None), marked))
    return _chosen(told, _lent(told))[1] if told else None


def _chosen(told: Told, lent: Mapping[str, list[float]]) -> tuple[str, Choice]:
    """The key of the candidate that is chosen by what it is `lent`, and the choice."""
    power = (1 + max(map(max, lent.values()))) / 2  # a root where nothing is sure, the sum where something is certain
    weight = {key: sum(likely**power for likely in each) for key, each in lent.items()}
    own = {key: sum(span.likely for span in group.values()) for key, group in told.items()}
    key = max(told, key=lambda key: (round(weight[key], 6), own[key]))
    return key, Choice(tuple(sorted(told[key].values(), key=lambda span: -span.likely)), tuple(lent[key]))


def judged(
    passages: Sequence[Passage], marked: Sequence[Marked], settings: Settings, fits: Fits | None = None
) -> list[float]:
    """The likelihood of each passage to hold the answer; 0 without a word. Those of a question are judged together."""
    features = weighed(passages, marked, settings, fits)
    return [likelihood(settings.judge, each) if each else 0.0 for each in features]


def weighed(
    passages: Sequence[Passage], marked: Sequence[Marked], settings: Settings, fits: Fits | None = None
) -> list[tuple[float, float, float] | None]:
    """What speaks for each passage: how well its words fit the question, and whether they are what the others say.

    That is the log of the support of its best candidate, as the model sees it; the share of all support that the best
    has; and whether the passage tells the answer that is chosen. None for a passage without a candidate.
    """
    told = _unnamed(told_by(passages, marked, settings, fits), marked)
    both = _exclusive(_unnamed(seconded(told, passages, marked, fits), marked))
    lent = _lent(both)
    support = {key: sum(each) for key, each in _lent(_exclusive(told)).items()}
    shared = {key: sum(each) for key, each in lent.items()}
    answer = _chosen(both, lent)[0] if both else ""
    telling = {n for key, group in both.items() if _alike(answer, key) for n in group}
    features: list[tuple[float, float, float] | None] = []
    for first, passage in zip(firsts(passages), passages, strict=True):
        text = f" {answer_key(head(passage.title) + passage.text)} "
        held = [key for key, group in both.items() if first in group or f" {key} " in text]
        # Of its own candidates: `both` has some of them as the longer ones that patterns find.
        best = max((much for key, much in support.items() if first in told[key] or f" {key} " in text), default=0.0)
        share = max((shared[key] for key in held), default=0.0) / sum(shared.values()) if held else 0.0
        features.append((math.log(best + _LEAST), share, float(first in telling)) if held else None)
    return features


def _unnamed(told: Told, marked: Sequence[Marked]) -> Told:
    """The candidates that the question does not name.

    Where it asks who, it does not have all of their words. Else they are more than the word for what it asks for, as
    "option" is where it asks which option; unless there are no others. One that offers a choice names the right one.
    """
    question = marked[0][0].question if marked else ""
    asked = set(answer_key(question).split())
    if "or" in asked:
        return told
    if asked & {"who", "whom", "whose"}:
        return {key: group for key, group in told.items() if not asked.issuperset(key.split())}
    kinds = kinds_in(question)
    return {key: group for key, group in told.items() if not kinds.issuperset(key.split())} or told


def _exclusive(told: Told) -> Told:
    """The candidates, of which a passage holds one right at most: what is unlike a likelier one is left its rest."""
    held: dict[int, list[tuple[float, str]]] = defaultdict(list)
    for key, group in told.items():
        for passage, span in group.items():
            held[passage].append((span.likely, key))

    def rest(span: Span, key: str) -> float:
        unlike = [likely for likely, other in held[span.passage] if likely > span.likely and not _alike(key, other)]
        return min(span.likely, 1 - max(unlike, default=0.0))

    return {
        key: {passage: dataclasses.replace(span, likely=rest(span, key)) for passage, span in group.items()}
        for key, group in told.items()
    }


def _lent(told: Told) -> dict[str, list[float]]:
    """Of each candidate the likelihoods that the passages lend it, one a passage that says the same.

    Those that say more lend no more than one that says just this: "old" is no age, though it is in "forty years old"
    and in "fifty years old".
    """
    every = {}
    for key, own in told.items():
        most = max(span.likely for span in own.values())
        lent: dict[int, float] = {}
        for other, group in told.items():
            if _alike(key, other):
                for passage, span in group.items():
                    lends = min(span.likely, most) if len(other) > len(key) else span.likely
                    lent[passage] = max(lent.get(passage, 0.0), lends)
        every[key] = list(lent.values())
    return every


def _alike(one: str, other: str) -> bool:
    """Whether two answers in normal form say the same, be it in more or fewer words."""
    return f" {one} " in f" {other} " or f" {other} " in f" {one} "


def _rivals(passages: Sequence[Passage], told: Told, key: str) -> list[Choice]:
    """What passages that do not tell `key` tell instead, likelier right than not by these alone; likeliest first."""
    best: dict[int, tuple[float, str]] = {}
    for other, group in told.items():
        for n, span in group.items():
            best[n] = max(best.get(n, (0.0, "")), (span.likely, other))
    telling = {n for n, passage in enumerate(passages) if f" {key} " in f" {answer_key(passage.text)} "}
    telling |= {n for n, (_, other) in best.items() if _compatible(key, other)}
    found: list[tuple[str, Choice]] = []
    for other, group in sorted(told.items(), key=lambda item: -max(span.likely for span in item[1].values())):
        apart = sorted((span for n, span in group.items() if n not in telling), key=lambda span: -span.likely)
        named = (key, *(one for one, _ in found))
        if apart and apart[0].likely >= _RIVAL and not any(_compatible(other, one) for one in named):
            found.append((other, Choice(tuple(apart), tuple(span.likely for span in apart))))
    return [choice for _, choice in found[:_MOST_RIVALS]]


def _compatible(one: str, other: str) -> bool:
    """Whether two answers need not contradict each other: the words of one are among the other's, or run together."""
    fewer, more = sorted((set(one.split()), set(other.split())), key=len)
    return fewer <= more or one.replace(" ", "") == other.replace(" ", "")


def choose(
    passages: Sequence[Passage],
    marked: Sequence[Marked],
    settings: Settings,
    threshold: float,
    fits: Fits | None = None,
) -> Reading:
    """The reading of `passages`: the chosen answer, its places and its rivals, or None below `threshold`."""
    told = seconded(told_by(passages, marked, settings, fits), passages, marked, fits)
    confidence = 0.0
    # A question that asks who seldom names them. Where nothing else will do it may: an eponymous album's artist, say.
    for named in map(_exclusive, filter(None, (_unnamed(told, marked), told))):
        key, choice = _chosen(named, _lent(named))
        confidence = likelihood(settings.answer, choice.features)
        if confidence >= threshold:
            rivals = tuple(  # of two answers one is right at most
                _reading(passages, rival, min(likelihood(settings.answer, rival.features), 1 - confidence))
                for rival in _rivals(passages, named, key)
            )
            return dataclasses.replace(_reading(passages, choice, confidence), rivals=rivals)
    return Reading(None, score=1 - confidence)


def _reading(passages: Sequence[Passage], choice: Choice, confidence: float) -> Reading:
    """The answer of `choice`, in one line as quotes are, with its places, in copies of its passages, too."""
    text = " ".join(text_of(passages[choice.spans[0].passage], choice.spans[0]).split())
    first = firsts(passages)
    places = {
        n: _place(passages[n], span, text_of(passages[at], span))
        for span in choice.spans
        for n, at in enumerate(first)
        if at == span.passage
    }
    start, end = next(iter(places.values()))
    starts = tuple(start for start, _ in places.values())
    return Reading(text, score=confidence, passages=tuple(places), start=start, end=end, places=starts)


def _place(passage: Passage, span: Span, words: str) -> tuple[int, int] | tuple[None, None]:
    """Where the `words` of `span` stand in the text; those of the title, or in a copy with other spaces, by search."""
    start, end = span.start - span.shift, span.end - span.shift
    if start >= 0 and passage.text[start:end] == words:
        return start, end
    spaced = r"\s+".join(map(re.escape, words.split()))
    match = re.search(rf"(?<!\w){spaced}(?!\w)", passage.text)
    return match.span() if match else (None, None)
