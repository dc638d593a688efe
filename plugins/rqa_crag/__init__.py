"""Corrective RAG: retrieved passages are judged, refined where they are relevant, replaced where they are not.

Yan et al., "Corrective Retrieval Augmented Generation", 2024. Algorithm 1; the defaults are those of Appendix B.3.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from robust_qa import Answer, CallError, ConfigError, Expression, Passage, hookimpl
from robust_qa.kit import Prompter, fenced, warn, with_title

from . import keywords
from .account import Allowance, Correction, kept, listed
from .acting import PAIRS, Ablation, Set, act
from .strips import Mode, Strip, choose, cut, look, paragraphs, recompose

if TYPE_CHECKING:
    from robust_qa import Registry, Toolbox

_MEMORY = "norag"  # the strategy that answers from memory
_FLOOR = -0.5  # of strips, for the paper's T5 (appendix B.3)
_Score = Annotated[float, Meta(ge=-1, le=1)]


class Crag:
    """Judges what was retrieved; what is beside the question is left out, and searched for elsewhere."""

    needs = frozenset({"retrieve", "score"})

    @dataclass
    class Options:
        then: str = "rag"  # the strategy that answers from the corrected passages
        search: Expression | None = None  # where is searched: a retriever expression; by default nowhere
        # what to do when the passages are irrelevant and no search helps: abstain, answer from the language model's
        # memory, or from the best strips there are, flagged as doubtful
        without_search: Literal["abstain", "memory", "doubtful"] = "abstain"
        evaluator: str | None = None  # what judges; by default as configured
        upper: _Score | None = None  # from this score of a passage on, the retrieval is Correct
        lower: _Score | None = None  # below this score of every passage, it is Incorrect
        # both as in the paper for that set, where `upper` and `lower` are not set: popqa (0.59, -0.99), pubqa and arc
        # (0.5, -0.91), bio (0.95, -0.91); by default the evaluator's own, and popqa's where it has none
        thresholds: Set | None = None
        # how passages are cut: excerption (three sentences), fixed_num (50 words), selection (not at all)
        strips: Mode = "excerption"
        keep: Annotated[int, Meta(ge=1)] = 5  # strips that are kept, at most: of the passages, and of the pages
        # strips with a lower score are dropped; by default -0.5 as in the paper, or halfway between the evaluator's own
        # lower and -1 where that is less
        floor: _Score | None = None
        # how the kept strips are put together: text (those of a passage as one, in its order), score (each for itself)
        order: Literal["text", "score"] = "text"
        # who makes keywords of a question that is searched for: reader (a language model), words (rules), off (nobody),
        # auto (the reader if it writes, else the rules)
        rewrite: Literal["auto", "reader", "words", "off"] = "auto"
        refine: bool = True  # whether passages are cut into strips; false: they are handed on whole (Table 3)
        select: bool = True  # whether paragraphs of pages are selected; false: all are handed on (Table 3)
        # an action that is left out (Table 2) or that every question gets (Table 11): without-correct,
        # without-incorrect, without-ambiguous, only-correct, only-incorrect, only-ambiguous
        ablation: Ablation | None = None
        # texts that a language model as evaluator judges for a question, at most; each is a call
        max_judged: Annotated[int, Meta(ge=1)] = 100
        prompts: dict[str, Path] = field(default_factory=dict)  # files to put in place of prompts: rewrite

        def __post_init__(self) -> None:
            paper = PAIRS[self.thresholds] if self.thresholds else (None, None)
            upper, lower = self.upper if self.upper is not None else paper[0], self.lower
            lower = lower if lower is not None else paper[1]
            if upper is not None and lower is not None and lower > upper:
                raise ValueError(f"has `lower` {lower:g} above `upper` {upper:g}")

    def __init__(self, options: Options) -> None:
        self.options = options
        self.prompter = Prompter(Path(__file__).with_name("prompts"), options)
        self.hands_to = (options.then, _MEMORY) if options.without_search == "memory" else (options.then,)
        self.scored_by = (options.evaluator,) if options.evaluator else ()
        if options.rewrite == "reader":
            self.needs |= {"generate"}

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        """Algorithm 1, whose generator is the strategy `then`. Abstains when no search gave it something to go on.

        After a search that found nothing, `then` is asked without passages, as in the paper.
        """
        found = await self._corrected(question, toolbox)
        if found.passages or (found.empty_search and self.options.without_search == "abstain"):
            answer = await toolbox.answer_with(self.options.then, found.passages)
        elif self.options.without_search == "memory":
            answer = await toolbox.answer_with(_MEMORY, [])
        else:
            answer = Answer(None)
        if answer.text is None and found.outage and self.options.without_search == "abstain":
            raise found.outage  # an abstention would hide it
        return dataclasses.replace(
            answer, reason=found.reason(answer), details={**found.details(), "then": dict(answer.details)}
        )

    def check(self, toolbox: Toolbox) -> None:
        """Raises ConfigError or MissingError before the first question if thresholds or search are not in order."""
        self._ready(toolbox)

    async def correct(self, question: str, toolbox: Toolbox) -> list[Passage]:
        """The corrected passages, for retriever expressions such as crag(wiki@10)."""
        found = await self._corrected(question, toolbox)
        if found.outage and not found.passages:
            raise found.outage  # nothing answers from memory here
        return found.passages

    async def _corrected(self, question: str, toolbox: Toolbox) -> Correction:
        """Lines 1 to 13: k, the knowledge to answer from."""
        import asyncio

        options = self.options
        upper, lower = self._ready(toolbox)

        # Lines 1 and 2: the scores of D, and the judgement.
        passages = await toolbox.retrieve(question)
        texts = [self._judged_text(toolbox, one, one.text) if one.text.strip() else "" for one in passages]
        left = Allowance(options.max_judged if toolbox.asks_model(options.evaluator) else None)
        scores = await self._scores(question, toolbox, texts, left)
        action = act(scores, upper, lower, options.ablation)
        found = Correction(action, scores, upper, lower, passages, left)
        toolbox.note(found.judgement(borrowed=self._borrows(toolbox)))

        # Lines 3 to 13: what is relevant is refined, what is not is searched for, and in doubt both are done, at once.
        async with asyncio.TaskGroup() as both:
            internal = both.create_task(self._refined(question, toolbox, found))
            external = both.create_task(self._searched(question, toolbox, found))
        found.passages = [*internal.result(), *external.result()]
        if found.failure:
            toolbox.note(found.failure)
        if left.refused:
            most = options.max_judged
            warn(f"A language model judged {most} texts of a question (`max_judged`), and rqa left out the others.")
        if not found.passages and options.without_search == "doubtful":
            toolbox.note("doubtful: what was judged irrelevant is handed on, as nothing else is there")
            found.doubtful = True
            found.passages = await self._refined(question, toolbox, found)
        return found

    async def _refined(self, question: str, toolbox: Toolbox, found: Correction) -> list[Passage]:
        """Internal knowledge, of any action but Incorrect: the best strips of the passages."""
        options = self.options
        if found.action == "incorrect" and not found.doubtful:
            return []
        if not options.refine:
            return found.retrieved
        strips = cut(found.retrieved, options.strips)
        # Nothing that is not Incorrect is discarded whole: the best strip stays, whatever it scores.
        least = options.keep if found.doubtful else 1
        found.internal = await self._judged(question, toolbox, strips, found.left, least)
        toolbox.note(f"strips: {kept(found.internal)} kept", strips=listed(found.internal))
        return recompose(found.internal, options.order)

    async def _searched(self, question: str, toolbox: Toolbox, found: Correction) -> list[Passage]:
        """External knowledge, of any action but Correct: the best paragraphs of the pages that a search finds."""
        options = self.options
        if found.action == "correct":
            return []
        if options.search is None:
            found.failure = "no search is configured"
            return []
        found.query = await self._query(question, toolbox, found)
        try:
            found.searched = await toolbox.retrieve(found.query, expression=options.search)
        except CallError as error:
            found.outage, found.failure = error, f"the search failed: {error.message.rstrip('.')}"
            return []
        # What was retrieved and not discarded is there already: found again, it would count twice.
        there = set() if found.action == "incorrect" else {look(given.title, given.text) for given in found.retrieved}
        passages = [page for page in found.searched if look(page.title, page.text) not in there]
        if options.select:
            found.external = await self._judged(question, toolbox, paragraphs(passages), found.left)
            toolbox.note(f"paragraphs: {kept(found.external)} kept", strips=listed(found.external))
            passages = recompose(found.external, options.order)
        if not passages:
            found.failure = f"a search for {found.query!r} found nothing {'else ' if there else ''}relevant"
        return passages

    async def _judged(
        self, question: str, toolbox: Toolbox, strips: Sequence[Strip], left: Allowance, least: int = 0
    ) -> list[Strip]:
        """The strips with their scores, and which of them are kept."""
        texts = [self._judged_text(toolbox, one.passage, one.text) if one.says_something else "" for one in strips]
        scores = await self._scores(question, toolbox, texts, left)
        return choose(strips, scores, self.options.keep, self._floor(toolbox), least)

    def _judged_text(self, toolbox: Toolbox, passage: Passage, text: str) -> str:
        """A text of the passage in the form that the evaluator reads."""
        return with_title(passage.title, text) if toolbox.titles(self.options.evaluator) else text

    async def _scores(self, question: str, toolbox: Toolbox, texts: Sequence[str], left: Allowance) -> list[float]:
        """The evaluator's scores; an empty text has -1, unasked (published code), and so have those beyond `left`."""
        asked = left.take([number for number, text in enumerate(texts) if text])
        scores = await toolbox.score(question, [texts[number] for number in asked], evaluator=self.options.evaluator)
        given = dict(zip(asked, scores, strict=True))
        return [given.get(number, -1.0) for number in range(len(texts))]

    async def _query(self, question: str, toolbox: Toolbox, found: Correction) -> str:
        """W of Algorithm 1: the question in keywords. Where a model fails to write them, `found` keeps why."""
        how = self.options.rewrite
        if how == "off":
            return question
        if how == "reader" or (how == "auto" and toolbox.generative):
            try:
                reply = await self.prompter.ask(toolbox, "rewrite", fields={"question": fenced(question)})
                if query := keywords.parsed(reply.text):
                    return query
                lacking = "no keywords can be read from the reply"
            except CallError as error:
                found.outage, lacking = error, f"no keywords were written: {error.message.rstrip('.')}"
            toolbox.note(f"{lacking}; taking those of the question by rules")
        return keywords.extracted(question) or question

    def _floor(self, toolbox: Toolbox) -> float:
        """The score under which a strip says nothing, on the evaluator's own scale where that is known."""
        if self.options.floor is not None:
            return self.options.floor
        own = self._own(toolbox)
        # That of a question's best passage is too high a bound for each: one that contradicts the others is of use.
        return min(_FLOOR, (own[1] - 1) / 2) if own else _FLOOR

    def _own(self, toolbox: Toolbox) -> tuple[float, float] | None:
        """The evaluator's thresholds, upper and lower, unless the paper's are to be taken."""
        return toolbox.thresholds(self.options.evaluator) if self.options.thresholds is None else None

    def _borrows(self, toolbox: Toolbox) -> bool:
        """Whether a threshold is the paper's although nobody asked for that."""
        options = self.options
        return options.thresholds is None and None in (options.upper, options.lower) and self._own(toolbox) is None

    def _ready(self, toolbox: Toolbox) -> tuple[float, float]:
        """The thresholds, upper and lower. ConfigError or MissingError when they, or the search, are not in order."""
        options = self.options
        if options.search is not None:
            for error in toolbox.pool([options.search]).left_out.values():
                raise error  # now, and not with the first question that is searched for
        upper, lower = self._own(toolbox) or PAIRS[options.thresholds or "popqa"]
        upper = upper if options.upper is None else options.upper
        lower = lower if options.lower is None else options.lower
        if lower > upper:
            raise ConfigError(
                f"Strategy 'crag' would work with `lower` {lower:g} above `upper` {upper:g}.",
                hint="Set both in the strategy's table: one is set there, and the other is the evaluator's.",
            )
        return upper, lower


@hookimpl
def rqa_register(registry: Registry) -> None:
    registry.strategy("crag", Crag, summary="judges the passages, keeps what is relevant, and searches for the rest")
