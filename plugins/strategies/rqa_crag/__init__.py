"""Corrective RAG: judge the retrieved passages, refine relevant ones, and replace irrelevant ones.

Yan et al., "Corrective Retrieval Augmented Generation", 2024. Implements Algorithm 1 with the defaults of Appendix B.3.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from robust_qa import Answer, CallError, ConfigError, Expression, Passage, Registry, hookimpl
from robust_qa.kit import warn, with_title
from rqa_prompts import Prompter, Prompts, fenced

from . import keywords
from .account import PAIRS, Ablation, Allowance, Correction, Set, act, kept, listed
from .strips import Mode, Strip, choose, cut, look, paragraphs, recompose

if TYPE_CHECKING:
    from robust_qa import Toolbox

_MEMORY = "norag"  # the strategy that answers from memory
_FLOOR = -0.5  # of strips, for the paper's T5 (Appendix B.3)
_Score = Annotated[float, Meta(ge=-1, le=1)]


class Crag:
    """Judges the retrieved passages, drops irrelevant ones, and searches for replacements."""

    needs = frozenset({"retrieve", "score"})

    @dataclass
    class Options:
        then: str = "rag"  # strategy that answers from the corrected passages
        search: Expression | None = None  # retriever expression for the search; default: no search
        # if the passages are irrelevant and no search helps: abstain, answer from the language model's memory, or from
        # the best strips, marked as doubtful
        without_search: Literal["abstain", "memory", "doubtful"] = "abstain"
        evaluator: str | None = None  # default: the configured one
        upper: _Score | None = None  # if a passage scores at least this, the retrieval is Correct
        lower: _Score | None = None  # if all passages score less, it is Incorrect
        # the paper's settings for a data set: `floor`, and for an evaluator without thresholds of its own, `upper` and
        # `lower`: popqa (0.59, -0.99), pubqa and arc (0.5, -0.91), bio (0.95, -0.91); default: popqa
        thresholds: Set | None = None
        # cut into excerption (three sentences), fixed_num (50 words) or selection (whole passages)
        strips: Mode = "excerption"
        keep: Annotated[int, Meta(ge=1)] = 5  # maximum strips of passages, and of pages
        # drop strips with a lower score; default: -0.5 as in the paper, or if less, halfway between the evaluator's
        # `lower` and -1 (but -0.5 with `thresholds`)
        floor: _Score | None = None
        # text: join the strips of each passage in its order; score: keep strips separate, best first
        order: Literal["text", "score"] = "text"
        # who writes keywords for a search: reader (a language model), words (rules), off (nobody), auto (the reader if
        # it is a language model, else the rules)
        rewrite: Literal["auto", "reader", "words", "off"] = "auto"
        # reader that writes the keywords, such as a cheaper one; default: the answer's
        rewrite_reader: str | None = None
        refine: bool = True  # cut passages into strips; false: pass them on whole (Table 3)
        select: bool = True  # select paragraphs of pages; false: pass on all (Table 3)
        # leave out an action (Table 2), or give every question the same one (Table 11): without-correct,
        # without-incorrect, without-ambiguous, only-correct, only-incorrect, only-ambiguous
        ablation: Ablation | None = None
        # maximum texts of a question for a language model as evaluator; each is a call
        max_judged: Annotated[int, Meta(ge=1)] = 100
        prompts: Prompts = field(default_factory=dict)  # files that replace prompts: rewrite; or paper: Table 7

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
        self.read_by = (options.rewrite_reader,) if options.rewrite_reader else ()
        if options.rewrite == "reader" and options.rewrite_reader is None:
            self.needs |= {"generate"}

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        """Answer with Algorithm 1 and the strategy `then` as generator. Abstains without knowledge to answer from.

        After a search without results, `then` gets no passages, as in the paper. It answers all the same if it has
        `abstain = false`.
        """
        found = await self._corrected(question, toolbox)
        toolbox.note(f"corrected: {len(found.passages)} passages to answer from", reply="")  # a query answers nothing
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
        """Raise ConfigError or MissingError before the first question if thresholds or search are invalid."""
        self._ready(toolbox)

    async def correct(self, question: str, toolbox: Toolbox) -> list[Passage]:
        """Return the corrected passages, for retriever expressions such as crag(wiki@10)."""
        found = await self._corrected(question, toolbox)
        if found.outage and not found.passages:
            raise found.outage  # an expression has no answer from memory
        return found.passages

    async def _corrected(self, question: str, toolbox: Toolbox) -> Correction:
        """Return the knowledge k to answer from (lines 1 to 13)."""
        import asyncio

        options = self.options
        upper, lower = self._ready(toolbox)

        # Lines 1 and 2: score D and choose the action.
        passages = await toolbox.retrieve(question)
        texts = [self._judged_text(toolbox, one, one.text) if one.text.strip() else "" for one in passages]
        left = Allowance(options.max_judged if toolbox.asks_model(options.evaluator) else None)
        scores = await self._scores(question, toolbox, texts, left)
        action = act(scores, upper, lower, options.ablation)
        found = Correction(action, scores, upper, lower, passages, left)
        toolbox.note(found.judgement(borrowed=self._borrows(toolbox)))

        # Lines 3 to 13: refine relevant passages, search if they are not; in doubt do both, concurrently.
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
        """Return the internal knowledge: the best strips of the passages, unless the action is Incorrect."""
        options = self.options
        if found.action == "incorrect" and not found.doubtful:
            return []
        if not options.refine:
            return found.retrieved
        strips = cut(found.retrieved, options.strips)
        # Unless the action is Incorrect, the best strip stays, whatever its score.
        least = options.keep if found.doubtful else 1
        found.internal = await self._judged(question, toolbox, strips, found.left, least)
        toolbox.note(f"strips: {kept(found.internal)} kept", strips=listed(found.internal))
        return recompose(found.internal, options.order)

    async def _searched(self, question: str, toolbox: Toolbox, found: Correction) -> list[Passage]:
        """Return the external knowledge: the best paragraphs found, unless the action is Correct."""
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
        # A page that repeats a retrieved passage would count twice.
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
        """Return the strips with their scores, and mark those to keep."""
        texts = [self._judged_text(toolbox, one.passage, one.text) if one.says_something else "" for one in strips]
        scores = await self._scores(question, toolbox, texts, left)
        return choose(strips, scores, self.options.keep, self._floor(toolbox), least)

    def _judged_text(self, toolbox: Toolbox, passage: Passage, text: str) -> str:
        """Return a text of the passage in the form that the evaluator reads."""
        return with_title(passage.title, text) if toolbox.titles(self.options.evaluator) else text

    async def _scores(self, question: str, toolbox: Toolbox, texts: Sequence[str], left: Allowance) -> list[float]:
        """Return the scores: -1 without a call for empty texts (as in the published code) and those beyond `left`."""
        asked = left.take([number for number, text in enumerate(texts) if text])
        scores = await toolbox.score(question, [texts[number] for number in asked], evaluator=self.options.evaluator)
        given = dict(zip(asked, scores, strict=True))
        return [given.get(number, -1.0) for number in range(len(texts))]

    async def _query(self, question: str, toolbox: Toolbox, found: Correction) -> str:
        """Return W of Algorithm 1, the question as keywords. `found` keeps the error if a model fails to write them."""
        how = self.options.rewrite
        if how == "off":
            return question
        reader = self.options.rewrite_reader
        if how == "reader" or (how == "auto" and (reader or toolbox.generative)):
            try:
                fields = {"question": fenced(question)}
                reply = await self.prompter.ask(toolbox, "rewrite", fields=fields, reader=reader)
                if query := keywords.parsed(reply.text):
                    return query
                lacking = "no keywords can be read from the reply"
            except CallError as error:
                found.outage, lacking = error, f"no keywords were written: {error.message.rstrip('.')}"
            toolbox.note(f"{lacking}; taking those of the question by rules")
        return keywords.extracted(question) or question

    def _floor(self, toolbox: Toolbox) -> float:
        """Return the score below which strips are dropped, on the evaluator's scale if it is known."""
        if self.options.floor is not None:
            return self.options.floor
        own = None if self.options.thresholds else self._own(toolbox)
        # `lower` is for a question's best passage. For each strip it is too high: a dissenting one is useful, too.
        return min(_FLOOR, (own[1] - 1) / 2) if own else _FLOOR

    def _own(self, toolbox: Toolbox) -> tuple[float, float] | None:
        """Return the evaluator's thresholds (upper, lower), or None if it has none."""
        return toolbox.thresholds(self.options.evaluator)

    def _borrows(self, toolbox: Toolbox) -> bool:
        """Whether a threshold is the paper's without being configured."""
        options = self.options
        return options.thresholds is None and None in (options.upper, options.lower) and self._own(toolbox) is None

    def _ready(self, toolbox: Toolbox) -> tuple[float, float]:
        """Return (upper, lower). Raises ConfigError or MissingError if the thresholds or the search are invalid."""
        options = self.options
        if options.search is not None:
            for error in toolbox.pool([options.search]).left_out.values():
                raise error  # now, not at the first question that needs a search
        own = self._own(toolbox)
        upper, lower = own or PAIRS[options.thresholds or "popqa"]
        if options.thresholds and own and None in (options.upper, options.lower):
            warn(
                f"crag decides by the evaluator's own thresholds, `upper` {upper:g} and `lower` {lower:g}: those of "
                f"the paper for {options.thresholds} are for its T5-large."
            )
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
    """Register the plugin."""
    registry.strategy(
        "crag", "rqa_crag:Crag", summary="judges the passages, keeps what is relevant, and searches for the rest"
    )
