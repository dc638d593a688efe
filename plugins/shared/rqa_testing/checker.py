"""The conformance checks of checkers, over answers that are right, wrong, odd or missing."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import replace

from robust_qa import Answer, Judgment, Passage, Position, Question
from robust_qa.answering import cited
from robust_qa.kit import cite, is_from, words

from .bench import toolbox
from .fakes import OverlapEvaluator, ScriptedModel, StaticRetriever
from .suite import ODD_TEXTS, PASSAGES, QUESTION, Failed, Subject, Suite, described, expect, fits

SUITE = Suite()
RIGHT = Answer("Paris is the capital of France.", 0.9, (cite(PASSAGES[0], "Paris"),))
ANSWERS = (
    RIGHT,
    Answer("Berlin is the capital of France, and 7,000 moles live there."),
    Answer("Marseille", conflicts=(Position("Marseille", chosen=True), Position("Paris", chosen=False))),
)
ABSTENTION = Answer(None, reason="The passages do not say.")


@SUITE.behaviour("it has a method `async def check(answer, toolbox)`")
async def _shape(subject: Subject) -> None:
    subject.has("check")
    expect(inspect.iscoroutinefunction(subject.component.check), "`check` is not `async def`")


@SUITE.behaviour("it returns an Answer with the same text")
async def _text(subject: Subject) -> None:
    for answer in (*ANSWERS, ABSTENTION):
        for passages in (PASSAGES, ()):
            found = await _checked(subject, answer, passages)
            same = found.text == answer.text or words(found.text or "") == words(answer.text or "") != []
            expect(same, f"the text {answer.text!r} became {found.text!r}")


@SUITE.behaviour("it cites only passages that were retrieved")
async def _citations(subject: Subject) -> None:
    for answer in ANSWERS:
        for citation in cited(await _checked(subject, answer)):
            quoted = citation.origin == "memory" or any(is_from(citation, passage) for passage in PASSAGES)
            expect(quoted, f"it cites {citation.quote!r} of {citation.id!r}, which was not retrieved")


@SUITE.behaviour("it does not set the host's fields")
async def _fields(subject: Subject) -> None:
    found = await _checked(subject, RIGHT)
    changed = [name for name in ("question", "strategy", "usage", "seconds", "trace") if getattr(found, name)]
    expect(found.usage.calls == 0 and changed in ([], ["usage"]), f"it set {', '.join(changed)}")


@SUITE.behaviour("it calls no language model")
async def _no_calls(subject: Subject) -> None:
    model = ScriptedModel("Paris")
    for answer in ANSWERS:
        await _checked(subject, answer, model=model)
    expect(not model.calls, f"it called the model {len(model.calls)} times")


@SUITE.behaviour("it accepts any text in answers, passages and questions")
async def _any_text(subject: Subject) -> None:
    odd = tuple(Passage(text, id=what) for what, text in ODD_TEXTS)
    await _checked(subject, RIGHT, odd, case="odd passages")
    for what, text in ODD_TEXTS:
        if text.strip():
            await _checked(subject, replace(RIGHT, text=text), case=f"{what} as answer")
        await _checked(subject, RIGHT, question=text or QUESTION, case=f"{what} as question")


class _Judge(OverlapEvaluator):
    """An evaluator that also judges claims by their words."""

    async def judge(self, claim: str, texts: list[str]) -> list[Judgment]:
        scores = await self.score(claim, texts)
        return [Judgment(max(score, 0.0), 0.0) for score in scores]


async def _checked(
    subject: Subject,
    answer: Answer,
    passages: Sequence[Passage] = PASSAGES,
    *,
    question: str = QUESTION,
    model: ScriptedModel | None = None,
    case: str = "an answer",
) -> Answer:
    """The answer, checked without an evaluator that judges claims, and then with one. Fails unless both are valid."""
    for evaluator in (OverlapEvaluator(), _Judge()):
        tools = toolbox(
            Question(question),
            retriever=StaticRetriever(passages),
            reader=model or ScriptedModel("Paris"),
            evaluator=evaluator,
        )
        await tools.retrieve()
        try:
            found = await subject.component.check(answer, tools)
        except Exception as error:
            raise Failed(f"{case} raised {described(error)}") from error
        fits(found, Answer, case=f"{case}: ")
    checked: Answer = found
    return checked
