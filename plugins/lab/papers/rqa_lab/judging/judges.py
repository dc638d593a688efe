"""Who judges: the packaged judge of claims, or a language model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from robust_qa import ConfigError, Passage
from robust_qa.kit import contains_words, sentences
from rqa_prompts import Prompter, fenced, named_documents

if TYPE_CHECKING:
    from robust_qa import Toolbox

_SUPPORTED = 0.5
_SHORT = 6  # words: a shorter text without a full stop is a name or a date, and claims something with its question
_WORD = re.compile(r"\b(right|wrong|correct|incorrect|yes|no)\b", re.I)
_RIGHT = ("right", "correct", "yes")


class Judge(Protocol):
    """Takes texts apart into claims, and says which texts entail a claim."""

    async def claims(self, question: str, text: str) -> list[str]:
        """Return the claims of a reply."""

    async def entailing(self, question: str, claim: str, texts: Sequence[str]) -> frozenset[int]:
        """Return the places of the texts that say the claim."""


class Packaged:
    """The evaluator of the configuration, `embedded` by default. The claims of a text are its sentences."""

    def __init__(self, toolbox: Toolbox) -> None:
        if not toolbox.judges:
            raise ConfigError(
                "The configured evaluator judges no claims.", hint="Judge with `embedded`, or give --reader NAME."
            )
        self._toolbox = toolbox

    async def claims(self, question: str, text: str) -> list[str]:
        return [text[start:end] for start, end in sentences(text)]

    async def entailing(self, question: str, claim: str, texts: Sequence[str]) -> frozenset[int]:
        stated = {place for place, text in enumerate(texts) if contains_words(claim, text)}
        rest = [place for place in range(len(texts)) if place not in stated]
        whole = f"{question} {claim}" if is_short(claim) else claim
        judged = await self._toolbox.judge(whole, [texts[place] for place in rest])
        return frozenset(stated | {p for p, each in zip(rest, judged, strict=True) if each.supported > _SUPPORTED})


def is_short(claim: str) -> bool:
    """Return whether a claim is a name, a date or the like, which needs its question."""
    return len(claim.split()) < _SHORT and not claim.rstrip().endswith((".", "!", "。"))


class Model:
    """A language model. It also marks answers as a whole."""

    def __init__(self, toolbox: Toolbox, reader: str) -> None:
        self._toolbox, self._reader = toolbox, reader
        self._prompter = Prompter(Path(__file__).with_name("prompts"))
        self.prompts = self._prompter.prompts

    async def claims(self, question: str, text: str) -> list[str]:
        reply = await self._ask("claims", question=question, text=text)
        lines = [re.sub(r"^\s*(?:[-*•]|\d+[.)])\s*", "", line).strip() for line in reply.splitlines()]
        return [line for line in lines if re.search(r"\w", line) and not re.fullmatch(r"\W*none\W*", line, re.I)]

    async def entailing(self, question: str, claim: str, texts: Sequence[str]) -> frozenset[int]:
        if not texts:
            return frozenset()
        whole = f"{question} {claim}" if is_short(claim) else claim
        reply = await self._ask("entails", [Passage(text) for text in texts], claim=whole)
        return frozenset(number - 1 for number in named_documents(reply.partition(":")[2] or reply, len(texts))[0])

    async def right(self, question: str, text: str, gold: Sequence[Sequence[str]]) -> bool | None:
        """Return whether the answer is right, None if the reply does not say."""
        listed = "\n".join(f"- {' / '.join(fact)}" for fact in gold)
        word = _WORD.search(await self._ask("correct", question=question, text=text, gold=listed))
        return None if word is None else word[1].lower() in _RIGHT

    async def _ask(self, role: str, passages: Sequence[Passage] = (), **fields: str) -> str:
        filled = {name: fenced(value) for name, value in fields.items()}
        reply = await self._prompter.ask(
            self._toolbox, role, passages, fields=filled, temperature=0.0, reader=self._reader
        )
        return reply.text
