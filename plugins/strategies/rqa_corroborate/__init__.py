"""Corroborate: each source is read alone, and the answers are weighed by how many independent sources give them.

The votes are of sources, not of passages, as in Wu and Marian, "A framework for corroborating answers from multiple web
sources", Information Systems 36 (2011). It needs a reader that points at text, and no call of a language model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from robust_qa import PROBABLE, Answer
from robust_qa.kit import ask_each

if TYPE_CHECKING:
    from collections.abc import Sequence

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
        from .result import abstention, answer_of, sentence_of
        from .sources import sources_of
        from .weighing import weigh

        passages = await toolbox.retrieve(question)
        if not passages:
            return Answer(None, reason="No passage was found for the question.")
        sources = sources_of(passages, toolbox.trust)
        said = await self._ask(question, sources, toolbox)
        sides = weigh(said)
        if sides and sides[0].confidence >= PROBABLE:
            others = [source for source in sources if source not in sides[0].sources][: self.options.ask_again]
            again = await self._ask(f"{question} {sides[0].best.rest}", others, toolbox)
            sides = weigh([*said, *again])
        if sides and sides[0].confidence >= toolbox.threshold:
            return answer_of(sides, toolbox.threshold)
        if sum(side.best.confidence >= PROBABLE for side in sides) < 2:  # nobody may contradict the sentence
            sentence = sentence_of(await toolbox.quote(passages), passages, toolbox.threshold)
            if sentence:
                return sentence
        return abstention(sides, said, toolbox.threshold)

    async def _ask(self, question: str, sources: Sequence[Source], toolbox: Toolbox) -> list[Statement]:
        """Return what each source says when it is read alone."""
        from .sources import statement

        async def ask(source: Source) -> Statement:
            return statement(source, await toolbox.read(question, source.passages))

        return [each for each in await ask_each(ask, sources) if not isinstance(each, Exception)]
