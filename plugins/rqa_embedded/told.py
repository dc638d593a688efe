"""What passages tell: the likeliest spans of each window, as the model marks them, and what patterns find there."""

from __future__ import annotations

import dataclasses
import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from robust_qa import Passage
from robust_qa.english import Candidate, candidates
from robust_qa.kit import answer_key, normalise, sentences

from .names import undivided
from .windows import Window, firsts, head

if TYPE_CHECKING:
    from .engine import Marks, Settings

LONGEST = 24  # tokens of an answer
KEPT = 4  # spans of a window that may be chosen
# What a span costs by the square of the tokens between its ends: these are marked apart, and far from each other they
# may be those of two answers, where a name of a few words hardly is.
_DEARER = 0.005
_LOOKED_AT = 20  # best sums of a window among which those spans are found; far below the best all is chance
_SECOND = 0.5  # share of what patterns say of themselves that is believed: they were fitted to other passages
_BEFORE = re.compile(r"(?<![^\s(\[\"“‘])[-−‐-–$£€<>≤≥.]{1,3} ?\Z")
_PREPOSITIONS = frozenset("about as at by during for from in into of over through to under until with".split())
_CALENDAR = re.compile(
    r"\b(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|January|February|March|April|May|June|July|August|September"
    r"|October|November|December)\b"
)
_AFTER = re.compile(r"[+#]+(?!\w)")
# The words that name what is asked for: "which southern sea", "what police department".
_ASKED = re.compile(
    r"\b(?:what|which)((?: (?!(?:of|is|are|was|were|do|does|did|has|have|had|can|could|will|would)\b)[\w'’-]+){1,3})",
    re.I,
)
_KIND_BEHIND = re.compile(r" ([A-Z]\w+)\b")
# After another word of a title it is the end of that: "Vice President Agnew".
_KIND_BEFORE = re.compile(
    r"(?:\b(?:[a-z]+|The)|,) (?!(?:City|County|Province|State|Town) of)([A-Z]\w+) (?:of (?:the )?)?\Z"
)
_NAME_BEFORE = re.compile(r"(?:\b[A-Z][\w'’-]* )+\Z")
_NEAR = 60  # characters before a span in which the rest of its name is looked for

Marked = tuple[Window, "Marks"]
Fits = Callable[[str], bool]  # of an answer in normal form


class Evidence(NamedTuple):
    """What speaks for a span: its score above that of "not here", and the two scores of its window."""

    margin: float
    answered: float
    relevant: float


_NOTHING = Evidence(0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Span:
    """A candidate: its passage, its characters there (of the title and text together), and how likely it is right."""

    passage: int
    start: int
    end: int
    shift: int
    evidence: Evidence
    likely: float


Told = Mapping[str, Mapping[int, Span]]  # by answer in normal form and by passage


def spans(window: Window, marks: Marks, settings: Settings) -> list[Span]:
    """The KEPT best spans of a window, best first; of overlapping ones the better. Each is of one sentence."""
    import numpy as np

    size = len(window.places)
    if not size:
        return []
    start = marks.start[window.first : window.first + size]
    end = marks.end[window.first : window.first + size]
    longer = np.arange(size) - np.arange(size)[:, None]
    parts = np.array(window.parts)
    allowed = (longer >= 0) & (longer < LONGEST) & (parts >= 0) & (parts == parts[:, None])
    sums = np.where(allowed, start[:, None] + end - _DEARER * longer**2, -np.inf)
    null = float(marks.start[0] + marks.end[0])
    kept: list[tuple[int, int]] = []
    found = []
    flat = sums.ravel()
    best = np.argpartition(-flat, min(_LOOKED_AT, flat.size - 1))[:_LOOKED_AT]
    for at in best[np.argsort(-flat[best], kind="stable")]:
        first, last = divmod(int(at), size)
        if not allowed[first, last] or any(first <= b and last >= a for a, b in kept):
            continue
        kept.append((first, last))
        evidence = Evidence(float(flat[at]) - null, marks.answered, marks.relevant)
        places = window.places[first][0], window.places[last][1]
        found.append(Span(window.passage, *places, window.shift, evidence, likelihood(settings.span, evidence)))
        if len(found) == KEPT:
            break
    return found


def likelihood(weights: Sequence[float], features: Sequence[float]) -> float:
    """The logistic function of the first weight and the others times `features`."""
    odds = weights[0] + sum(weight * value for weight, value in zip(weights[1:], features, strict=True))
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, odds))))


def told_by(passages: Sequence[Passage], marked: Sequence[Marked], settings: Settings, fits: Fits | None) -> Told:
    """The candidates that fit by what they say, in normal form, with the likeliest span of each passage."""
    told: dict[str, dict[int, Span]] = defaultdict(dict)
    for window, marks in marked:
        for found in spans(window, marks, settings):
            span = _named(_entire(found, passages[window.passage]), passages[window.passage], window.question)
            text = text_of(passages[span.passage], span)
            key = answer_key(text)
            if _says(text) and (fits is None or fits(key)):
                held = told[key].get(span.passage)
                if held is None or span.likely > held.likely:
                    told[key][span.passage] = span
    return told


def _says(text: str) -> bool:
    """Whether `text` says anything: an article or a preposition does not; the grade A and the band The Who do."""
    return (bool(normalise(text)) and text not in _PREPOSITIONS) or text.isupper()


