"""A gate for any strategy: it answers if the passages suffice and the answer is sure, else it searches on or abstains.

Joren et al., "Sufficient Context: A New Lens on Retrieval Augmented Generation Systems", ICLR 2025, Section 5. Models
are often right although the passages do not suffice, so the verdict of an autorater only lowers the confidence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from robust_qa import Answer, Expression, Passage, Position, Registry, hookimpl
from robust_qa.kit import with_title
from rqa_prompts import Form, Labels, Prompter, object_of, one_line, parse_object

if TYPE_CHECKING:
    from robust_qa import Toolbox

_Share = Annotated[float, Meta(ge=0, le=1)]


class Sufficient:
    """Lets another strategy answer, and abstains or searches on if the passages do not suffice for a sure answer."""

    needs = frozenset({"retrieve", "score"})

    @dataclass
    class Options:
        then: str = "rag"  # strategy that answers
        search: Expression | None = None  # retriever expression to search on with; default: no search
        least: _Share = 0.5  # confidence below which it searches on or abstains
        discount: _Share = 0.5  # factor of the confidence if the passages do not suffice
        rater: str | None = (
            None  # reader that judges whether they suffice, such as a cheaper one; default: the answer's
        )
        # evaluator that judges instead of a language model; default, without one: the configured evaluator
        evaluator: str | None = None
        prompts: dict[str, Path] = field(default_factory=dict)  # files that replace prompts, by name

    def __init__(self, options: Options) -> None:
        self.options = options
        self.prompter = Prompter(Path(__file__).with_name("prompts"), options)
        self.hands_to = (options.then,)
        self.read_by = (options.rater,) if options.rater else ()
        self.scored_by = (options.evaluator,) if options.evaluator else ()

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        """Answer with `then`, once more after a search if one is configured. Abstains below the confidence `least`."""
        passages = await toolbox.retrieve(question)
        answer, rating = await self._rated(question, toolbox, passages)
        searched = False
        if not self._is_sure(answer, rating) and self.options.search:
            known = {passage.text for passage in passages}
            found = await toolbox.retrieve(question, expression=self.options.search)
            if new := [passage for passage in found if passage.text not in known]:
                searched = True
                answer, rating = await self._rated(question, toolbox, [*passages, *new])
        return self._gated(answer, rating, searched=searched)

    async def _rated(self, question: str, toolbox: Toolbox, passages: Sequence[Passage]) -> tuple[Answer, Rating]:
        """Return the answer of `then` from the passages, and whether they suffice for one."""
        answer = await toolbox.answer_with(self.options.then, passages)
        if answer.text is None:
            return answer, Rating()
        if self.options.rater or (toolbox.generative and not self.options.evaluator):
            reply = await self.prompter.ask(toolbox, "rate", passages, form=RATING, reader=self.options.rater)
            rating = parse_rating(reply.text)
        else:
            rating = Rating(await self._scored(question, toolbox, passages))
        given_up = {} if self._is_sure(answer, rating) else {"reply": ""}
        toolbox.note("whether the passages suffice", sufficient=rating.sufficient, **given_up)
        return answer, rating

    async def _scored(self, question: str, toolbox: Toolbox, passages: Sequence[Passage]) -> bool:
        """Return whether the evaluator finds the answer in one of the passages."""
        evaluator = self.options.evaluator
        titled = toolbox.titles(evaluator)
        texts = [with_title(passage.title, passage.text) if titled else passage.text for passage in passages]
        upper, _ = toolbox.thresholds(evaluator) or (0.0, 0.0)
        return max(await toolbox.score(question, texts, evaluator=evaluator), default=-1.0) >= upper

    def _confidence(self, answer: Answer, rating: Rating) -> float | None:
        """Return the confidence of the answer, lowered if the passages do not suffice. None if `then` gives none."""
        if answer.confidence is None:
            return None
        return answer.confidence if rating.sufficient else answer.confidence * self.options.discount

    def _is_sure(self, answer: Answer, rating: Rating) -> bool:
        """Return whether to give the answer. A reply that cannot be read is no rating, so it vouches for nothing."""
        if answer.text is None or rating.sufficient is None:
            return False
        confidence = self._confidence(answer, rating)
        return rating.sufficient if confidence is None else confidence >= self.options.least

    def _gated(self, answer: Answer, rating: Rating, *, searched: bool) -> Answer:
        confidence = self._confidence(answer, rating)
        verdict = {"sufficient": rating.sufficient, "missing": rating.missing, "searched": searched}
        details = verdict | {"then": dict(answer.details)}
        if answer.text is None:
            return replace(answer, details=details)
        if self._is_sure(answer, rating):
            return replace(answer, confidence=confidence, details=details)
        reasons = {
            True: "The answer is not sure enough.",
            False: f"The passages do not suffice for a sure answer. {rating.missing}".strip(),
            None: "The model did not say whether the passages suffice.",
        }
        return Answer(
            None,
            conflicts=answer.conflicts,
            reason=reasons[rating.sufficient],
            best_guess=Position(answer.text, confidence, answer.citations),
            details=details,
        )


RATING = Form("rating", object_of(missing={"type": "string", "maxLength": 200}, sufficient={"type": "boolean"}))
_LABELS = Labels(lines=("sufficient",), texts=("missing",), inside=(), outside=("missing", "sufficient"))
_YES_OR_NO = re.compile(r"\W*(?:(yes|true)|(no|false|not))\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Rating:
    """Whether the passages suffice (None if the reply does not say), and what is missing."""

    sufficient: bool | None = None
    missing: str = ""


def parse_rating(reply: str) -> Rating:
    """Return the rating in a reply in either form. It never raises, and leaves out what it cannot read."""
    fields: Mapping[str, Any] = parse_object(reply, "sufficient") or _LABELS.parse(reply)[1]
    word = _YES_OR_NO.match(str(fields.get("sufficient", "")))
    return Rating(bool(word[1]) if word else None, one_line(fields.get("missing")))


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the plugin."""
    registry.strategy(
        "sufficient",
        "rqa_sufficient:Sufficient",
        summary="abstains or searches on if the passages do not suffice for a sure answer",
    )
