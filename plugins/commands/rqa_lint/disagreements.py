"""Statements of different documents about the same thing with other numbers, years, dates or versions.

Two sentences are about the same thing if they have a quantity of the same kind and share their other words, weighted by
tf-idf; the title and the headings above count, too. Two statements are paired if each is the most similar one to the
other in its document. Two versions of a document, by their names, are about the same things. Other documents must be in
one folder, and the sentences must share a name.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from robust_qa import kit
from robust_qa.documents import Document
from robust_qa.kit import Quantity, content_terms, quantities, same_value

from .reports import Finding, Place

_YEAR = re.compile(r"\b(?:in|since|until|by) (?P<year>(?:1\d|20)\d\d)\b(?![-.,]\d)")
_NAME = re.compile(r"(?<=[\w,;(] )[A-Z]\w*[a-z]\w*")  # not the first word of a sentence
_SMOOTH = 20  # so that a few documents weigh a rare word hardly more than one that both have
_HEADING = 0.5  # weight of a word of the title or the headings, against 1 for a word of the sentence
_LONGEST = 600  # characters of a statement
_FEWEST = 3  # words of a statement besides its quantities
_COMMON = 0.2  # of all statements; a word in more of them finds no candidates
_MOST = 4  # quantities of a statement; more are a list or a header
_FIELDS = 3  # "Name: value" in a statement; more are a header
_TEMPLATE = 3  # files with the same words around different quantities: a form, such as "last modified on"
_RELATED = 0.75  # factor on the least similarity if one file has the name of the other, as copies of a version do


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence with quantities: its place, its other words, and the words above it."""

    place: Place
    file: str
    quantities: tuple[Quantity, ...]
    words: tuple[str, ...]
    above: frozenset[str]

    def shares(self, other: Statement, kind: str) -> bool:
        """Return whether both have a value of that kind in common."""
        return any(
            one.kind == two.kind == kind and same_value(kind, one.value, two.value)
            for one in self.quantities
            for two in other.quantities
        )


def statements(document: Document, file: str) -> Iterator[Statement]:
    """Yield the sentences of `document` that have quantities."""
    headings: list[tuple[int, str]] = []
    for block in document.blocks:
        if block.kind == "heading":
            headings = [*(each for each in headings if each[0] < block.level), (block.level, block.text)]
            continue
        if block.kind == "code":
            continue
        above = frozenset(content_terms(" ".join([document.title, *(text for _, text in headings)])))
        for start, end in kit.statements(block.text):
            text = block.text[start:end]
            if len(text) > _LONGEST or text.count(": ") > _FIELDS or not 0 < len(found := _quantities(text)) <= _MOST:
                continue
            words = tuple(word for word in content_terms(_without(text, found)) if word.isalpha())
            if len(set(words)) >= _FEWEST:
                place = Place(document.source, block.line + block.text.count("\n", 0, start), " ".join(text.split()))
                yield Statement(place, file, tuple(found), words, above)


def _quantities(text: str) -> list[Quantity]:
    """Return the quantities of `text`, and the years that stand alone, as in "built in 1871"."""
    years = [Quantity("year", match["year"], match["year"], *match.span("year")) for match in _YEAR.finditer(text)]
    starts = {each.start for each in years}
    others = [each for each in quantities(text) if each.kind != "year"]
    # "1817 near the coast" is no count.
    others = [each for each in others if not (each.kind.startswith("count ") and each.start in starts)]
    within = [year for year in years if not any(each.start <= year.start < each.end for each in others)]
    return sorted([*within, *others], key=lambda each: each.start)


def disagreements(given: Sequence[Statement], least: float, siblings: Collection[frozenset[str]] = ()) -> list[Finding]:
    """Return pairs of statements whose similarity is `least` or more.

    `siblings` are pairs of files with equal paragraphs, such as two policies from one template. If their names do not
    say that they are versions, they differ on purpose.
    Files of which one has all words of the other's name come first, and need less. Then the most similar come first.
    """
    given = _without_templates(given)
    vectors = _vectors(given)
    by_kind: dict[str, list[int]] = defaultdict(list)
    for number, statement in enumerate(given):
        for kind in dict.fromkeys(each.kind for each in statement.quantities):
            by_kind[kind].append(number)
    pairs: dict[tuple[int, int], dict[str, float]] = defaultdict(dict)
    for kind, numbers in by_kind.items():
        for one, other, similarity in _mutually_nearest(given, vectors, numbers, kind):
            alike = frozenset((given[one].file, given[other].file)) in siblings
            versions = are_versions(given[one].file, given[other].file, alike=alike)
            if not versions and (alike or not _of_one(given[one], given[other])):
                continue
            needed = least * _RELATED if versions else least
            if similarity >= needed and not given[one].shares(given[other], kind):
                pairs[one, other][kind] = similarity

    def rank(item: tuple[tuple[int, int], dict[str, float]]) -> tuple[bool, float, tuple[int, int]]:
        (one, other), kinds = item
        return not _related(given[one].file, given[other].file), -max(kinds.values()), (one, other)

    ranked = sorted(pairs.items(), key=rank)
    return [
        Finding(
            "disagreement",
            _said(given[one], given[other], kinds),
            (given[one].place, given[other].place),
            max(kinds.values()),
            (given[one].file, given[other].file),
        )
        for (one, other), kinds in ranked
    ]


