"""The reader `lexical`: answers from passages by the words they share with the question, without a model.

Beside it stands the evaluator of that name, which judges passages so (overlap.py). Sentences are weighed against the
question, questions of some kinds get a short answer out of them (robust_qa/english), and answers that several passages
give are preferred (choice.py). It reads what the passages say word for word: no inference, no second hop, no
paraphrase beyond a few word forms. In languages other than English it finds sentences, and as a rule no short answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from robust_qa import Passage, Reading, hookimpl

from .overlap import Overlap

if TYPE_CHECKING:
    from robust_qa import Registry


class Lexical:
    """Finds the sentence, or the few words in it, that answers a question best; keeps nothing."""

    cached = False  # reading is quicker than looking up what was read

    @dataclass
    class Options:
        span: Literal["auto", "sentence"] = "auto"  # "auto": a few words where that is safe; "sentence": never
        # confidence below which the answer counts as not in the passages
        threshold: Annotated[float, Meta(ge=0, le=1)] = 0.05

    def __init__(self, options: Options) -> None:
        # Here, not above: compiling the patterns takes longer than `rqa --version` may.
        from .choice import choose

        self._choose = choose
        self._spans = options.span == "auto"
        self._threshold = options.threshold

    def read(self, question: str, passages: Sequence[Passage]) -> Reading:
        """The answer in one line, its place and the passages that agree on it; None where none reaches the threshold.

        The score is the share of right answers among training questions with such evidence; for None, one
        minus that of the best answer there was.
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


@hookimpl
def rqa_register(registry: Registry) -> None:
    registry.reader("lexical", Lexical, rank=10, summary="finds answers by shared words; needs no model")
    registry.evaluator("lexical", Overlap, rank=1, summary="scores texts by shared words; needs no model")