def _entire(span: Span, passage: Passage) -> Span:
    """`span` with what is seldom marked of it: accents of its last letter that are characters of their own, and signs.

    Those count that `answer_key` tells apart, as of -15, .5, < 5, C++ and O+; and of $25 and 10%, which it does not.
    Of a path, a file or the like, which the model's tokens divide, it is the whole name.
    """
    text = head(passage.title) + passage.text
    start, end = span.start, span.end
    while end < len(text) and unicodedata.combining(text[end]):
        end += 1
    key = answer_key(text[start:end])
    before = _BEFORE.search(text[max(0, start - 5) : start]) if re.match(r"[£€]?\d", key) else None
    if before and before[0][0] in "<>":
        line = text[: start - len(before[0])].rpartition("\n")[2].split()
        # The first sign of a line quotes it, and one after a name is a step of a path.
        before = before if line and not line[-1][0].isupper() else None
    if before and answer_key(before[0] + text[start:end]) != key:
        start -= len(before[0])
    after = _AFTER.match(text, end)
    if after and answer_key(text[start:end] + after[0]) != answer_key(text[start:end]):
        end = after.end()
    if text[start].isdigit() and text[start - 1 : start] in ("$", "£", "€"):
        start -= 1
    if text[end - 1].isdigit() and text.startswith("%", end):
        end += 1
    start, end = undivided(text, start, end)
    return dataclasses.replace(span, start=start, end=end)


def kinds_in(question: str) -> set[str]:
    """The words for what `question` asks for: "which southern sea" has two."""
    return {word for asked in _ASKED.finditer(question) for word in asked[1].split() if word.islower()}


def _named(span: Span, passage: Passage, question: str) -> Span:
    """`span` with the word of its kind, where the question asks for one: "which sea" is the Black Sea, and not Black.

    Behind it, before it ("Treaty of Waitangi"), or where the span is that word alone, with the name.
    """
    text = head(passage.title) + passage.text
    start, end = span.start, span.end
    kinds = kinds_in(question)
    if not kinds or not text[start].isupper():
        return span

    def before(pattern: re.Pattern[str]) -> re.Match[str] | None:
        return pattern.search(text, max(0, start - _NEAR), start)

    while text[start:end].split()[-1][0].isupper():
        behind = _KIND_BEHIND.match(text, end)
        if not behind or behind[1].lower() not in kinds:
            break
        end = behind.end()
    if (kind := before(_KIND_BEFORE)) and kind[1].lower() in kinds:
        start = kind.start(1)
    if text[start:end].lower() in kinds and (name := before(_NAME_BEFORE)):
        start = name.start()
    return dataclasses.replace(span, start=start, end=end)


def seconded(told: Told, passages: Sequence[Passage], marked: Sequence[Marked], fits: Fits | None) -> Told:
    """`told` with the short answers that patterns find: they err where the model does not, and the other way round.

    What a passage tells is as likely right as that one of the two is. A span that patterns find more of is that.
    """
    if fits is not None or not marked:
        return told
    found: dict[tuple[str, int], Candidate] = {}
    distinct = sorted(set(firsts(passages)))
    for candidate in candidates(marked[0][0].question, [passages[n] for n in distinct])[1]:
        passage = distinct[candidate.passage]
        text = passages[passage].text[candidate.start : candidate.end]
        if _says(text):
            at = answer_key(text), passage
            found[at] = max(found.get(at, candidate), candidate, key=lambda one: one.logit)
    both = {key: dict(group) for key, group in told.items()}
    for (key, passage), candidate in found.items():
        shift = len(head(passages[passage].title))
        places = candidate.start + shift, candidate.end + shift
        span = Span(passage, *places, shift, _NOTHING, _SECOND * candidate.likely)
        for other, group in both.items():
            held = group.get(passage)
            whole = held and _is_whole(span, held, passages[passage], marked[0][0].question)
            if held and (whole or key == other):
                likely = 1 - (1 - held.likely) * (1 - span.likely)
                span = dataclasses.replace(span if whole else held, likely=likely)
                del group[passage]
        both.setdefault(key, {})[passage] = span
    return {key: group for key, group in both.items() if group}


def _is_whole(span: Span, part: Span, passage: Passage, question: str) -> bool:
    """Whether `span` is what `part` was cut from: "South Sudan", "300 m", and not the other Sudan.

    What stands after a comma ("Hull, England"), or in the question ("12 years"), may be left out; and what has a
    capital for another reason: the first word of a sentence ("Currently Bob Ray"), a month, the line before.
    """
    if not span.start <= part.start < part.end <= span.end:
        return False
    before = text_of(passage, dataclasses.replace(span, end=part.start))
    added = f"{before} {text_of(passage, dataclasses.replace(span, start=part.end))}"
    named = not any(character.isdigit() for character in text_of(passage, span))
    if named and before.strip():
        begins = any(start + span.shift == span.start for start, _ in sentences(passage.text))
        if begins or _CALENDAR.search(before):
            return False
    return not re.search(r"[,\n\t]", added) and set(answer_key(question).split()).isdisjoint(answer_key(added).split())


def text_of(passage: Passage, span: Span) -> str:
    """The words of `span`."""
    return (head(passage.title) + passage.text)[span.start : span.end]
