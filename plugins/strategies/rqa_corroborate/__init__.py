"""Corroborate: each source is read alone, and the answers are weighed by how many independent sources give them.

The votes are of sources, not of passages, as in Wu and Marian, "A framework for corroborating answers from multiple web
sources", Information Systems 36 (2011). It needs a reader that points at text, and no call of a language model.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from robust_qa import Answer
from robust_qa.kit import ask_each

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from robust_qa import Toolbox

    from .sources import Source, Statement


class Corroborate:
    """Reads each source alone, weighs what they say, and answers with a sentence if no short answer is sure."""

    needs = frozenset({"retrieve", "read", "quote"})

    @dataclass
    class Options:
        ask_again: Annotated[int, Meta(ge=0)] = 4  # sources asked with the words of the likeliest answer's sentence

    def __init__(self, options: Options) -> None:
        self.options = options

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        """Read each source, weigh the sides, ask those again that said something else, and weigh once more."""
        from .editions import Editions
        from .result import abstention, answer_of, is_sure, sentence_of
        from .sources import sources_of
        from .weighing import VOICE, about, weigh

        passages = await toolbox.retrieve(question)
        if not passages:
            return Answer(None, reason="No passage was found for the question.")
        sources = sources_of(passages, toolbox.trust)
        editions = Editions(question, sources)
        said = await self._ask(editions.question, sources, toolbox)
        kept, history = editions.split(said)
        sides = about(question, weigh(kept))
        if sides and sides[0].confidence >= VOICE:
            old = [each.source for each in history]
            others = [each for each in sources if each not in sides[0].sources and each not in old]
            rest = sides[0].best.rest
            again = others[: self.options.ask_again]
            said += await self._ask(lambda source: f"{editions.question(source)} {rest}", again, toolbox)
            kept, history = editions.split(said)
            sides = about(question, weigh(kept))
        told = editions.told(sides[0].best, history) if sides else ""
        if is_sure(sides, toolbox.threshold) and not all(map(editions.is_past, sides[0].statements)):
            return answer_of(sides, toolbox.threshold, told)
        if sum(side.best.confidence >= VOICE for side in sides) < 2:  # nobody may contradict the sentence
            old_ones = [each for source in editions.others for each in source.passages]
            current = [each for each in passages if each not in old_ones]
            sentence = sentence_of(await toolbox.quote(current), current, toolbox.threshold)
            if sentence:
                cited = {each.source for each in sentence.citations}
                own = [each for each in said if each.source.passages[0].source in cited]
                return replace(sentence, reason=editions.told(own[0], history)) if own else sentence
        return abstention(sides, said, toolbox.threshold, told)

    async def _ask(
        self, question: Callable[[Source], str], sources: Sequence[Source], toolbox: Toolbox
    ) -> list[Statement]:
        """Return what each source says when it is read alone."""
        from .sources import statement

        async def ask(source: Source) -> Statement:
            return statement(source, await toolbox.read(question(source), source.passages))

        return [each for each in await ask_each(ask, sources) if not isinstance(each, Exception)]
