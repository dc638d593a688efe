"""What the model finds in the passages of a question: spans, and how relevant each passage and each part of it is."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from robust_qa import Passage, Quote
from robust_qa.kit import content_terms, is_row, quote_windows, statements, with_title
from rqa_claims import Asked

from .spans import Span, repeats, spans
from .windows import firsts, marked_windows

if TYPE_CHECKING:
    from .engine import Marking, Settings

_PARTS = 12  # of a question's passages whose cosines are computed
_QUOTES = 6
_NO_SPAN = -20.0  # margin of a text without a span
_KEYED = 2.0  # log-odds that a row loses if it has no word of the question that tells rows apart
_ANOTHER = 8.0  # log-odds that an answer loses if its sentence names another member of the series
_LEAST_MARGIN = -6.0  # of a sentence; below, none is likelier than another


@dataclass(frozen=True, slots=True)
class Evidence:
    """The spans in the different passages of a question, and each passage's score of relevance (its best window's)."""

    question: str
    passages: Sequence[Passage]
    spans: Sequence[Span]
    relevant: dict[int, float]


@dataclass(frozen=True, slots=True)
class Part:
    """Whole sentences of a passage: characters `start` to `end` of its text.

    `logit` is the log-odds that they answer the question. `best` is the best span among them. `alone`: it is about
    what the question names, and no other row of cells has as many of its words.
    """

    passage: int
    start: int
    end: int
    logit: float
    best: Span | None
    alone: bool = True


def find_evidence(engine: Marking, requests: Sequence[tuple[str, Sequence[Passage]]]) -> list[Evidence]:
    """Return the evidence of each (question, passages), computed as one batch."""
    found = []
    for (question, passages), marked in zip(requests, marked_windows(engine, requests), strict=True):
        own: list[Span] = []
        relevant: dict[int, float] = {}
        for window, marks in marked:
            if not window.places:  # an empty passage
                continue
            own += spans(window, marks, passages[window.passage])
            relevant[window.passage] = max(relevant.get(window.passage, -math.inf), marks.relevant)
        found.append(Evidence(question, passages, _of_what_is_asked(question, passages, own), relevant))
    return found


def _of_what_is_asked(question: str, passages: Sequence[Passage], found: Sequence[Span]) -> list[Span]:
    """Return the spans, with a lower margin where the sentence is about another thing than the question names."""
    asked = Asked.of(question, [passage.text for passage in passages])
    return [
        replace(span, margin=span.margin - _ANOTHER, astray=True)
        if span.place and asked.is_astray(passages[span.passage], *span.place)
        else span
        for span in found
    ]


def without(evidence: Evidence, left_out: set[int]) -> Evidence:
    """Return the evidence as if the passages `left_out` had not been there."""
    return Evidence(
        evidence.question,
        evidence.passages,
        [span for span in evidence.spans if span.passage not in left_out],
        {number: score for number, score in evidence.relevant.items() if number not in left_out},
    )


def logistic(logit: float) -> float:
    """Return the probability of these log-odds."""
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, logit))))


Features = tuple[float, float, float, float]  # of a text, weighted by Settings.relevance


def passage_features(engine: Marking, found: Sequence[Evidence]) -> list[dict[int, Features]]:
    """Return the features of each passage of each question."""
    texts = [
        (each.question, [with_title(each.passages[n].title, each.passages[n].text) for n in each.relevant])
        for each in found
    ]
    features = []
    for each, cosines in zip(found, _cosines(engine, texts), strict=True):
        margins: dict[int, float] = {}
        for span in each.spans:
            margins[span.passage] = max(margins.get(span.passage, _NO_SPAN), span.margin)
        features.append(
            {
                number: (margins.get(number, _NO_SPAN), relevant, cosine, _first(number))
                for (number, relevant), cosine in zip(each.relevant.items(), cosines, strict=True)
            }
        )
    return features


def judge(engine: Marking, found: Sequence[Evidence]) -> list[list[float]]:
    """Return the probability that each passage of each question holds the answer, 0 without a word."""
    probabilities = []
    for each, features in zip(found, passage_features(engine, found), strict=True):
        # The texts of an evaluator are in no order.
        likely = {number: logistic(_logit(engine.settings, *values[:3], 0.0)) for number, values in features.items()}
        probabilities.append([likely.get(first, 0.0) for first in firsts(each.passages)])
    return probabilities


def find_parts(engine: Marking, found: Sequence[Evidence]) -> list[list[Part]]:
    """Return the parts of each question's passages that may answer it, the most relevant first."""
    likely = [likely_parts(engine.settings, each) for each in found]
    texts = [
        (each.question, [_quoted(each.passages[part.passage], part) for part in parts])
        for each, parts in zip(found, likely, strict=True)
    ]
    weight = engine.settings.relevance[3]
    ranked = []
    for parts, cosines in zip(likely, _cosines(engine, texts), strict=True):
        whole = [replace(part, logit=part.logit + weight * cosine) for part, cosine in zip(parts, cosines, strict=True)]
        ranked.append(sorted(whole, key=lambda part: -part.logit))
    return ranked


