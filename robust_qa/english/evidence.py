"""How likely a sentence is to carry the answer."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..kit.text import sentences as sentence_spans
from ..types import Passage
from .question import Query
from .terms import terms

_LONGEST = 500  # characters; what is longer is a table or a list, and is taken in pieces

# A logistic regression on question and sentence pairs of SQuAD 1.1 and QAMR, each among the sentences of five
# passages that BM25 returned for the question, and on questions about the births, trades and families of the
# people of Wikipedia articles, rounded.
_BIAS = -7.6
_COVERED = 1.8  # share of the question's terms in the sentence or the name of its subject, weighted by idf
_OWN = 2.2  # likewise in the sentence alone
_NAMED = 0.8  # share of the question's names (of all its terms, if it has none) in sentence or title
_SUBJECT = 0.6  # whether the question speaks of the title's subject; minus what it leaves out of the title
_RANK = 1.0  # 1, 1/2, 1/3 ... by the passage's place
_HITS = 2.0  # log of the number of terms
# Log-odds to likelihood: fitted in the same way, on each question twice, with and without the passage that has its
# answer.
_SLOPE, _OFFSET = 0.75, 0.4


@dataclass(frozen=True, slots=True)
class Candidate:
    """What may be the answer, at its offsets in the text of `passages[passage]`; `logit` are the log-odds."""

    passage: int
    start: int
    end: int
    logit: float

    @property
    def likely(self) -> float:
        """How likely the answer is right, in (0, 1)."""
        return 1 / (1 + math.exp(-(_SLOPE * self.logit + _OFFSET)))


def subject(title: str) -> str:
    """A title without what tells it from others of its name: "Fidel (2002 film)" is about Fidel."""
    name, parenthesis, qualifier = title.rpartition(" (")
    return name if parenthesis and qualifier.endswith(")") else title


def weigh(query: Query, passages: Sequence[Passage]) -> list[Candidate]:
    """The sentences that share a term with the question, the likeliest first.

    A term weighs by its inverse frequency among the sentences of `passages` (BM25's idf), so that what all of
    them speak of counts little. A sentence inherits from its passage's title what it speaks of.
    """
    pieces = [
        (number, start, end, _hits(query, passage.text[start:end]))
        for number, passage in enumerate(passages)
        for start, end in _pieces(passage)
    ]
    counts = Counter(term for *_, hits in pieces for term in hits)
    idf = {term: math.log(1 + (len(pieces) - counts[term] + 0.5) / (counts[term] + 0.5)) for term in query.terms}
    whole = sum(idf.values())
    titles = [_title(query, passage.title) for passage in passages]
    evidence = []
    for number, start, end, hits in pieces:
        if not hits:
            continue
        in_title, matched = titles[number]
        known = hits | in_title
        said = known if matched > 0 else hits  # an article calls its subject "he", "she" and "it"
        logit = (
            _BIAS
            + _COVERED * sum(idf[term] for term in query.terms if term in said) / whole
            + _OWN * sum(idf[term] for term in query.terms if term in hits) / whole
            + _NAMED * (len(query.names & known) / len(query.names) if query.names else len(known) / len(idf))
            + _SUBJECT * matched
            + _RANK / (1 + number)
            + _HITS * math.log(1 + len(said))
        )
        evidence.append(Candidate(number, start, end, logit))
    return sorted(evidence, key=lambda sentence: -sentence.logit)


def _hits(query: Query, sentence: str) -> frozenset[str]:
    """The terms of the question in the sentence, in its words or in others that say the same."""
    stems = terms(sentence)
    hits = frozenset(query.terms).intersection(stems)
    return hits | {query.aliases[stem] for stem in query.aliases.keys() & stems} if query.aliases else hits


def _title(query: Query, title: str) -> tuple[frozenset[str], float]:
    stems = terms(subject(title))
    if not stems:
        return frozenset(), 0.0
    hits = frozenset(query.terms).intersection(terms(title))
    if f" {' '.join(stems)} " in query.text:
        return hits, 1.0
    return hits, len(hits.intersection(stems)) / len(set(stems)) - 1.0


def _pieces(passage: Passage) -> Iterator[tuple[int, int]]:
    text = passage.text
    for start, end in sentence_spans(text):
        begin = min(_after_heading(passage.title, text, start), end)
        while end - begin > _LONGEST:
            cut = text.rfind(" ", begin + 1, begin + _LONGEST) + 1 or begin + _LONGEST
            yield begin, cut
            begin = cut
        yield begin, end


def _after_heading(title: str, text: str, start: int) -> int:
    """Where the sentence at `start` begins if the article's title stands before it, as in cut-up articles."""
    name = subject(title)
    for heading in (title, name):
        after = start + len(heading) + 1
        if name and text.startswith(heading + " ", start) and name.split()[-1] in text[after : after + 80]:
            return after
    return start
