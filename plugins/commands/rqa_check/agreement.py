"""Decide whether a sentence agrees with a claim about the same thing: by numbers, names and negations."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from robust_qa import Citation, Passage
from robust_qa.kit import Quantity, quantities

Verdict = Literal["supported", "contradicted", "disputed", "not found"]


@dataclass(frozen=True, slots=True)
class Checked:
    """A sentence of an answer with its verdict. `citation` is the sentence that decides, `reason` why there is none.

    `supporting` and `contradicting` have a citation of each independent source, if they were counted.
    """

    sentence: str
    verdict: Verdict
    citation: Citation | None = None
    reason: str = ""
    supporting: tuple[Citation, ...] = ()
    contradicting: tuple[Citation, ...] = ()


@dataclass(frozen=True, slots=True)
class Asked:
    """The question that a sentence answers with a quantity: "... was built in what year?"."""

    text: str
    kind: str
    value: str


_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
# After the first word of a sentence: a word with a capital letter or an underscore, or an option such as --hidden.
_NAME = re.compile(r"(?<=[^\s.!?:] )[\"'“(`*]*((?:--?|\.)\w[\w.-]*|\w*[A-Z_][\w.-]*)")
_YEAR = re.compile(r"\b(?:1\d|20)\d\d\b")
_YEAR_SAID = re.compile(rf"\b(?:in|since|until|by|before|after) (?:the year )?({_YEAR.pattern})(?![-.,]\d)")
_ASKS = {
    "duration": "how long",
    "money": "how much",
    "share": "what percentage",
    "version": "what version",
    "clock": "what time",
    "date": "what date",
}
_NEGATION = re.compile(r"\b(?:not|no|never|cannot|without|none|neither|nor)\b|n['’]t\b", re.IGNORECASE)


def compare(claim: str, sentence: str, passage: Passage) -> Verdict:
    """Return what `sentence` of `passage` says about `claim`, if both are about the same thing.

    A name counts as said if the passage, its title or its source has it. A number must be in the sentence or the title.
    A sentence that lacks a number or a name contradicts the claim only if it has another one.
    """
    lacks_number, has_other_number = _numbers(claim, sentence, passage.title)
    if lacks_number:
        return "contradicted" if has_other_number else "not found"
    said = f"{passage.source} {passage.title} {passage.text}".lower()
    if any(name not in said for name in _names(claim)):
        has_other_name = any(name not in claim.lower() for name in _names(sentence))
        return "contradicted" if has_other_name else "not found"
    return "supported" if _is_negative(claim) == _is_negative(sentence) else "contradicted"


def question_of(claim: str) -> Asked | None:
    """Return the question that the first year or quantity of `claim` answers. None without one."""
    if year := _YEAR_SAID.search(claim):
        start, end, kind, words = *year.span(1), "year", "what year"
    elif found := [each for each in quantities(claim) if _is_asked(each)]:
        start, end, kind = found[0].start, found[0].end, found[0].kind
        words = _ASKS.get(kind.split()[0]) or f"how many {found[0].text.split()[-1]}"
    else:
        return None
    value = value_of(claim[start:end], kind)
    return Asked(f"{claim[:start]}{words}{claim[end:].rstrip(' .')}?", kind, value) if value else None


def _is_asked(quantity: Quantity) -> bool:
    return quantity.kind != "year" and not quantity.text.lower().startswith(("each ", "every "))


def value_of(answer: str, kind: str) -> str:
    """Return the value of that kind in a reader's `answer`, "" if there is none."""
    if kind == "year":
        year = _YEAR.search(answer)
        return year[0] if year else ""
    if known := [each.value for each in quantities(answer) if each.kind == kind]:
        return known[0]
    return min(_digits(answer), default="") if kind.startswith("count ") else ""


def _numbers(claim: str, sentence: str, title: str) -> tuple[bool, bool]:
    """Return whether the sentence lacks a number of the claim, and whether it has another one."""
    own, theirs = quantities(claim), quantities(f"{title}. {sentence}")
    digits = _digits(f"{title} {sentence}")
    kinds, values = {each.kind for each in theirs}, {(each.kind, each.value) for each in theirs}
    lacking = [
        each
        for each in own
        if (each.kind, each.value) not in values
        and (each.kind in kinds or not (_digits(each.text) or {each.value}) <= digits)
    ]
    bare = _digits(claim).difference(*(_digits(each.text) for each in own))
    other = any(each.kind in kinds for each in lacking) or not _digits(sentence) <= _digits(claim)
    return bool(lacking) or not bare <= digits, other


def _digits(text: str) -> set[str]:
    return {number.replace(",", "").lstrip("0") for number in _NUMBER.findall(text)}


def _names(text: str) -> set[str]:
    return {name.rstrip(".-").lower() for name in _NAME.findall(text)}


def _is_negative(text: str) -> bool:
    return len(_NEGATION.findall(text)) % 2 == 1
