"""A claim beside a text: words are judged, values are worked out.

A judge that reads "costs more than 20 EUR" beside "costs 30 EUR" would have to count. So the values of the text take
the place of the claim's, the judge says whether the text supports these words, and the values' relation says the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from math import inf

from robust_qa import Judgment
from robust_qa.kit import content_terms, is_row, is_yes_no, sentences

from .claims import CLAUSE_END
from .columns import of_asked_columns
from .reading import values, without
from .values import Relation, Value, relate


class Standing(Enum):
    """What the values of a text say of those of a claim."""

    HOLD = "hold"
    OPEN = "open"
    EXCLUDED = "excluded"
    MISSING = "missing"  # the text has no value of the kind


@dataclass(frozen=True, slots=True)
class Aligned:
    """A claim with the values of a text in place of its own, and what these say of it. `text`: what is to be judged."""

    claim: str
    text: str
    standing: Standing
    verbatim: bool = False
    related: bool = True  # the text is about the claim's subject, so that it can contradict it

    @property
    def depends_on_words(self) -> bool:
        """Whether the verdict depends on what a judge says of the words."""
        if self.standing is Standing.HOLD:
            return not self.verbatim
        return self.standing in (Standing.EXCLUDED, Standing.MISSING) and self.related

    def weighed(self, words: Judgment) -> Judgment:
        """Return the verdict from what a judge says of the words: supported needs both, words and values."""
        if self.verbatim:
            return _CERTAIN
        if self.standing is Standing.HOLD:
            return Judgment(words.supported, words.contradicted * self.related)
        if self.standing is Standing.MISSING:  # what denies the words denies them for any value
            return Judgment(0.0, words.contradicted * self.related)
        return Judgment(0.0, words.supported * (self.related and self.standing is Standing.EXCLUDED))


_RELATED = 1 / 2  # least share of the words of a claim in a text that contradicts it
_MOST = 60  # values of a claim, and of a text; more are data
_SENTENCES = 2  # of a text whose value contradicts that of a claim
_CERTAIN = Judgment(0.999, 0.0)
_NEGATION = re.compile(r"\b(?:no|not|never|none|nobody|nothing|nowhere|neither|nor)\b|n['’]t\b", re.IGNORECASE)
_FRAMES = ("date", "yearday", "weekday", "clock", "version")  # when something holds, where other values say what does
_NAMES = ("label", "ordinal")  # which thing is meant
_BEST = (Relation.EQUAL, Relation.IMPLIED, Relation.WITHIN, Relation.OVERLAPPING, Relation.EXCLUDED)


def align(claim: str, text: str) -> Aligned:
    """Return `claim`, or a question that wants yes or no, with the values of `text`, of a row those it asks for."""
    text = of_asked_columns(claim, text)
    own = values(claim)[:_MOST]
    if _bare(claim) in (_bare(text[start:end]) for start, end in sentences(text)):
        return Aligned(claim, text, Standing.HOLD, verbatim=True)
    if not own:
        return Aligned(claim, text, Standing.HOLD, related=_related(claim, text))
    is_question = _is_question(claim)
    standings: dict[Standing, list[Value]] = {}
    found = _matched(claim, own, text)
    for value in reversed(own):
        if value not in found:
            is_name = value.kind.startswith(_NAMES) and not (is_row(text) and not _names_labels([value], text))
            standings.setdefault(Standing.HOLD if is_name else Standing.MISSING, []).append(value)
            continue
        told, relation = found[value]
        standings.setdefault(_standing(value, told, relation, asked=is_question), []).append(value)
        if relation is not Relation.EQUAL or value.text.lower() != told.text.lower():
            claim = claim[: value.start] + told.text + claim[value.end :]
    standing = _whole(standings)
    # of a passage, the value may be of another thing; its sentences are read alone, too
    is_of_another = len(list(sentences(text))) > _SENTENCES or not _names_labels(own, text)
    if standing is Standing.EXCLUDED and (is_of_another or (not is_question and _is_negated(claim))):
        standing = Standing.OPEN
    is_bare = standing is not Standing.MISSING or not values(text)  # 30 EUR do not deny that it costs 40 USD
    return Aligned(claim, text, standing, related=is_bare and _related(claim, text))


def _is_question(claim: str) -> bool:
    return claim.rstrip().endswith("?") or is_yes_no(claim)


def is_beside(claim: str, text: str) -> bool:
    """Return whether a text has no word of an answer, which stands after its question, and few of the question.

    Over 201 answers to questions of others, no verdict of the judge was by such a text.
    """
    if claim.rstrip().endswith("?"):
        return False
    valued = {*content_terms(" ".join(value.text for value in values(claim)))}
    said = {*content_terms(claim.rpartition("? ")[2])} - valued
    told, terms = {*content_terms(text)}, {*content_terms(claim)}
    return bool(said) and not said & told and len(terms & (told | valued)) < _RELATED * len(terms)


def _related(claim: str, text: str) -> bool:
    if _is_question(claim):  # whose words are of another kind; "No" is calibrated for it
        return True
    terms = {*content_terms(claim)}
    return len(terms.intersection(content_terms(text))) >= _RELATED * len(terms)


def _is_negated(claim: str) -> bool:
    """Return whether a claim denies: that another value holds is no contradiction of "never lower than 1.5 m"."""
    return _NEGATION.search(without(claim, values(claim))) is not None  # "no more than 20" denies nothing


Found = dict[Value, tuple[Value, Relation]]


def _matched(claim: str, own: Sequence[Value], text: str) -> Found:
    """Return for each value of a claim the one of the text that it is about, and what that says of it.

    Values stand together in a clause: in "Monday to Saturday 8 to 22, Sunday 9 to 20" an hour belongs to its day. So
    they are taken from the clause whose values relate best, those that tell which case is meant before others. A claim
    that has two values of a kind is matched clause by clause, unless the text has the same ones in the same order.
    """
    for start, end in sentences(text):
        told = iter(values(text[start:end])[:_MOST])
        same = [next((each for each in told if relate(value, each) is Relation.EQUAL), None) for value in own]
        if all(same):
            return {value: (each, Relation.EQUAL) for value, each in zip(own, same, strict=True) if each}
    clauses = list(_clauses(text))
    if len({value.kind for value in own}) == len(own):
        return _from_clauses({*content_terms(claim)}, own, clauses)
    found: Found = {}
    for words, part in _clauses(claim):
        found |= _from_clauses(words, [value for value in own if value in part], clauses)
    return found


def _from_clauses(terms: set[str], own: Sequence[Value], clauses: Sequence[tuple[set[str], list[Value]]]) -> Found:
    """Return the values of the clauses of a text that those of a claim are about, of one clause if it has all."""
    order = sorted(own, key=lambda value: not value.kind.startswith((*_NAMES, *_FRAMES[:3])))

    def related(clause: Sequence[Value]) -> Found:
        found: Found = {}
        pairs = [(value, told, relate(value, told)) for value in order for told in clause]
        comparable = [pair for pair in pairs if pair[2] is not Relation.INCOMPARABLE]
        for value, told, relation in sorted(comparable, key=lambda pair: _BEST.index(pair[2])):
            if value not in found and told not in [used for used, _ in found.values()]:
                found[value] = told, relation
        return found

    def rank(pair: tuple[int, Found]) -> tuple[int, int, list[int]]:
        shared, found = pair
        return -len(found), -shared, [_BEST.index(found[value][1]) if value in found else len(_BEST) for value in order]

    merged: Found = {}
    for _, found in sorted(((len(terms & words), related(clause)) for words, clause in clauses), key=rank):
        merged = found | merged
    return merged


def _clauses(text: str) -> Iterator[tuple[set[str], list[Value]]]:
    """Yield the values of each clause of each sentence, with its words. A cell of a row is a clause."""
    told = values(text)[:_MOST]
    for start, end in sentences(text):
        ends = [*(match.start() for match in CLAUSE_END.finditer(text, start, end)), end]
        for first, last in zip([start, *ends], ends, strict=False):
            if own := [each for each in told if first <= each.start < last]:
                yield {*content_terms(text[first:last].replace("_", " "))}, own


def _names_labels(own: Sequence[Value], text: str) -> bool:
    """Return whether the numbers of what a claim names, such as bus 413, stand in the text."""
    words = set(re.findall(r"[^\W_]+", text.lower()))
    labels = [each for each in own if each.kind.startswith("label")]
    return all(each.text.lower().split()[-1] in words for each in labels)


def _standing(value: Value, found: Value, relation: Relation, *, asked: bool) -> Standing:
    if relation is Relation.IMPLIED and all(-inf in one.spans[0] or inf in one.spans[-1] for one in (value, found)):
        return Standing.OPEN  # up to 70 degrees are allowed: not up to 75
    if found.either and found.kind == "date":
        return (
            Standing.EXCLUDED if relation is Relation.EXCLUDED else Standing.OPEN
        )  # 6/7/2024 is a day of June or July
    if relation in (Relation.EQUAL, Relation.IMPLIED):
        return Standing.HOLD
    if relation is Relation.EXCLUDED:
        return Standing.OPEN if value.kind.startswith(_NAMES) or _is_other(value, found) else Standing.EXCLUDED
    is_bound = len(found.spans) == 1 and inf in map(abs, found.spans[0])
    if is_bound and relation is Relation.WITHIN and {*value.spans[0]} < {*found.spans[0]}:
        return Standing.HOLD  # "The minimum age is 18" of "18 or over"
    if asked and relation is Relation.WITHIN and is_bound and not found.kind.startswith("money"):
        return Standing.HOLD  # "Can the boat carry 10 people?" of a boat for up to 12
    return Standing.OPEN


def _is_other(value: Value, found: Value) -> bool:
    """Return whether one is a number of things that the other does not name."""
    return value.kind != found.kind and value.kind.startswith("number")


def _whole(standings: dict[Standing, list[Value]]) -> Standing:
    """Return the standing of all values. Another year, beside other values, makes it another fact."""
    excluded = standings.get(Standing.EXCLUDED, [])
    every = [each for values in standings.values() for each in values]
    frames = [each for each in excluded if each.kind.startswith(_FRAMES)]
    if frames and any(not each.kind.startswith((*_FRAMES, *_NAMES)) for each in every):
        return Standing.OPEN
    for standing in (Standing.OPEN, Standing.EXCLUDED, Standing.MISSING):
        if standings.get(standing):
            return standing
    return Standing.HOLD


def _bare(text: str) -> str:
    return " ".join(re.findall(r"\w+|[^\w\s.]", text.lower()))
