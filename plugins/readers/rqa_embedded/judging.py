"""The judge: does a text support a claim, contradict it, or leave it open? And does it answer a question yes or no?

A second small encoder reads claim and text together, as in natural language inference (Bowman et al. 2015). How it was
made is in judge/MODEL_CARD.md. A yes-or-no question is a claim: what supports it says yes, what contradicts it says no.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from robust_qa import PROBABLE, Judgment, Passage, Quote, Reading
from robust_qa.kit import closest_texts
from rqa_claims import align, of_the_same

from .engine import JUDGE, Encoder, Recent

if TYPE_CHECKING:
    from .engine import Floats

_UNITS = 16  # of a question's passages that are judged
_WHOLE = 4  # passages judged as a whole
_UNREAD = Judgment(0.0, 0.0)


class Settings(msgspec.Struct, frozen=True):
    """The content of judge.json. Probabilities are the softmax of the logits divided by `temperature`."""

    length: int  # tokens of a window
    claim: int  # of them, of the claim at most
    temperature: float
    # of a question: the answer's probability is the logistic function of these times 1, the log-odds of the better one
    # of yes and no, and the log-odds between the two
    answer: tuple[float, float, float]
    identity: str = ""  # of the weights and these settings


class Judge(Encoder):
    """Judges claims and questions against texts."""

    settings: Settings

    def _load(self) -> None:
        self.settings = msgspec.json.decode((self.folder / "judge.json").read_bytes(), type=Settings)
        self._recent: Recent[tuple[str, str], Judgment] = Recent()

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Judgment]:
        """Return the probabilities of each (claim, text). A text is cut at the length of a window.

        The encoder judges the words, each pair once, and only where a verdict depends on them; what numbers, dates and
        measures say of each other is worked out.
        """
        aligned = [align(*pair) for pair in pairs]
        read = [(each.claim, each.text) for each in aligned if each.depends_on_words]
        judged = iter(self._recent.get(read, read, self._judge_words))
        return [each.weighed(next(judged) if each.depends_on_words else _UNREAD) for each in aligned]

    def _judge_words(self, pairs: Sequence[tuple[str, str]]) -> list[Judgment]:
        begin, end = self.ends
        windows = []
        for claim, text in pairs:
            first = [begin, *self.tokens(claim)[0][: self.settings.claim], end]
            second = [*self.tokens(text)[0][: self.settings.length - len(first) - 1], end]
            windows.append((first + second, [0] * len(first) + [1] * len(second)))
        return self._map(windows, self._judgment)

    def _judgment(self, hidden: Floats) -> Judgment:
        logits = (hidden[0] @ self._weight.T + self._bias) / self.settings.temperature
        odds = [math.exp(each) for each in logits - logits.max()]
        return Judgment(odds[0] / sum(odds), odds[1] / sum(odds))


@lru_cache(maxsize=1)
def packaged(threads: int) -> Judge:
    """Return the packaged judge, which readers and evaluators share."""
    return Judge(JUDGE, threads)


@dataclass(frozen=True, slots=True)
class _Verdict:
    """What one text says, as log-odds of yes and of no. `unit` is its sentence to quote."""

    unit: Quote
    yes: float
    no: float


def read_many(judge: Judge, requests: Sequence[tuple[str, Sequence[Passage]]], threshold: float) -> list[Reading]:
    """Return "Yes" or "No" for each (question, passages), with the sentence that says so, computed as one batch.

    If neither has a probability of `threshold`, the likelier one is the rival of an abstention if it is probable.
    """
    texts = [of_the_same(request[0], closest_texts(*request, _UNITS, _WHOLE), request[1]) for request in requests]
    pairs = [(question, text) for (question, _), own in zip(requests, texts, strict=True) for _, text in own]
    judgments = iter(judge.judge(pairs))
    said = [[_Verdict(unit, *map(_log_odds, next(judgments))) for unit, _ in own] for own in texts]
    return [_reading(own, judge.settings.answer, threshold) for own in said]


def _reading(said: Sequence[_Verdict], weights: tuple[float, float, float], threshold: float) -> Reading:
    if not said:
        return Reading(None, reason="The passages do not hold an answer.")
    yes, no = max(said, key=lambda each: each.yes), max(said, key=lambda each: each.no)
    text, best, odds, against = ("Yes", yes, yes.yes, no.no) if yes.yes >= no.no else ("No", no, no.no, yes.yes)
    bias, own, between = weights
    score = 1 / (1 + math.exp(-(bias + own * odds + between * (odds - against))))
    found = Reading(text, score, (best.unit.passage,), best.unit.start, best.unit.end)
    if score >= threshold:
        return found
    # Many texts that say little are no voices together, so a source without a probable answer has none.
    rivals = (found,) if score >= PROBABLE else ()
    return Reading(None, reason="The passages do not say yes or no clearly.", rivals=rivals)


def _log_odds(probability: float) -> float:
    kept = min(max(probability, 1e-4), 1 - 1e-4)
    return math.log(kept / (1 - kept))
