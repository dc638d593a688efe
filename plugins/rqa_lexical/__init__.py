"""The reader and the evaluator `lexical`: shared words of question and passage, without a model.

The reader ranks sentences and extracts short answers to some kinds of questions (robust_qa/english). It prefers answers
of several passages (choice.py). It does not infer, combine passages or understand paraphrases. In languages other than
English it returns sentences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from robust_qa import Passage, Reading, hookimpl

if TYPE_CHECKING:
    from robust_qa import Registry


class Lexical:
    """Returns the sentence, or the few words in it, that best answers a question."""

    cached = False  # reading is faster than a cache lookup

    @dataclass
    class Options:
        span: Literal["auto", "sentence"] = (
            "auto"  # "auto": a few words if they are safe; "sentence": always a sentence
        )
        # minimum confidence of an answer
        threshold: Annotated[float, Meta(ge=0, le=1)] = 0.05

    def __init__(self, options: Options) -> None:
        # A lazy import, because compiling the patterns would slow down `rqa --version`.
        from .choice import choose

        self._choose = choose
        self._spans = options.span == "auto"
        self._threshold = options.threshold

    def read(self, question: str, passages: Sequence[Passage]) -> Reading:
        """Return the answer in one line, its offsets and the passages that agree, or None below the threshold.

        The score is the share of right answers among training questions with equal evidence. For None it is 1 minus
        the score of the best answer.
        """
        choice = self._choose(question, passages, spans=self._spans)
        if choice is None:
            return Reading(None, score=1.0)
        best = choice.best
        if best.likely < self._threshold:
            return Reading(None, score=1 - best.likely)
        return Reading(
            " ".join(passages[best.passage].text[best.start : best.end].split()),
            score=best.likely,
            passages=choice.passages,
            start=best.start,
            end=best.end,
        )


class Overlap:
    """Scores texts by the share of the question's words that they contain."""

    cached = False  # counting is faster than a cache lookup

    # On SQuAD's training questions, both thresholds are right in five of six cases.
    upper = 0.33  # two of three words
    lower = -0.34  # less than one of three words

    def __init__(self) -> None:
        from robust_qa.english import content_terms  # lazy, as above

        self._terms = content_terms

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return for each text 2 * share - 1, with the share of the question's stems in it, without stopwords.

        A question of stopwords only scores -1.
        """
        wanted = frozenset(self._terms(question))
        if not wanted:
            return [-1.0] * len(texts)
        return [2 * len(wanted.intersection(self._terms(text))) / len(wanted) - 1 for text in texts]


@hookimpl
def rqa_register(registry: Registry) -> None:
    registry.reader("lexical", Lexical, rank=10, summary="finds answers by shared words; needs no model")
    registry.evaluator("lexical", Overlap, rank=1, summary="scores texts by shared words; needs no model")
