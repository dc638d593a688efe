"""Decide whether a sentence agrees with a claim about the same thing: by numbers, names and negations."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from robust_qa import Citation, Passage
from robust_qa.kit import quantities

Verdict = Literal["supported", "contradicted", "not found"]


@dataclass(frozen=True, slots=True)
class Checked:
    """A sentence of an answer with its verdict. `citation` is the sentence that decides, `reason` why there is none."""

    sentence: str
    verdict: Verdict
    citation: Citation | None = None
    reason: str = ""


_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
# After the first word of a sentence: a word with a capital letter or an underscore, or an option such as --hidden.
_NAME = re.compile(r"(?<=[^\s.!?:] )[\"'“(`*]*((?:--?|\.)\w[\w.-]*|\w*[A-Z_][\w.-]*)")
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
