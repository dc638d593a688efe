"""From evidence to an answer: the one that the passages support most, its confidence, and its rivals."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from robust_qa import PROBABLE, Passage, Reading
from robust_qa.kit import answer_key, content_terms, quantities, sentences

from .evidence import Evidence, Part, find_evidence, find_parts, logistic, without
from .spans import Span, text_of
from .windows import firsts

if TYPE_CHECKING:
    from .engine import Marking, Settings

_MOST_RIVALS = 3
_MENTION = 0.5  # voice of a document that has an answer among its spans, but does not tell it
_ASKED_AGAIN = 4  # passages of other documents
_RIVAL = PROBABLE  # confidence from which an answer of the other documents alone is a rival
_SAME_THING = 1 / 3  # two sentences about the same thing share more than this part of their words
_LEAST_LOGIT = -12.0  # of a part that is not among the most relevant
_LEAST_SHARE = -6.0  # log of the least share of relevance

Answers = Mapping[str, Mapping[int, Span]]  # the best span of each answer, by `answer_key` and by passage


@dataclass(frozen=True, slots=True)
class Choice:
    """An answer and its spans, one for each passage that has it, best first.

    `odds` is the log-odds of its best span against "no answer" and all other answers. `share` is the log of its
    passages' part of all relevance.
    """

    key: str
    spans: tuple[Span, ...]
    odds: float
    share: float

    def confidence(self, settings: Settings) -> float:
        """Return the probability that the answer is right."""
        bias, odds, share = settings.answer
        return logistic(bias + odds * self.odds + share * self.share)


def choose(evidence: Evidence, parts: Sequence[Part]) -> Choice | None:
    """Return the answer that all passages together support most, None if there is no text.

    A document supports an answer with its best span that says the same in more or fewer words ("Obama", "Barack
    Obama"): with the span's share of the document's spans, and the probability that the part around it is relevant. So
    a document has one voice, however sure its words are.
    """
    answers = _answers(evidence)
    if not answers:
        return None

    def relevance(span: Span) -> float:
        return max((part.logit for part in parts if _in_part(span, part)), default=_LEAST_LOGIT)

    def document(span: Span) -> str:
        return _document(evidence.passages[span.passage])

    margins: dict[str, list[float]] = defaultdict(lambda: [0.0])  # of each document's spans, and of no answer
    for span in (span for spans in answers.values() for span in spans.values()):
        margins[document(span)].append(span.margin)

    def voice(span: Span) -> float:
        return math.exp(span.margin - _log_sum(margins[document(span)])) * logistic(relevance(span))

    def support(key: str) -> tuple[float, float]:
        best: dict[str, float] = {}
        for span in (span for other in _alike_keys(answers, key) for span in answers[other].values()):
            best[document(span)] = max(best.get(document(span), 0.0), voice(span))
        return round(sum(best.values()), 3), max(span.margin + relevance(span) for span in answers[key].values())

    return _choice(answers, max(answers, key=support), parts)


def heard_again(engine: Marking, found: Sequence[Evidence]) -> list[tuple[Evidence, list[Part]]]:
    """Ask the other documents again, in the words of the likeliest answer's sentence. Return evidence and parts.

    "When was the lighthouse built?" is too short to be told from other lighthouses. The sentence that answers it says
    what it is about, so with its words, but without its answer, the question finds who contradicts it.
    """
    asked: dict[int, list[int]] = {}
    requests = []
    heard = list(zip(found, find_parts(engine, found), strict=True))
    for at, (evidence, parts) in enumerate(heard):
        choice = choose(evidence, parts)
        if choice is None or choice.confidence(engine.settings) < PROBABLE or choice.spans[0].place is None:
            continue
        own = _same_documents(evidence, choice)
        others = sorted(evidence.relevant.keys() - own, key=lambda n: (-evidence.relevant[n], n))[:_ASKED_AGAIN]
        if others:
            asked[at] = others
            question = f"{evidence.question} {_rest(evidence, choice.spans[0])}"
            requests.append((question, [evidence.passages[n] for n in others]))
    both = []
    for (at, others), again in zip(asked.items(), find_evidence(engine, requests), strict=True):
        spans = [replace(span, passage=others[span.passage]) for span in again.spans]
        relevant = {others[n]: score for n, score in again.relevant.items()}
        before = found[at]
        scores = {n: max(score, relevant.get(n, score)) for n, score in before.relevant.items()}
        both.append(Evidence(before.question, before.passages, [*before.spans, *spans], scores))
    for at, pair in zip(asked, zip(both, find_parts(engine, both), strict=True), strict=True):
        heard[at] = pair
    return heard


def _rest(evidence: Evidence, span: Span) -> str:
    """Return the sentence of `span` without its words."""
    text, (start, end) = evidence.passages[span.passage].text, span.place or (0, 0)
    first, last = next(((a, b) for a, b in sentences(text) if a <= start < b), (start, end))
    return " ".join(f"{text[first:start]} {text[end:last]}".split())


def read(evidence: Evidence, parts: Sequence[Part], settings: Settings, threshold: float) -> Reading:
    """Return the likeliest answer with its places and rivals, or no answer if its confidence is below `threshold`.

    Rivals say something else about the same thing. Without an answer, they begin with the likeliest answer.
    """
    sides = _sides(evidence, parts, settings)
    if not sides:
        return Reading(None)
    best, *others = (_reading(evidence.passages, choice, confidence) for confidence, choice in sides)
    claim = _claim(best, evidence.passages)
    rivals = (other for other in others if _contradict(claim, _claim(other, evidence.passages)))
    if sides[0][0] >= threshold:
        return replace(best, rivals=tuple(rivals))
    return Reading(None, rivals=(best, *rivals))


def _sides(evidence: Evidence, parts: Sequence[Part], settings: Settings) -> list[tuple[float, Choice]]:
    """Return the answers that contradict each other with their confidences, likeliest first.

    After the chosen answer, each is what the other documents alone would answer, if that is probable. At most one is
    right, so the confidence of a side is its share of the voices of all documents and of no answer.
    """
    sides: list[Choice] = []
    documents: list[set[int]] = []  # the passages of each side's documents
    while len(sides) <= _MOST_RIVALS:
        left, rest = _keep(evidence, parts, set(evidence.relevant).difference(*documents))
        choice = choose(left, rest)
        if choice is None or any(_compatible(choice.key, other.key) for other in sides):
            break
        if sides and choice.confidence(settings) < _RIVAL:
            break
        sides.append(choice)
        documents.append(_same_documents(left, choice))
    if len(sides) < 2:
        return [(choice.confidence(settings), choice) for choice in sides]
    others = set(evidence.relevant).difference(*documents)
    told = [_told(evidence, parts, choice, own, settings) for choice, own in zip(sides, documents, strict=True)]
    mentioned = [_MENTION * _mentions(evidence, choice, others) for choice in sides]
    total = 1 - max(map(max, told)) + sum(map(sum, told)) + sum(mentioned)
    shares = [((sum(own) + more) / total, choice) for own, more, choice in zip(told, mentioned, sides, strict=True)]
    return sorted(shares, key=lambda side: -side[0])


def _told(
    evidence: Evidence, parts: Sequence[Part], choice: Choice, passages: set[int], settings: Settings
) -> list[float]:
    """Return the confidence with which each document alone gives the answer of `choice`. None counts more than one."""
    found = [0.0]
    for document in {_document(evidence.passages[number]) for number in passages}:
        own = {number for number in passages if _document(evidence.passages[number]) == document}
        alone = choose(*_keep(evidence, parts, own))
        if alone is not None and _alike(alone.key, choice.key):
            found.append(alone.confidence(settings))
    return found


def _mentions(evidence: Evidence, choice: Choice, passages: set[int]) -> int:
    """Return the number of documents among `passages` that have the answer of `choice` among their spans."""
    spans = (span for span in evidence.spans if span.passage in passages and _alike(_key(evidence, span), choice.key))
    return len({_document(evidence.passages[span.passage]) for span in spans})


def _keep(evidence: Evidence, parts: Sequence[Part], passages: set[int]) -> tuple[Evidence, list[Part]]:
    left_out = set(evidence.relevant) - passages
    return without(evidence, left_out), [part for part in parts if part.passage in passages]


def _same_documents(evidence: Evidence, choice: Choice) -> set[int]:
    """Return the passages of all documents that give the answer of `choice`."""
    answers = _answers(evidence)
    telling = _by_passage(answers, _alike_keys(answers, choice.key))
    numbers = {choice.spans[0].passage, *(number for number, span in telling.items() if span.margin > 0)}
    documents = {_document(evidence.passages[number]) for number in numbers}
    return {number for number in evidence.relevant if _document(evidence.passages[number]) in documents}


def _answers(evidence: Evidence) -> Answers:
    found: dict[str, dict[int, Span]] = defaultdict(dict)
    for span in sorted(evidence.spans, key=lambda span: -span.margin):
        if key := _key(evidence, span):
            found[key].setdefault(span.passage, span)
    return found


def _key(evidence: Evidence, span: Span) -> str:
    return answer_key(text_of(evidence.passages[span.passage])[span.start : span.end])


def _choice(answers: Answers, key: str, parts: Sequence[Part]) -> Choice:
    """Return the answer `key` with what speaks for it."""
    alike = _alike_keys(answers, key)
    supporting = _by_passage(answers, alike)
    best = max(span.margin for span in answers[key].values())
    others = (span.margin for other, spans in answers.items() if other not in alike for span in spans.values())
    own = sorted(answers[key].values(), key=lambda span: -span.margin)
    held = [part.logit for part in parts if any(_in_part(span, part) for span in supporting.values())]
    share = _log_sum(held) - _log_sum(part.logit for part in parts) if held else _LEAST_SHARE
    return Choice(key, tuple(own), best - _log_sum([0.0, *others]), max(_LEAST_SHARE, share))


def _in_part(span: Span, part: Part) -> bool:
    """Whether `span` is in `part`. A title belongs to all parts of its passage."""
    return span.passage == part.passage and (span.place is None or part.start <= span.place[0] < part.end)


def _document(passage: Passage) -> str:
    return passage.source or passage.title or passage.text


def _by_passage(answers: Answers, keys: Iterable[str]) -> dict[int, Span]:
    """Return the best span of each passage among the answers `keys`."""
    best: dict[int, Span] = {}
    for key in keys:
        for number, span in answers[key].items():
            if number not in best or span.margin > best[number].margin:
                best[number] = span
    return best


def _alike_keys(answers: Answers, key: str) -> set[str]:
    """Return the answers that say the same as `key` in more or fewer words."""
    return {other for other in answers if _alike(key, other)}


def _alike(one: str, other: str) -> bool:
    """Return whether one answer has all words of the other in a row."""
    return f" {one} " in f" {other} " or f" {other} " in f" {one} "


def _compatible(one: str, other: str) -> bool:
    """Return whether two answers need not contradict: one has all words of the other, or other spaces."""
    fewer, more = sorted((set(one.split()), set(other.split())), key=len)
    return fewer <= more or one.replace(" ", "") == other.replace(" ", "")


Claim = tuple[frozenset[str], dict[str, str]]  # the other words of an answer's sentence, and its quantities by kind


def _claim(reading: Reading, passages: Sequence[Passage]) -> Claim:
    text = passages[reading.passages[0]].text
    if reading.start is None or reading.end is None:  # an answer in a title has no sentence
        return frozenset(), {}
    at = reading.start
    first, last = next(((a, b) for a, b in sentences(text) if a <= at < b), (reading.start, reading.end))
    own = [each for each in quantities(text[first:last]) if each.start < reading.end - first and at - first < each.end]
    words = frozenset(content_terms(f"{text[first:at]} {text[reading.end : last]}"))
    return words, {each.kind: each.value for each in own}


def _contradict(one: Claim, other: Claim) -> bool:
    """Return whether two sentences say something else about the same thing, such as another price for it."""
    (words, values), (other_words, other_values) = one, other
    if values or other_values:
        kinds = values.keys() & other_values.keys()
        if all(values[kind] == other_values[kind] for kind in kinds):
            return False
    return len(words & other_words) > _SAME_THING * len(words | other_words)


def _log_sum(values: Iterable[float]) -> float:
    """Return the log of the sum of the exponentials of `values`."""
    found = list(values)
    most = max(found)
    return most + math.log(sum(math.exp(value - most) for value in found))


def _reading(passages: Sequence[Passage], choice: Choice, confidence: float) -> Reading:
    """Return the answer of `choice` as one line, with its places, also in copies of its passages."""
    best = choice.spans[0]
    text = " ".join(text_of(passages[best.passage])[best.start : best.end].split())
    first = firsts(passages)
    places = {
        number: _place(passages[number], span, text_of(passages[at])[span.start : span.end])
        for span in choice.spans
        for number, at in enumerate(first)
        if at == span.passage
    }
    start, end = next(iter(places.values()))
    starts = tuple(start for start, _ in places.values())
    return Reading(text, score=confidence, passages=tuple(places), start=start, end=end, places=starts)


def _place(passage: Passage, span: Span, words: str) -> tuple[int, int] | tuple[None, None]:
    """Return the characters of `span` in the text, found by search for the title's and in a copy with other spaces."""
    if span.place is not None and passage.text[slice(*span.place)] == words:
        return span.place
    spaced = r"\s+".join(map(re.escape, words.split()))
    match = re.search(rf"(?<!\w){spaced}(?!\w)", passage.text)
    return match.span() if match else (None, None)
