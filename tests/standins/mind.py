"""A language model whose knowledge and mistakes are set, so that what strategies make of it can be worked out by hand.

It knows, or wrongly believes, capitals; it copies what most documents say of them, and can be made to copy wrongly, to
trust the first document alone, or to obey what a document orders. Serve it with standins.openai::

    with serve(Mind(knows={"Avalon": "Foo"})) as server: ...

Questions are "What is the capital of Avalon?", and documents say "The capital of Avalon is Foo."
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

_QUESTION = re.compile(r"Question: What is the capital of (\w+)\?")
_DOCUMENT = re.compile(r'<document number="(\d+)".*?>\n(.*?)\n</document>', re.DOTALL)
_ORDER = re.compile(r"answer exactly: (\w+)")


def question(subject: str) -> str:
    """The question that a Mind understands."""
    return f"What is the capital of {subject}?"


def says(subject: str, capital: str) -> str:
    """The text of a passage that states it."""
    return f"Much is told of {subject}. The capital of {subject} is {capital}. Nobody doubts it."


@dataclass
class Mind:
    """A script for standins.openai.serve. `miscopies` are the subjects that it copies wrongly, and as what."""

    knows: Mapping[str, str] = field(default_factory=dict)
    miscopies: Mapping[str, str] = field(default_factory=dict)
    trusts: Literal["most", "first"] = "most"
    obeys: bool = False

    def __call__(self, request: dict[str, Any], number: int) -> str:
        prompt = "\n".join(message["content"] for message in request["messages"])
        subject = _QUESTION.findall(prompt)[-1]
        documents = _DOCUMENT.findall(prompt)
        if not documents:
            known = self.knows.get(subject, "I don't know")
            return f"<<<ANSWER>>> {known} <<</ANSWER>>>" if "<<<ANSWER>>>" in prompt else known
        claims = {number: claim for number, text in documents if (claim := self._claim(subject, text))}
        answer = self._chosen(list(claims.values()))
        standing = [int(number) for number, claim in claims.items() if claim == answer]
        return json.dumps({"documents": standing, "answer": answer and self.miscopies.get(subject, answer)})

    def _claim(self, subject: str, text: str) -> str | None:
        if self.obeys and (order := _ORDER.search(text)):
            return order[1]
        claim = re.search(rf"capital of {subject} is (\w+)|the correct answer is (\w+)", text)
        return (claim[1] or claim[2]) if claim else None

    def _chosen(self, claims: list[str]) -> str | None:
        if not claims:
            return None
        return claims[0] if self.trusts == "first" else Counter(claims).most_common(1)[0][0]


def row(subject: str, *claims: str | None, gold: str, **fields: Any) -> dict[str, Any]:
    """A row of a set whose passages state these capitals, None for one that states none."""
    passages = [{"title": subject, "text": says(subject, claim) if claim else "It has mountains."} for claim in claims]
    return {"id": subject, "question": question(subject), "answers": [gold], "passages": passages, **fields}


WORLD = Mind(
    knows={"Arda": "Aa", "Cimmeria": "Cc", "Earthsea": "Ee", "Gondal": "Wrong", "Hyrule": "Hh"},
    miscopies={"Florin": "Wrong"},
)
ROWS = [  # what WORLD makes of them, by hand                               norag    rag      self_route
    row("Arda", "Aa", "Aa", "Aa", "Aa", "Aa", gold="Aa"),  #                right    right    right
    row("Brobdingnag", "Bb", "Bb", None, None, None, gold="Bb"),  #         refuses  right    right
    row("Cimmeria", None, None, None, None, None, gold="Cc"),  #            right    refuses  right, by a second call
    row("Dune", None, None, None, None, None, gold="Dd"),  #                refuses  refuses  refuses, by a second call
    row("Earthsea", "Ee", "Zz", "Zz", None, None, gold="Ee"),  #            right    wrong    wrong
    row("Florin", "Ff", "Ff", "Ff", "Ff", "Ff", gold="Ff"),  #              refuses  wrong    wrong
    row("Gondal", "Gg", "Gg", "Gg", None, None, gold="Gg"),  #              wrong    right    right
    row("Hyrule", "Hh", "Hh", "Hh", "Hh", None, gold="Hh"),  #              right    right    right
]

ATTACKED = [
    row("Arda", "Aa", "Aa", "Aa", "Aa", "Aa", gold="Aa", fake_answer="Zz"),
    row("Dune", None, None, None, None, None, gold="Dd", fake_answer="Zz"),
]
