"""The reader and the evaluator `lexical`: shared words of question and passage, without a model.

The reader returns a sentence. It does not infer, combine passages or understand paraphrases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from robust_qa import Passage, Reading, Registry, hookimpl
from robust_qa.kit import content_terms

from .evidence import best_sentence


class Lexical:
    """Returns the sentence that best matches the words of a question."""

    cached = False  # reading is faster than a cache lookup

    @dataclass
    class Options:
        # minimum confidence of an answer
        threshold: Annotated[float, Meta(ge=0, le=1)] = 0.02

    def __init__(self, options: Options) -> None:
        self._threshold = options.threshold

    def read(self, question: str, passages: Sequence[Passage]) -> Reading:
        """Return the best sentence in one line and its offsets, or None below the threshold.

        The score estimates how likely the sentence answers.
        """
        best = best_sentence(question, passages)
        if best is None or best.likely < self._threshold:
            return Reading(None)
        return Reading(
            " ".join(passages[best.passage].text[best.start : best.end].split()),
            score=best.likely,
            passages=(best.passage,),
            start=best.start,
            end=best.end,
        )


class Overlap:
    """Scores texts by the share of the question's words that they contain."""

    cached = False  # counting is faster than a cache lookup

    # On SQuAD's training questions, both thresholds are right in five of six cases.
    upper = 0.33  # two of three words
    lower = -0.34  # less than one of three words

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return for each text 2 * share - 1, with the share of the question's stems in it, without stopwords.

        A question of stopwords only scores -1.
        """
        wanted = frozenset(content_terms(question))
        if not wanted:
            return [-1.0] * len(texts)
        return [2 * len(wanted.intersection(content_terms(text))) / len(wanted) - 1 for text in texts]


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the plugin."""
    registry.reader("lexical", "rqa_lexical:Lexical", rank=10, summary="finds answers by shared words; needs no model")
    registry.evaluator("lexical", "rqa_lexical:Overlap", rank=1, summary="scores texts by shared words; needs no model")
