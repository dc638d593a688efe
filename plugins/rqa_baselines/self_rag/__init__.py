"""Self-RAG: the model says by reflection tokens whether it wants passages, and what each does for its answer.

Asai et al., "Self-RAG: Learning to Retrieve, Generate, and Critique through Self-Reflection", ICLR 2024. For models
trained to write those tokens. k + 1 calls for k passages, k of them at once; 2 calls when the model wants none. With
T segments and a beam of B, at most (T - 1) B k calls more.

As in the published inference, passages are retrieved once, a continuation is scored whole and cut where it asks for
passages again, and the score of a path is the product of its segments'. Unlike there, a path that has ended stays in
the beam; and a token that says no to further passages is taken at its word, whatever its probability.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from robust_qa import Answer, ContextError, Continuation, Passage
from robust_qa.kit import answer_key, ask_each, cite, says_unknown

from .. import asking
from .paths import Path, Segment
from .reflection import NO_RETRIEVAL, RETRIEVE, critique, defused, wish

if TYPE_CHECKING:
    from robust_qa import Toolbox

_LONGEST_TITLE = 200  # characters


class SelfRag:
    """The model continues after each passage alone, and its reflection tokens choose the best continuation."""

    needs = frozenset({"retrieve", "continue_text"})

    @dataclass
    class Options(asking.Options):
        # when passages are retrieved: adaptive (when the model wants them), always or never
        retrieval: Literal["adaptive", "always", "never"] = "adaptive"
        # of that wish: above this probability passages are retrieved
        threshold: Annotated[float, Meta(ge=0, le=1)] = 0.5
        w_rel: float = 1.0  # weight of the relevance of the passage in the score of a segment
        w_sup: float = 1.0  # weight of how far the passage supports the segment
        w_use: float = 0.5  # weight of how useful the answer is
        segments: Annotated[int, Meta(ge=1)] = 1  # T: longest path, in segments; 1 for short answers
        beam: Annotated[int, Meta(ge=1)] = 2  # B: paths that are continued
        closed: bool = False  # whether answers are from a fixed set, so that the scores of equal ones add up
        max_tokens: Annotated[int, Meta(ge=1)] = 100  # bound on a continuation, in tokens
        # likeliest tokens that are asked for at each place; OpenAI gives 5
        alternatives: Annotated[int, Meta(ge=2)] = 20

    def __init__(self, options: Options) -> None:
        self.options = options
        self.prompt = asking.Agent(options, __file__).prompts["answer"]

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        """Abstains when the best path says nothing, or that the answer is not known."""
        messages = self.prompt.messages({"question": defused(question)})
        prompt = "\n\n".join(message.content for message in messages) + "\n"  # as the models were trained
        wanted, probability = await self._wants(prompt, toolbox)
        passages = await toolbox.retrieve(question) if wanted else []
        if passages:
            paths = await self._search(prompt, passages, toolbox)
        else:
            continuation = await self._continue(prompt + NO_RETRIEVAL, toolbox, "from memory")
            paths = [Path((self._segment(continuation, None),))]
        best = self._best(paths)
        scores = [{"score": round(path.score, 3), "text": path.text} for path in paths]
        toolbox.note(f"of {len(paths)} paths one with the score {best.score:.3f} is taken", paths=scores)
        details = {"wanted": probability, "retrieved": bool(passages), "paths": [path.listed() for path in paths]}
        if not best.text or (self.options.abstain and says_unknown(best.text)):
            reason = "The language model does not know the answer." if best.text else "The model wrote no answer."
            return Answer(None, reason=reason, details=details)
        used = [segment for segment in best.segments if segment.stands and segment.text]
        cited = (cite(passages[segment.passage], segment.text) for segment in used if segment.passage is not None)
        return Answer(best.text, citations=tuple(dict.fromkeys(cited)), details=details)

    async def _wants(self, prompt: str, toolbox: Toolbox) -> tuple[bool, float | None]:
        """Whether passages are to be retrieved, and how probable it is that the model wants them, where it says."""
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

    async def _search(self, prompt: str, passages: Sequence[Passage], toolbox: Toolbox) -> list[Path]:
        """Segment-level beam search: all paths of the last round, the best first.

        A passage that the provider refuses to see grows none.
        """
        paths = [Path()]
        for _ in range(self.options.segments):
            kept = paths[: self.options.beam]
            growing = [path for path in kept if path.asks]
            if not growing:
                break
            asked = [(path, number) for path in growing for number in range(len(passages))]
            segments = await ask_each(partial(self._over, prompt, passages, toolbox), asked)
            grown = [
                Path((*path.segments, segment))
                for (path, _), segment in zip(asked, segments, strict=True)
                if isinstance(segment, Segment)
            ]
            paths = sorted([path for path in kept if not path.asks] + grown, key=Path.rank, reverse=True)
        return paths

    async def _over(
        self, prompt: str, passages: Sequence[Passage], toolbox: Toolbox, asked: tuple[Path, int]
    ) -> Segment:
        """The next segment of a path over one passage, which is cut in halves until it fits the window."""
        path, number = asked
        begun, passage = prompt + path.written, passages[number]
        title, text = defused(passage.title[:_LONGEST_TITLE]), passage.text
        while True:
            try:
                shown = f"{RETRIEVE}<paragraph>{title}\n{defused(text)}</paragraph>"
                continuation = await self._continue(begun + shown, toolbox, f"after document {number + 1}")
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
        """The score is f of Equations 3 and 4."""
        options, found = self.options, critique(continuation.tokens)
        written, again, _ = continuation.text.partition(RETRIEVE)
        weighed = options.w_rel * found.relevance + options.w_sup * found.support + options.w_use * found.utility
        return Segment(number, written, bool(again), found.probability + weighed, found)

    def _best(self, paths: Sequence[Path]) -> Path:
        """The path with the best score; of a closed set, the best path to the answer with the best sum of scores."""
        if not self.options.closed:
            return paths[0]
        sums: dict[str, float] = {}
        for path in paths:
            sums[answer_key(path.text)] = sums.get(answer_key(path.text), 0.0) + path.score
        return max(paths, key=lambda path: (bool(path.text), sums[answer_key(path.text)], path.score))
