"""Find the sentence that most likely answers a question, by the words that they share."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from robust_qa import Passage
from robust_qa.kit import content_terms, statements

_LONGEST = 500  # characters; a longer sentence is a table or a list, and is split

# Log-odds that a sentence answers: a logistic regression on questions and sentences of SQuAD 1.1 and QAMR. Its scale
# and bias were then fitted to how often the best sentence is right, with and without the passage that has the answer.
_BIAS = -8.4
_RARITY = 3.4  # share of the question's terms in the sentence, weighted by idf
_SHARED = 3.1  # log of the number of the question's terms in the sentence or its title
_TITLE = 1.8  # share of the title's terms in the question
_RANK = 1.5  # 1, 1/2, 1/3 ... by the passage's position


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence at its offsets in the text of `passages[passage]`. `likely` is its probability to answer."""

    passage: int
    start: int
    end: int
    likely: float


def best_sentence(question: str, passages: Sequence[Passage]) -> Sentence | None:
    """Return the sentence that most likely answers `question`, or None if no sentence shares a term with it.

    A term weighs by its inverse frequency among the sentences of `passages` (BM25's idf).
    """
    asked = tuple(dict.fromkeys(content_terms(question)))
    found = [
        (number, start, end, frozenset(asked).intersection(content_terms(passage.text[start:end])))
        for number, passage in enumerate(passages)
        for start, end in _pieces(question, passage.text)
    ]
    counts = Counter(term for *_, shared in found for term in shared)
    idf = {term: math.log(1 + (len(found) - counts[term] + 0.5) / (counts[term] + 0.5)) for term in asked}
    titles = [frozenset(content_terms(passage.title)) for passage in passages]
    best: Sentence | None = None
    for number, start, end, shared in found:
        if not shared:
            continue
        title = titles[number]
        named = title.intersection(asked)  # sentences about the title's subject often say "it"
        logit = (
            _BIAS
            + _RARITY * sum(idf[term] for term in asked if term in shared) / sum(idf.values())
            + _SHARED * math.log(1 + len(shared | named))
            + _TITLE * len(named) / max(1, len(title))
            + _RANK / (1 + number)
        )
        likely = 1 / (1 + math.exp(-logit))
        if best is None or likely > best.likely:
            best = Sentence(number, start, end, likely)
    return best


def _pieces(question: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the sentences of `text` that may answer, long ones in parts."""
    for start, end in statements(text, question):
        begin = start
        while end - begin > _LONGEST:
            cut = text.rfind(" ", begin + 1, begin + _LONGEST) + 1 or begin + _LONGEST
            yield begin, cut
            begin = cut
        yield begin, end
