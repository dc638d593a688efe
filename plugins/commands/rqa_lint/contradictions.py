"""Statements of different documents that cannot both hold: other numbers or names, allowed and forbidden.

Two sentences may be about the same thing if they share their words, weighted by tf-idf; the title and the headings
above count, too. A pair is judged if each is the most similar one to the other in its document. Two documents with
names as rules-2019.md and rules-2023.md are versions of one. Other documents must be in one folder, and the sentences
share a name; if such documents have equal paragraphs, they were made from one template, and differ on purpose. The
judge says whether a pair contradicts itself, both ways.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from robust_qa import Judgment, kit
from robust_qa.kit import content_terms, words
from rqa_claims import Relation, Value, relate, values, without
from rqa_files import Document

from .reports import Finding, Place

Judge = Callable[[str, Sequence[str]], Awaitable[list[Judgment]]]

CONTRADICTS = 0.8  # least mean probability of both directions
_SMOOTH = 20  # so that a few documents weigh a rare word hardly more than one that both have
_HEADING = 0.5  # weight of a word of the title or the headings, against 1 for a word of the sentence
_LONGEST = 60  # words of a statement
_FEWEST = 3  # content words of a statement
_COMMON = 0.01  # of all statements; a word in more of them, and in more than 50, finds no candidates
_SAME = 2  # content words beside the values of a statement that another one contains
_FIELDS = 3  # "Name: value" in a statement; more are a header
_FORM = 3  # files with the same words around other values: a form, such as "last modified on"
_JUDGED = 2000  # pairs, the most similar
_SAID = 6  # words of a difference that is told
_NAME = re.compile(r"(?<=[\w,;(] )[A-Z]\w*[a-z]\w*")  # not the first word of a sentence
_ASIDE = re.compile(r"\b\w+://\S+|^\W*\d*\.? ")
_YEAR = re.compile(r"(?:19|20)\d\d")
_CLAUSE_END = re.compile(r"[,;]\s")
_VERSION = re.compile(
    r"v?\d+(?:[._]\d+)*|old|new|draft|final|copy|previous|current|archive[d]?|revised|rev|version|updated?|latest"
)


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence: its place, its file, its words, and the words above it."""

    place: Place
    file: str
    words: tuple[str, ...]
    above: frozenset[str]


def statements(document: Document, file: str) -> Iterator[Statement]:
    """Yield the sentences of `document` that can disagree with others."""
    headings: list[tuple[int, str]] = []
    for block in document.blocks:
        if block.kind == "heading":
            headings = [*(each for each in headings if each[0] < block.level), (block.level, block.text)]
            continue
        if block.kind == "code":
            continue
        above = frozenset(content_terms(" ".join([document.title, *(text for _, text in headings)])))
        for start, end in kit.statements(block.text):
            text = " ".join(block.text[start:end].split())
            own = tuple(content_terms(text))
            if (
                len(set(own)) < _FEWEST
                or len(text.split()) > _LONGEST
                or text.endswith("?")
                or text.count(": ") > _FIELDS
            ):
                continue
            place = Place(document.source, block.line_numbers[block.text.count("\n", 0, start)], text)
            yield Statement(place, file, own, above)


async def contradictions(
    given: Sequence[Statement], least: float, siblings: Collection[frozenset[str]], judge: Judge
) -> list[Finding]:
    """Return pairs of statements with a similarity of `least` or more that the judge finds contradictory, surest first.

    `siblings` are pairs of files with equal paragraphs.
    """
    given = _without_forms(given)
    pairs = [
        (one, other, similarity)
        for one, other, similarity in _mutually_nearest(given)
        if similarity >= least and _comparable(given[one], given[other], siblings)
    ]
    pairs = sorted(pairs, key=lambda pair: -pair[2])[:_JUDGED]
    found = []
    for one, other, _ in pairs:
        first, second = given[one].place, given[other].place
        if _bare(first.text) == _bare(second.text):
            continue
        apart = excluding(first.text, second.text) if ": " not in f"{first.text}{second.text}" else ()  # of a form
        ahead, back = await _judged(first.text, second.text, judge), await _judged(second.text, first.text, judge)
        certain = (ahead + back) / 2
        if apart:  # one may say more, so that only the other is contained in it
            cores = _core(first.text, apart[0]), _core(second.text, apart[1])
            certain = max(
                ahead, back, await _judged(cores[0], second.text, judge), await _judged(cores[1], first.text, judge)
            )
        if certain >= CONTRADICTS:
            files = given[one].file, given[other].file
            message = " or ".join(each.text for each in apart) or _difference(first.text, second.text)
            found.append(Finding("disagreement", message, (first, second), certain, files))
    return sorted(found, key=lambda each: -each.score)


def _comparable(one: Statement, other: Statement, siblings: Collection[frozenset[str]]) -> bool:
    """Return whether two statements can be about one thing.

    They can if they are of versions, or of one folder with a name in common, or with all words of the shorter one in
    common around other values.
    """
    if _of_other_years(one, other):
        return False
    if are_versions(one.file, other.file):
        return True
    names = {*_NAME.findall(one.place.text)} | {*_NAME.findall(other.place.text)}
    shared = any(name in one.place.text and name in other.place.text for name in names)
    apart = Path(one.file).parent != Path(other.file).parent or frozenset((one.file, other.file)) in siblings
    return not apart and (shared or _differs_in_values(one.place.text, other.place.text))


