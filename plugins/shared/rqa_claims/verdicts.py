"""Check claims against passages: by a judge, and by the numbers and names that stand in no text.

The judge reads each claim with the sentences of the passages that share the rarest words with it, and with the first
passages as a whole. A source supports or contradicts the claim by its surest text. Word overlap alone decides nothing.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from robust_qa import Checked, Citation, Judgment, Passage, Quote
from robust_qa.kit import (
    STOPWORDS,
    cite,
    closest_texts,
    content_terms,
    language_of_question,
    near_copies,
    without_mark,
    words,
)

from .alignment import is_beside
from .claims import source_of
from .editions import edition_of
from .neighbours import of_the_same
from .numbers import with_digits
from .reading import values
from .values import Relation, relate

if TYPE_CHECKING:
    from robust_qa import Toolbox

# Least probabilities of a source that supports or contradicts a claim; chosen on held-out rows of the training
SUPPORTS, CONTRADICTS = 0.8, 0.7
_UNITS = 16  # sentences judged for a claim
_WHOLE = 3  # passages judged as a whole
_SPEAKS = 1 / 3  # share of a claim's words in a text that says something about it
_QUICK = 20_000  # characters of passages, about ten, that are read in milliseconds
_SHORT = 6  # words of an answer that is no sentence
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*(?!\d|st\b|nd\b|rd\b|th\b)")
_ONE = re.compile(r"\bone\b", re.IGNORECASE)  # mostly no number
_SEPARATORS = re.compile("[.,]")
_THOUSANDS = re.compile(r",(?=\d{3}(?!\d))")
# Words in a row that begin with a capital letter. One alone at the beginning of a sentence may be any word.
_CAPITAL = r"[^\W\d_a-zà-öø-ÿ]"
_NAME = re.compile(rf"(?<![\w'’-]){_CAPITAL}[\w'’-]+(?: {_CAPITAL}[\w'’.-]+)*")
_BEFORE = 20  # characters before a name that tell whether it begins a sentence
_OPENING = re.compile(r"(?:\A|[.:!?]\s)[\s\"'“‘(\[*_]*\Z")


T = TypeVar("T")
_UNREAD = Judgment(0.0, 0.0)


@dataclass(frozen=True, slots=True)
class _Judged:
    """What a text of a passage says about the claim. Its sentence to quote begins at character `start`."""

    passage: Passage
    text: str
    start: int
    judgment: Judgment

    @property
    def citation(self) -> Citation:
        return cite(self.passage, start=self.start)


async def check_claim(claim: str, passages: Sequence[Passage], toolbox: Toolbox) -> Checked:
    """Return the verdict of all sources of `passages` about `claim`."""
    closest, texts = await beside_the_loop(passages, _read, claim, passages)
    judgments = iter(await toolbox.judge(claim, [text for _, text, is_read in texts if is_read]))
    judged = [
        _Judged(passages[unit.passage], text, unit.start, next(judgments) if is_read else _UNREAD)
        for unit, text, is_read in texts
    ]
    surest: dict[tuple[str, str], _Judged] = {}
    for each in judged:
        # Without a file, a passage may have borrowed the name of an honest source, so each speaks for itself.
        source = source_of(each.passage), "" if each.passage.file else each.passage.text
        if source not in surest or max(each.judgment) > max(surest[source].judgment):
            surest[source] = each
    decided = [
        each
        for each in surest.values()
        if each.judgment.supported >= SUPPORTS or each.judgment.contradicted >= CONTRADICTS
    ]
    decided = _in_force(claim, decided, judged, passages)
    supporting = _independent([each for each in decided if each.judgment.supported >= SUPPORTS])
    contradicting = _independent([each for each in decided if each.judgment.contradicted >= CONTRADICTS])
    sides = tuple(each.citation for each in supporting), tuple(each.citation for each in contradicting)
    if supporting and contradicting:
        return Checked(claim, "disputed", sides[0][0], "", *sides)
    if supporting or contradicting:
        return Checked(claim, "supported" if supporting else "contradicted", (*sides[0], *sides[1])[0], "", *sides)
    return Checked(
        claim, "not decided", cite(passages[closest[0][0].passage], start=closest[0][0].start) if closest else None
    )


async def beside_the_loop(passages: Sequence[Passage], work: Callable[..., T], *arguments: Any) -> T:
    """Return what `work` over `passages` does: in a thread, unless that costs more than the work."""
    if sum(len(each.text) for each in passages) <= _QUICK:
        return work(*arguments)
    return await asyncio.to_thread(work, *arguments)


def _read(claim: str, passages: Sequence[Passage]) -> tuple[list[tuple[Quote, str]], list[tuple[Quote, str, bool]]]:
    """Return the texts closest to a claim, and those of them about the same thing, each with whether it is judged."""
    closest = closest_texts(claim, passages, _UNITS, _WHOLE)
    beside = {text for _, text in closest if is_beside(claim, text)}
    if all(text in beside for _, text in closest):
        return closest, []
    return closest, [(unit, text, text not in beside) for unit, text in of_the_same(claim, closest, passages)]


def _in_force(
    claim: str, decided: Sequence[_Judged], judged: Sequence[_Judged], passages: Sequence[Passage]
) -> list[_Judged]:
    """Return those of `decided` that are of the time that is claimed, and that no newer edition replaces.

    An edition replaces an older one if it says something about the claim, whatever it says.
    """
    if not decided:
        return []
    terms = {*content_terms(claim)}
    speaking = [each for each in judged if len(terms.intersection(content_terms(each.text))) >= _SPEAKS * len(terms)]
    named = [each for each in values(claim) if each.kind == "date"]
    editions = {source_of(each): edition_of(each.title, each.source, each.date) for each in passages}

    def is_old(each: _Judged) -> bool:
        own = editions[source_of(each.passage)]
        siblings = [other for other in editions.values() if other is not own and other.names & own.names]
        if named and siblings and own.date:
            [valid] = values(f"in {own.date}" if len(own.date) == 4 else own.date) or [None]
            return valid is not None and any(relate(day, valid) is Relation.EXCLUDED for day in named)
        return any(own.is_older(editions[source_of(other.passage)]) for other in speaking)

    return [each for each in decided if not is_old(each)]


def _independent(found: Sequence[_Judged]) -> list[_Judged]:
    """Return the surest first, without those whose passage is a copy of another's, or has its source."""
    kept: list[_Judged] = []
    for each in sorted(found, key=lambda each: -max(each.judgment)):
        if not any(
            source_of(each.passage) == source_of(other.passage) or near_copies(each.passage.text, other.passage.text)
            for other in kept
        ):
            kept.append(each)
    return kept


