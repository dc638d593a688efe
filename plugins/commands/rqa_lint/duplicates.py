"""Paragraphs of different files that are nearly the same: shingles of four words, compared by containment."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from robust_qa.kit import words
from rqa_claims import Relation, relate, values

from .reports import Finding, Place

_SHINGLE = 4  # words
_FEWEST = 20  # words of a paragraph
_ALIKE = 0.8  # of the shingles of the shorter paragraph that are in the longer one
_COMMON = 50  # paragraphs; a shingle in more of them is a phrase


def duplicates(given: Sequence[tuple[str, Place]]) -> list[Finding]:
    """Return a finding for each two files that share paragraphs, with the places of one, if possible a differing one.

    `given` are files and paragraphs. The score is the share of the shorter file's paragraphs.
    """
    shingles = [_shingles(place.text) for _, place in given]
    holders: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for number, own in enumerate(shingles):
        for shingle in own:
            holders[shingle].append(number)
    shared: Counter[tuple[int, int]] = Counter()
    for having in holders.values():
        if len(having) <= _COMMON:
            shared.update(
                (one, other)
                for n, one in enumerate(having)
                for other in having[n + 1 :]
                if given[one][0] != given[other][0]
            )
    pairs: dict[tuple[str, str], dict[int, int]] = defaultdict(dict)
    for (one, other), count in sorted(shared.items()):
        if count >= _ALIKE * min(len(shingles[one]), len(shingles[other])):
            pairs[given[one][0], given[other][0]].setdefault(one, other)
    sizes = Counter(file for (file, _), own in zip(given, shingles, strict=True) if own)
    found = []
    for (file, other_file), alike in pairs.items():
        differing = ((pair, _difference(*(given[each][1].text for each in pair))) for pair in alike.items())
        (one, other), difference = next(filter(lambda each: each[1], differing), (next(iter(alike.items())), ""))
        number = len(alike)
        paragraphs = "paragraph is" if number == 1 else "paragraphs are"
        share = min(1.0, number / min(sizes[file], sizes[other_file]))
        message = f"{number} {paragraphs} nearly the same{difference}"
        files = (file, other_file)
        found.append(Finding("duplicate", message, (given[one][1], given[other][1]), share, files, number))
    return sorted(found, key=lambda each: -each.score)


def _difference(one: str, other: str) -> str:
    """Return the first two values that differ, as words to append, "" if all are the same or of other kinds."""
    for first, second in zip(values(one), values(other), strict=False):
        if first.kind != second.kind:
            break
        if relate(first, second) is Relation.EXCLUDED:
            return f", but one says {first.text} and the other {second.text}"
    return ""


def _shingles(text: str) -> frozenset[tuple[str, ...]]:
    found = words(text)
    if len(found) < _FEWEST:
        return frozenset()
    return frozenset(tuple(found[n : n + _SHINGLE]) for n in range(len(found) - _SHINGLE + 1))