def are_versions(one: str, other: str, *, alike: bool) -> bool:
    """Return whether two files are versions of a document: by their names, and their folders or equal paragraphs."""
    folders = Path(one).parent, Path(other).parent
    return _related(one, other) and (
        alike or folders[0].is_relative_to(folders[1]) or folders[1].is_relative_to(folders[0])
    )


def _related(one: str, other: str) -> bool:
    """Return whether one file name has all words of the other, as handbook.md and handbook-2022.md."""
    names = [frozenset(content_terms(Path(each).stem)) for each in (one, other)]
    return names[0] <= names[1] or names[1] <= names[0]


def _of_one(one: Statement, other: Statement) -> bool:
    """Return whether two statements of files in one folder share a name, and not each has a topic of its own."""
    if Path(one.file).parent != Path(other.file).parent:
        return False
    names = {*_NAME.findall(one.place.text), *_NAME.findall(other.place.text)}
    shared = any(name in one.place.text and name in other.place.text for name in names)
    topics = [
        (mine.above & {*mine.words}) - theirs.above - {*theirs.words} for mine, theirs in ((one, other), (other, one))
    ]
    return shared and not all(topics)


def _without_templates(given: Sequence[Statement]) -> list[Statement]:
    files: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for each in given:
        files[each.words].add(each.file)
    return [each for each in given if len(files[each.words]) < _TEMPLATE]


def _mutually_nearest(
    given: Sequence[Statement], vectors: Sequence[Mapping[str, float]], numbers: Sequence[int], kind: str
) -> Iterator[tuple[int, int, float]]:
    """Yield the statements of two files that are each other's most similar ones, with their similarity.

    Not if one of the files says the other value in an equally similar statement, as tables and lists do.
    """
    similarity = _similarities(vectors, numbers, len(given))
    nearest: dict[tuple[int, str], tuple[float, int]] = {}
    for (one, other), value in similarity.items():
        key = one, given[other].file
        nearest[key] = max(nearest.get(key, (0.0, -1)), (value, -other))
    for (one, file), (value, negative) in nearest.items():
        other = -negative
        own = given[one].file
        if own >= file or nearest[other, own] != (similarity[other, one], -one):
            continue
        if all(_is_only(given, nearest, each, value, kind) for each in (one, other)):
            yield one, other, value


def _is_only(
    given: Sequence[Statement], nearest: Mapping[tuple[int, str], tuple[float, int]], one: int, value: float, kind: str
) -> bool:
    """Return whether no statement of the same file is as similar as `value` and says something else."""
    rival, negative = nearest.get((one, given[one].file), (0.0, 0))
    return rival < value or given[-negative].shares(given[one], kind)


def _similarities(
    vectors: Sequence[Mapping[str, float]], numbers: Sequence[int], total: int
) -> dict[tuple[int, int], float]:
    """Return the cosines of statements that share a word which is not too common, in both directions."""
    holders: dict[str, list[int]] = defaultdict(list)
    for number in numbers:
        for word in vectors[number]:
            holders[word].append(number)
    most = max(_COMMON * total, 50)
    found: dict[tuple[int, int], float] = defaultdict(float)
    for word, having in holders.items():
        if len(having) > most:
            continue
        for one in having:
            for other in having:
                if one != other:
                    found[one, other] += vectors[one][word] * vectors[other][word]
    return found


def _vectors(given: Sequence[Statement]) -> list[dict[str, float]]:
    """Return the tf-idf vector of each statement, of length 1."""
    frequency = Counter(word for each in given for word in {*each.words, *each.above})
    vectors = []
    for each in given:
        counts = {**dict.fromkeys(each.above, _HEADING), **Counter(dict.fromkeys(each.words, 1.0))}
        weights = {word: count * math.log(len(given) / frequency[word] + _SMOOTH) for word, count in counts.items()}
        length = math.sqrt(sum(weight * weight for weight in weights.values())) or 1.0
        vectors.append({word: weight / length for word, weight in weights.items()})
    return vectors


def _said(one: Statement, other: Statement, kinds: Iterable[str]) -> str:
    return "; ".join(f"{_words(one, kind)} or {_words(other, kind)}" for kind in kinds)


def _words(statement: Statement, kind: str) -> str:
    return ", ".join(dict.fromkeys(each.text for each in statement.quantities if each.kind == kind))


def _without(text: str, found: Sequence[Quantity]) -> str:
    rest, end = [], 0
    for each in found:
        rest.append(text[end : each.start])
        end = each.end
    return " ".join([*rest, text[end:]])