def quotes(parts: Sequence[Part], passages: Sequence[Passage], settings: Settings) -> list[Quote]:
    """Return the best parts, and the span in each as highlight.

    The score is the probability that the sentence of the highlight answers the question. A row that the question's
    words do not single out has none: of 300 questions on other tables, such rows were right for half.
    """
    bias, margin, share = settings.sentence
    chosen = distinct(parts, passages)
    found = []
    for part, (own, log_share) in zip(chosen, sentence_features(chosen), strict=True):
        score = logistic(bias + margin * own + share * log_share) if part.alone else None
        found.append(Quote(part.passage, part.start, part.end, score, part.best.place if part.best else None))
    return found


def sentence_features(chosen: Sequence[Part]) -> list[tuple[float, float]]:
    """Return for each part the margin of its best span, and the log of its share of the relevance of all."""
    total = math.log(sum(math.exp(part.logit) for part in chosen)) if chosen else 0.0
    return [(max(_LEAST_MARGIN, part.best.margin if part.best else _NO_SPAN), part.logit - total) for part in chosen]


def distinct(parts: Sequence[Part], passages: Sequence[Passage]) -> list[Part]:
    """Return the best parts, each text once and without overlaps."""
    chosen: list[Part] = []
    texts: set[str] = set()
    for part in parts:
        text = passages[part.passage].text[part.start : part.end]
        beside = (each for each in chosen if each.passage == part.passage)
        overlaps = any(each.start < part.end and part.start < each.end for each in beside)
        if not overlaps and text not in texts and len(chosen) < _QUOTES:
            chosen.append(part)
            texts.add(text)
    return chosen


def likely_parts(settings: Settings, evidence: Evidence) -> list[Part]:
    """Return the most relevant parts, judged without their cosines."""
    parts = []
    for number, relevant in evidence.relevant.items():
        own = [(place[0], span) for span in evidence.spans if span.passage == number and (place := span.place)]
        text = evidence.passages[number].text
        told = [
            unit for unit in statements(text, evidence.question) if not repeats(evidence.question, text[slice(*unit)])
        ]
        keyed = _keyed(evidence.question, text, [span for span in told if is_row(text[slice(*span)])])
        most = [row for row, less in keyed.items() if not less]
        tied = {row for row in keyed if most != [row] and "; " in text[slice(*row)]}  # lines of chats have no cells
        for start, end in quote_windows(text):
            units = []
            for unit in told:
                first, last = max(start, unit[0]), min(end, unit[1])
                if first >= last:
                    continue
                named = _KEYED * keyed.get(unit, 0.0)
                best = max((span for at, span in own if first <= at < last), key=lambda span: span.margin, default=None)
                logit = _logit(settings, best.margin if best else _NO_SPAN, relevant, 0.0, _first(number)) + named
                units.append(Part(number, start, end, logit, best, unit not in tied and not (best and best.astray)))
            if units:
                parts.append(max(units, key=lambda unit: unit.logit))
    return sorted(parts, key=lambda part: -part.logit)[:_PARTS]


def _keyed(question: str, text: str, rows: Sequence[tuple[int, int]]) -> dict[tuple[int, int], float]:
    """Return 0 for the row with most words of the question, by how well they tell rows apart, down to -1 for none."""
    asked = set(content_terms(question))
    shared = {span: asked.intersection(content_terms(text[slice(*span)])) for span in rows}
    counts = Counter(term for terms in shared.values() for term in terms)
    weights = {term: math.log(len(rows) / count) for term, count in counts.items() if count < len(rows)}
    found = {span: sum(weights.get(term, 0.0) for term in terms) for span, terms in shared.items()}
    most = max(found.values(), default=0.0)
    return {span: weight / most - 1 if most else 0.0 for span, weight in found.items()}


def _first(number: int) -> float:
    """Return how early a passage stands in the retriever's order: minus the log of its rank."""
    return -math.log(1 + number)


def _logit(settings: Settings, *features: float) -> float:
    bias, *weights = settings.relevance
    return bias + sum(weight * value for weight, value in zip(weights, features, strict=True))


def _quoted(passage: Passage, part: Part) -> str:
    return with_title(passage.title, " ".join(passage.text[part.start : part.end].split()))


def _cosines(engine: Marking, requests: Sequence[tuple[str, Sequence[str]]]) -> list[list[float]]:
    """Return the cosine of each text of each request to its question."""
    unique = list(dict.fromkeys(text for question, texts in requests if texts for text in (question, *texts)))
    if not unique:
        return [[] for _ in requests]
    vectors = dict(zip(unique, engine.embed(unique), strict=True))
    return [[float(vectors[question] @ vectors[text]) for text in texts] for question, texts in requests]