def missing_from(sentence: str, texts: Sequence[str]) -> tuple[str, ...]:
    """Return the numbers and names of `sentence` that stand in none of `texts`.

    A number stands there in any form: 2 km as 2,000 metres, two as 2. German writes all nouns like names, so only its
    numbers count.
    """
    sentence, body = without_mark(sentence), "\n".join(texts)
    own = values(sentence)
    lacking = _numbers(sentence)
    if lacking and (lacking := lacking - _numbers(body)):
        told = values(body)
        for each in own:
            if any(relate(each, other) in (Relation.EQUAL, Relation.IMPLIED) for other in told):
                lacking -= _numbers(each.text)
    for each in reversed(own):  # the names of months are part of numbers
        sentence = sentence[: each.start] + "1" + sentence[each.end :]
    names = [] if language_of_question(sentence) == "de" else [*_names(sentence)]
    terms = set(content_terms(body)) if names else set()
    return (*sorted(lacking), *(name for name in names if not terms.issuperset(content_terms(name))))


def is_foreign_to(sentence: str, texts: Sequence[str]) -> bool:
    """Return whether `sentence` is a short answer, such as "orange", none of whose words stands in `texts`."""
    own = content_terms(with_digits(sentence))
    known = (term for text in texts for term in content_terms(with_digits(text)))
    return bool(own) and len(words(sentence)) <= _SHORT and not set(own).intersection(known)


def _numbers(text: str) -> set[str]:
    found = set()
    for number in _DIGITS.findall(with_digits(_ONE.sub(" ", text))):
        parts = _SEPARATORS.split(_THOUSANDS.sub("", number))  # 14.11.1871, 1,2,3
        whole = [".".join(parts)] if len(parts) < 3 else parts
        found |= {f"{float(part):.12g}" for part in whole}
    return found


def _names(sentence: str) -> Iterator[str]:
    for match in _NAME.finditer(sentence):
        parts = match[0].split()
        name = " ".join(part for part in parts if part.lower() not in STOPWORDS)
        before = sentence[max(0, match.start() - _BEFORE) : match.start()]
        if name and (len(parts) > 1 or not _OPENING.search(before)):
            yield name.rstrip(".")
