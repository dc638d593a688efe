"""Names on which sentences of different documents disagree that are equal otherwise."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Sequence

from robust_qa.kit import words

from .disagreements import are_versions
from .reports import Finding, Place

_NAME = re.compile(r"(?<![.!?:\n] )(?<=[\w,;(] )[A-Z][\w’'-]+(?: (?:of |de |van )?[A-Z][\w’'-]+)*")
_FEWEST = 6  # words around the names
_FORM = 3  # files with the same words around names: a form to fill in


def disagreeing_names(given: Sequence[tuple[str, Place]], siblings: Collection[frozenset[str]] = ()) -> list[Finding]:
    """Return pairs of sentences of different files with equal words around other names.

    `given` are files and sentences. `siblings` as in `disagreements`.
    """
    forms: dict[tuple[str, ...], list[tuple[str, Place, tuple[str, ...]]]] = defaultdict(list)
    for file, place in given:
        names = tuple(_NAME.findall(place.text))
        around = tuple(words(_NAME.sub("_", place.text)))
        if names and len(around) - around.count("_") >= _FEWEST:
            forms[around].append((file, place, names))
    found: dict[tuple[str, str, str], list[tuple[Place, Place]]] = defaultdict(list)
    for alike in forms.values():
        files = {file for file, _, _ in alike}
        if not 1 < len(files) < _FORM or len(files) < len(alike):
            continue
        (file, one, names), (other_file, other, others) = alike
        if frozenset((file, other_file)) in siblings and not are_versions(file, other_file, alike=True):
            continue
        pairs = dict.fromkeys(zip(names, others, strict=False))
        if differing := [f"{first} or {second}" for first, second in pairs if _key(first) != _key(second)]:
            found[file, other_file, "; ".join(differing)].append((one, other))
    return [
        Finding("disagreement", message, places[0], 0.95, (file, other_file), len(places))
        for (file, other_file, message), places in found.items()
    ]


def _key(name: str) -> str:
    """Return a name without its spaces, case and plural."""
    return "".join(words(name)).rstrip("s")
