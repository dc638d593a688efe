"""Cascade: a cheap step answers the questions that it is sure of, and the next one is asked about the others.

After Chen, Zaharia and Zou, "FrugalGPT: How to Use Large Language Models While Reducing Cost and Improving
Performance", 2023. Each step is a strategy, possibly with a reader of its own.

Without steps it is the default with a language model: the packaged reader answers what it is sure of and no source
disputes, and the model is asked once about the rest. Its answer is then a claim to check.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from robust_qa import Answer, Checked, Position, Registry, hookimpl
from robust_qa.kit import contains_words

if TYPE_CHECKING:
    from robust_qa import Passage, Toolbox

_READER, _MODEL = "corroborate:embedded", "rag"  # the steps by default
_BOUND = 0.75

_Share = Annotated[float, Meta(ge=0, le=1)]


class Cascade:
    """Asks cheap strategies first, and expensive ones only if those are not sure."""

    needs = frozenset({"retrieve", "generate"})

    @dataclass
    class Options:
        # strategies, the cheapest first, each with a reader if it is not the default one: "rag:small"; default: the
        # packaged reader, and the language model if that is not sure
        steps: list[str] = field(default_factory=list)
        bounds: list[_Share] | None = None  # least confidence to answer with, of all steps but the last; default: 0.75

        def __post_init__(self) -> None:
            count = len(self.steps) - 1
            if self.steps and self.bounds is not None and len(self.bounds) != count:
                raise ValueError(f"has {len(self.bounds)} `bounds` for {len(self.steps)} `steps`: it needs {count}")

    def __init__(self, options: Options) -> None:
        self.options = options
        self.hands_to = tuple(options.steps) or (_READER, _MODEL)
        if options.steps:
            self.needs = frozenset({"retrieve"})

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        """Ask one step after the other until one is sure enough of its answer, or is the last."""
        passages = await toolbox.retrieve(question)
        if not self.options.steps:
            return await self._reader_first(passages, toolbox)
        asked = []
        for number, step in enumerate(self.options.steps):
            found = await toolbox.answer_with(step, passages)
            confidence = _confidence(found)
            asked.append({"step": step, "answer": found.text, "confidence": confidence})
            if number == len(self.options.steps) - 1:
                break
            if confidence is not None and confidence >= self._bound(number):
                break
            toolbox.note(f"{step} is not sure, so the next step is asked", confidence=confidence)
        named = f"Step {len(asked)} of {len(self.options.steps)}, {step}."
        return replace(
            found,
            confidence=confidence,
            reason=f"{named} {found.reason}".strip(),
            details={"step": step, "asked": asked, "details": dict(found.details)},
        )

    async def _reader_first(self, passages: Sequence[Passage], toolbox: Toolbox) -> Answer:
        """Return the reader's answer if it is sure and undisputed, else what the reader and the model say together."""
        read = await toolbox.answer_with(_READER, passages)
        if read.text is not None and not read.conflicts:
            return replace(read, reason=f"{read.reason} Sure without the language model.".strip())
        found = read.text or (read.probable.text if read.probable else None)
        toolbox.note("the reader is not sure, or sources disagree: asking the language model", likeliest=found)
        return together(read, await toolbox.check(await toolbox.answer_with(_MODEL, passages)))

    def _bound(self, number: int) -> float:
        return _BOUND if self.options.bounds is None else self.options.bounds[number]


def _confidence(answer: Answer) -> float | None:
    """Return the confidence, None for an abstention. A step that gives no confidence counts as sure."""
    if answer.text is None:
        return None
    return 1.0 if answer.confidence is None else answer.confidence


def together(read: Answer, asked: Answer) -> Answer:
    """Return the model's answer, unless the reader has a likely one and the sources do not support the model's.

    The model is no source, so it decides a dispute only if all that it says is supported and nothing contradicts it.
    """
    likeliest = read.probable
    if read.text is not None:
        likeliest = Position(read.text, read.confidence, read.citations)
        against = tuple(cited for side in read.conflicts if not side.chosen for cited in side.citations)
        read = replace(read, checks=(Checked(read.text, "disputed", None, "", read.citations, against),))
    if asked.text is None:
        return read if likeliest or read.conflicts else replace(read, reason=asked.reason)
    if likeliest is None or all(each.verdict == "supported" and each.holds for each in asked.checks):
        sides = tuple(replace(side, chosen=_same(side.text, asked.text)) for side in read.conflicts)
        return replace(asked, conflicts=asked.conflicts or (sides if any(side.chosen for side in sides) else ()))
    if not _same(likeliest.text, asked.text) or asked.standing not in ("supported", "disputed"):
        standing = f" ({asked.standing})" if asked.unsupported else ""
        return replace(read, reason=f"{read.reason} The language model says “{asked.text}”{standing}.".strip())
    conflicts = tuple(replace(side, chosen=side.text == likeliest.text) for side in read.conflicts)
    citations = tuple(dict.fromkeys((*likeliest.citations, *asked.citations)))
    sides = conflicts or asked.conflicts
    return replace(asked, confidence=likeliest.confidence, citations=citations, conflicts=sides)


def _same(one: str, other: str) -> bool:
    """Return whether one answer has all words of the other: "1871" and "It was built in 1871"."""
    return contains_words(one, other) or contains_words(other, one)


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the plugin."""
    registry.strategy(
        "cascade",
        "rqa_cascade:Cascade",
        rank=40,
        needs={"retrieve", "generate"},
        summary="answers without a language model if it is sure, else asks one and checks what it says",
    )
