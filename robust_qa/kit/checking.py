"""Check claims against passages: by a judge, and by the numbers and names that stand in no text.

The judge reads each claim with the sentences of the passages that share the rarest words with it, and with the first
passages as a whole. A source supports or contradicts the claim by its surest text. Word overlap alone decides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..types import Checked, Citation, Judgment, Passage
from .citations import cite
from .claims import source_of
from .quantity import quantities, same_value, with_digits
from .quotes import closest_texts
from .text import STOPWORDS, content_terms, language_of_question, near_copies, without_mark, words

if TYPE_CHECKING:
    from ..protocols import Toolbox

# Least probabilities of a source that supports or contradicts a claim; chosen on held-out rows of the training
SUPPORTS, CONTRADICTS = 0.8, 0.7
_UNITS = 16  # sentences judged for a claim
_WHOLE = 3  # passages judged as a whole
_SHORT = 6  # words of an answer that is no sentence
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*(?!\d|st\b|nd\b|rd\b|th\b)")
_ONE = re.compile(r"\bone\b", re.IGNORECASE)  # mostly no number
_SEPARATORS = re.compile("[.,]")
_THOUSANDS = re.compile(r",(?=\d{3}(?!\d))")
# Words in a row that begin with a capital letter. One alone at the beginning of a sentence may be any word.
_CAPITAL = r"[^\W\d_a-zà-öø-ÿ]"
_NAME = re.compile(rf"(?<![\w'’-]){_CAPITAL}[\w'’-]+(?: {_CAPITAL}[\w'’.-]+)*")
_OPENING = re.compile(r"(?:\A|[.:!?]\s)[\s\"'“‘(\[*_]*\Z")


@dataclass(frozen=True, slots=True)
class _Judged:
    """What a text of a passage says about the claim. Its sentence to quote begins at character `start`."""

    passage: Passage
    start: int
    judgment: Judgment

    @property
    def citation(self) -> Citation:
        return cite(self.passage, start=self.start)


async def check_claim(claim: str, passages: Sequence[Passage], toolbox: Toolbox) -> Checked:
    """Return the verdict of all sources of `passages` about `claim`."""
    texts = closest_texts(claim, passages, _UNITS, _WHOLE)
    judgments = await toolbox.judge(claim, [text for _, text in texts])
    judged = [_Judged(passages[unit.passage], unit.start, one) for (unit, _), one in zip(texts, judgments, strict=True)]
    surest: dict[str, _Judged] = {}
    for each in judged:
        source = source_of(each.passage)
        if source not in surest or max(each.judgment) > max(surest[source].judgment):
            surest[source] = each
    supporting = _independent([each for each in surest.values() if each.judgment.supported >= SUPPORTS])
    contradicting = _independent([each for each in surest.values() if each.judgment.contradicted >= CONTRADICTS])
    sides = tuple(each.citation for each in supporting), tuple(each.citation for each in contradicting)
    if supporting and contradicting:
        return Checked(claim, "disputed", sides[0][0], "", *sides)
    if supporting or contradicting:
        return Checked(claim, "supported" if supporting else "contradicted", (*sides[0], *sides[1])[0], "", *sides)
    return Checked(claim, "not decided", judged[0].citation if judged else None)


def _independent(found: Sequence[_Judged]) -> list[_Judged]:
    """Return the surest first, without those whose passage is a copy of another's."""
    kept: list[_Judged] = []
    for each in sorted(found, key=lambda each: -max(each.judgment)):
        if not any(near_copies(each.passage.text, other.passage.text) for other in kept):
            kept.append(each)
    return kept


def missing_from(sentence: str, texts: Sequence[str]) -> tuple[str, ...]:
    """Return the numbers and names of `sentence` that stand in none of `texts`.

    A number stands there in any form: 2 km as 2,000 metres, two as 2. German writes all nouns like names, so only its
    numbers count.
    """
    sentence, body = without_mark(sentence), "\n".join(texts)
    terms = set(content_terms(body))
    lacking = _numbers(sentence) - _numbers(body)
    dates = quantities(sentence)
    if lacking:
        told = quantities(body)
        for each in dates:
            if any(each.kind == other.kind and same_value(each.kind, each.value, other.value) for other in told):
                lacking -= _numbers(each.text)
    for each in reversed(dates):  # the names of months are part of numbers
        sentence = sentence[: each.start] + "1" + sentence[each.end :]
    names = () if language_of_question(sentence) == "de" else _names(sentence)
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
        if name and (len(parts) > 1 or not _OPENING.search(sentence[: match.start()])):
            yield name.rstrip(".")