def _of_other_years(one: Statement, other: Statement) -> bool:
    """Return whether two statements are rows of tables of different years."""
    years = [{word for word in each.above if _YEAR.fullmatch(word)} for each in (one, other)]
    are_rows = all(kit.cells_of(each.place.text) for each in (one, other))
    return are_rows and all(years) and years[0].isdisjoint(years[1])


async def _judged(claim: str, text: str, judge: Judge) -> float:
    [judgment] = await judge(claim, [text])
    return judgment.contradicted


def _core(text: str, value: Value) -> str:
    """Return a statement without what follows the clause of `value`: "It was built in 1817, the oldest here"."""
    after = _CLAUSE_END.search(text, value.end)
    return text[: after.start()] + "." if after else text


def _differs_in_values(one: str, other: str) -> bool:
    """Return whether two sentences have the same words, or one of them more, around values that exclude each other."""
    if not all(text.rstrip().endswith((".", "!")) and ": " not in text for text in (one, other)):
        return False  # fields of forms, and items of lists
    fewer, more = sorted(({*content_terms(without(text, values(text)))} for text in (one, other)), key=len)
    return len(fewer) >= _SAME and fewer <= more and bool(excluding(one, other))


def excluding(one: str, other: str) -> tuple[Value, Value] | tuple[()]:
    """Return the first two values of statements that exclude each other, and that agree with no other one there."""
    pairs = [(first, second, relate(first, second)) for first in values(one) for second in values(other)]
    comparable = [
        pair
        for pair in pairs
        if pair[2] is not Relation.INCOMPARABLE and not pair[0].kind.startswith(("version", "label", "ordinal"))
    ]
    alike = {each for *pair, relation in comparable if relation is not Relation.EXCLUDED for each in pair}
    apart = ((first, second) for first, second, relation in comparable if relation is Relation.EXCLUDED)
    return next((pair for pair in apart if not {*pair} & alike), ())


def _bare(text: str) -> list[str]:
    """Return the words without addresses and without the mark of a list item."""
    return words(_ASIDE.sub("", text))


def are_versions(one: str, other: str) -> bool:
    """Return whether two file names differ only in words that name a version."""
    return _subject(one) == _subject(other)


def _subject(file: str) -> frozenset[str]:
    return frozenset(
        word for word in re.split(r"[\W_]+", Path(file).stem.lower()) if word and not _VERSION.fullmatch(word)
    )


def _without_forms(given: Sequence[Statement]) -> list[Statement]:
    """Leave out statements that many files have with other digits or names."""
    files: dict[str, set[str]] = defaultdict(set)
    keys = [re.sub(r"\d+|(?<=[\w,;(] )[A-Z]\w*", "_", each.place.text) for each in given]
    for key, each in zip(keys, given, strict=True):
        files[key].add(each.file)
    return [each for key, each in zip(keys, given, strict=True) if len(files[key]) < _FORM]


def _mutually_nearest(given: Sequence[Statement]) -> Iterator[tuple[int, int, float]]:
    """Yield the statements of two files that are each other's most similar ones, with their similarity."""
    nearest: dict[tuple[int, str], tuple[float, int]] = {}
    for (one, other), value in _similarities(given).items():
        key = one, given[other].file
        nearest[key] = max(nearest.get(key, (0.0, -1)), (value, -other))
    for (one, file), (value, negative) in nearest.items():
        if given[one].file < file and nearest[-negative, given[one].file][1] == -one:
            yield one, -negative, value


def _similarities(given: Sequence[Statement]) -> dict[tuple[int, int], float]:
    """Return the cosines of statements of two files that share a word which is not too common, both ways."""
    vectors = _vectors(given)
    holders: dict[str, list[int]] = defaultdict(list)
    for number, vector in enumerate(vectors):
        for word in vector:
            holders[word].append(number)
    most = max(_COMMON * len(given), 50)
    found: dict[tuple[int, int], float] = defaultdict(float)
    for word, having in holders.items():
        if len(having) <= most:
            for one in having:
                for other in having:
                    if given[one].file != given[other].file:
                        found[one, other] += vectors[one][word] * vectors[other][word]
    return found


def _vectors(given: Sequence[Statement]) -> list[Mapping[str, float]]:
    """Return the tf-idf vector of each statement, of length 1."""
    frequency = Counter(word for each in given for word in {*each.words, *each.above})
    vectors: list[Mapping[str, float]] = []
    for each in given:
        counts = {**dict.fromkeys(each.above, _HEADING), **dict.fromkeys(each.words, 1.0)}
        weights = {word: count * math.log(len(given) / frequency[word] + _SMOOTH) for word, count in counts.items()}
        length = math.sqrt(sum(weight * weight for weight in weights.values())) or 1.0
        vectors.append({word: weight / length for word, weight in weights.items()})
    return vectors


def _difference(one: str, other: str) -> str:
    """Return the words in which two sentences differ, such as "allowed or forbidden", if these are few."""
    first, second = one.rstrip(".!").split(), other.rstrip(".!").split()
    blocks = SequenceMatcher(None, first, second, autojunk=False).get_opcodes()
    changed = [(first[a:b], second[c:d]) for tag, a, b, c, d in blocks if tag != "equal"]
    if len(changed) <= 2 and all(0 < len(side) <= _SAID for pair in changed for side in pair):
        return "; ".join(f"{' '.join(mine)} or {' '.join(theirs)}" for mine, theirs in changed)
    return "These cannot both hold"
