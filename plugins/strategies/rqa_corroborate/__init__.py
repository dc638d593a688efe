"""Corroborate: each source is read alone, and the answers are weighed by how many independent sources give them.

The votes are of sources, not of passages, as in Wu and Marian, "A framework for corroborating answers from multiple web
sources", Information Systems 36 (2011). It needs a reader that points at text, and no call of a language model.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from robust_qa import PROBABLE, Answer, Registry, hookimpl
from robust_qa.kit import ask_each, content_terms, install_hint, language_of_question

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from robust_qa import Passage, Toolbox

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
        """Work out what wants arithmetic, look up a cell, and weigh what the sources say of anything else."""
        from .derived import of_arithmetic, of_the_day, pointed_to, with_dates, with_what_is_there, worked_out
        from .lookup import looked_up

        passages = await toolbox.retrieve(question)
        if not passages:
            return Answer(None, reason=f"No passage was found for the question. {_across_languages(question)}".strip())
        if worked := worked_out(question, passages):
            return worked
        found = await self._weighed(question, passages, toolbox)
        found = looked_up(question, passages, found) or await pointed_to(found, toolbox)
        found = of_the_day(question, found, passages)
        return with_dates(with_what_is_there(question, of_arithmetic(question, found), passages))

    async def _weighed(self, question: str, passages: Sequence[Passage], toolbox: Toolbox) -> Answer:
        """Read each source, weigh the sides, ask those again that said something else, and weigh once more."""
        from rqa_claims import Asked

        from .editions import Editions
        from .lookup import asked_cell
        from .result import abstention, answer_of, is_sure, sentence_of
        from .sources import sources_of
        from .weighing import VOICE, about, weigh

        sources = await self._apart(question, sources_of(passages, toolbox.trust), toolbox)
        editions = Editions(question, sources)
        texts = [passage.text for passage in passages]

        @cache
        def named(asked: str) -> Asked:
            return replace(Asked.of(asked, texts), times=())  # those are for editions

        async def ask(question: Callable[[Source], str], sources: Sequence[Source]) -> list[Statement]:
            found = await self._ask(question, sources, toolbox)
            return [each for each in found if not each.is_about_another(named(editions.question(each.source)))]

        said = await ask(editions.question, sources)
        kept, history = editions.split(said)
        sides = about(question, weigh(kept))
        if sides and sides[0].confidence >= VOICE:
            old = [each.source for each in history]
            others = [each for each in sources if each not in sides[0].sources and each not in old]
            rest = sides[0].best.rest
            again = others[: self.options.ask_again]
            said += await ask(lambda source: f"{editions.question(source)} {rest}", again)
            kept, history = editions.split(said)
            sides = about(question, weigh(kept))
        if sides and (other := await self._of_two_minds(editions.question, sides[0].statements, toolbox)):
            taken = [each.source for each in other]
            sides = about(question, weigh([*(each for each in kept if each.source not in taken), *other]))
        told = editions.told(sides[0].best, history) if sides else ""
        if is_sure(sides, toolbox.threshold) and not all(map(editions.is_past, sides[0].statements)):
            return answer_of(sides, toolbox.threshold, told)
        if sum(side.best.confidence >= VOICE for side in sides) < 2:  # nobody may contradict the sentence
            old_ones = [each for source in editions.others for each in source.passages]
            current = [each for each in passages if each not in old_ones]
            sentence = sentence_of(await toolbox.quote(current), current, toolbox.threshold)
            if sentence:
                sentence = asked_cell(question, sentence)
                cited = {each.source for each in sentence.citations}
                own = [each for each in said if each.source.passages[0].source in cited]
                return replace(sentence, reason=editions.told(own[0], history)) if own else sentence
        return abstention(sides, said, toolbox.threshold, told)

    async def _of_two_minds(
        self, question: Callable[[Source], str], side: Sequence[Statement], toolbox: Toolbox
    ) -> list[Statement]:
        """Return what the sources that second a side unclearly say more clearly, with as many words of the question.

        "Some say that the light was built in 1871. The light was built in 1999." supports 1871 no more than 1999.
        """
        from .sources import Statement, statement

        async def other(said: Statement) -> Statement | None:
            asked = question(said.source)
            found = statement(said.source, await toolbox.read(asked, said.masked))
            is_about = said.claim.words.intersection(content_terms(asked)) <= found.claim.words
            return found if found.confidence >= PROBABLE and is_about and found.contradicts(said) else None

        unclear = [each for each in side[1:] if each.confidence < PROBABLE and each.reading.start is not None]
        return [each for each in await ask_each(other, unclear) if isinstance(each, Statement)]

    async def _apart(self, question: str, sources: Sequence[Source], toolbox: Toolbox) -> list[Source]:
        """Return the sources, in parts if these contradict each other: one may have borrowed an honest name."""
        from .weighing import VOICE

        found: list[Source] = []
        for source in sources:
            said = await self._ask(lambda _: question, source.parts, toolbox)
            heard = [each for each in said if each.confidence >= VOICE]
            is_split = any(one.contradicts(other) for one, other in combinations(heard, 2))
            found += source.parts if is_split else [source]
        return found

    async def _ask(
        self, question: Callable[[Source], str], sources: Sequence[Source], toolbox: Toolbox
    ) -> list[Statement]:
        """Return what each source says when it is read alone."""
        from .sources import statement

        async def ask(source: Source) -> Statement:
            return statement(source, await toolbox.read(question(source), source.passages))

        return [each for each in await ask_each(ask, sources) if not isinstance(each, Exception)]


def _across_languages(question: str) -> str:
    """Return what finds documents in another language than the question's, "" if that is English."""
    language = language_of_question(question)
    finds = f"It seems to be in another language than English ({language}): `{install_hint('languages')}`"
    return "" if language == "en" else f"{finds} finds passages by their meaning, across languages."


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the plugin."""
    registry.strategy(
        "corroborate",
        "rqa_corroborate:Corroborate",
        rank=22,
        needs={"retrieve", "read", "quote"},
        summary="reads each source alone, and weighs how many independent ones agree",
    )
