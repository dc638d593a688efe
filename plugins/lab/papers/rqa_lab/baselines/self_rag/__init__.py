"""Self-RAG: the model's reflection tokens request passages and rate the answer after each passage.

Asai et al., "Self-RAG: Learning to Retrieve, Generate, and Critique through Self-Reflection", ICLR 2024. Needs a model
trained to write these tokens. k + 1 calls for k passages, k of them at once; 2 calls if the model wants no passages.

This is the inference for short answers: one segment after each passage, cut where the model requests passages again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from robust_qa import Answer, ContextError, Continuation, Passage
from robust_qa.kit import answer_key, ask_each, cite
from rqa_prompts import says_unknown

from .. import asking
from .reflection import NO_RETRIEVAL, RETRIEVE, Segment, critique, defused, wish

if TYPE_CHECKING:
    from robust_qa import Toolbox

_LONGEST_TITLE = 200  # characters


class SelfRag:
    """Continues after each passage alone, and chooses the best continuation by its reflection tokens."""

    needs = frozenset({"retrieve", "continue_text"})

    @dataclass
    class Options(asking.Options):
        # retrieve passages: adaptive (if the model requests them), always or never
        retrieval: Literal["adaptive", "always", "never"] = "adaptive"
        # probability above which the model's request counts
        threshold: Annotated[float, Meta(ge=0, le=1)] = 0.5
        w_rel: float = 1.0  # weight of the passage's relevance in a segment's score
        w_sup: float = 1.0  # weight of the support by the passage
        w_use: float = 0.5  # weight of the answer's usefulness
        closed: bool = False  # for a fixed set of answers: add up the scores of equal ones
        max_tokens: Annotated[int, Meta(ge=1)] = 100  # maximum tokens of a continuation
        # most likely tokens to request at each position; OpenAI returns at most 5
        alternatives: Annotated[int, Meta(ge=2)] = 20

    def __init__(self, options: Options) -> None:
        self.options = options
        self.prompt = asking.Agent(options, "self_rag").prompts["answer"]

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        """Answer with the best path. Abstains if it is empty or declines."""
        messages = self.prompt.messages({"question": defused(question)})
        prompt = "\n\n".join(message.content for message in messages) + "\n"  # the format of the published models
        wanted, probability = await self._wants(prompt, toolbox)
        passages = await toolbox.retrieve(question) if wanted else []
        if passages:
            over = partial(self._over, prompt, passages, toolbox)
            found = await ask_each(over, range(len(passages)))
            paths = sorted((each for each in found if isinstance(each, Segment)), key=Segment.rank, reverse=True)
        else:
            paths = [self._segment(await self._continue(prompt + NO_RETRIEVAL, toolbox, "from memory"), None)]
        best = self._best(paths)
        scores = [{"score": round(path.score, 3), "text": path.text} for path in paths]
        toolbox.note(
            f"of {len(paths)} paths one with the score {best.score:.3f} is taken", paths=scores, reply=best.text
        )
        details = {"wanted": probability, "retrieved": bool(passages), "paths": [path.listed() for path in paths]}
        if not best.text or (self.options.abstain and says_unknown(best.text)):
            reason = "The language model does not know the answer." if best.text else "The model wrote no answer."
            return Answer(None, reason=reason, details=details)
        citations = (cite(passages[best.passage], best.text),) if best.passage is not None and best.stands else ()
        return Answer(best.text, citations=citations, details=details)

    async def _wants(self, prompt: str, toolbox: Toolbox) -> tuple[bool, float | None]:
        """Return whether to retrieve, and the probability that the model wants passages, if known."""
        if self.options.retrieval != "adaptive":
            return self.options.retrieval == "always", None
        probability = wish((await self._continue(prompt, toolbox, "whether to retrieve", max_tokens=1)).tokens)
        if probability is None:
            toolbox.note(
                "the model does not say whether it wants passages, and gets them; was it trained for Self-RAG?"
            )
            return True, None
        toolbox.note(f"the model wants passages with a probability of {probability:.2f}")
        return probability > self.options.threshold, probability

    async def _over(self, prompt: str, passages: Sequence[Passage], toolbox: Toolbox, number: int) -> Segment:
        """Return the continuation after one passage, which is halved until it fits the window."""
        passage = passages[number]
        title, text = defused(passage.title[:_LONGEST_TITLE]), passage.text
        while True:
            try:
                shown = f"{RETRIEVE}<paragraph>{title}\n{defused(text)}</paragraph>"
                continuation = await self._continue(prompt + shown, toolbox, f"after document {number + 1}")
                return self._segment(continuation, number)
            except ContextError:
                if not text:
                    raise
                text = text[: len(text) // 2]
                toolbox.note(f"passage {number + 1} is cut to {len(text)} characters to fit the window")

    async def _continue(
        self, prompt: str, toolbox: Toolbox, what: str, *, max_tokens: int | None = None
    ) -> Continuation:
        options = self.options
        most = max_tokens or options.max_tokens
        return await toolbox.continue_text(
            prompt, top=options.alternatives, temperature=0.0, max_tokens=most, what=what
        )

    def _segment(self, continuation: Continuation, number: int | None) -> Segment:
        """Return a segment with the score f of Equations 3 and 4."""
        options, found = self.options, critique(continuation.tokens)
        written = continuation.text.partition(RETRIEVE)[0]
        weighed = options.w_rel * found.relevance + options.w_sup * found.support + options.w_use * found.utility
        return Segment(number, written, found.probability + weighed, found)

    def _best(self, paths: Sequence[Segment]) -> Segment:
        """Return the one with the best score; with `closed`, that of the answer with the highest total score."""
        if not self.options.closed:
            return paths[0]
        sums: dict[str, float] = {}
        for path in paths:
            sums[answer_key(path.text)] = sums.get(answer_key(path.text), 0.0) + path.score
        return max(paths, key=lambda path: (bool(path.text), sums[answer_key(path.text)], path.score))
