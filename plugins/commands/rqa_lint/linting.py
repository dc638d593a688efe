"""Read documents and collect all findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from robust_qa import InputError
from rqa_files import Call, Formats, Rules, Unreadable, find, is_gone, isolated, read, shown

from .contradictions import Judge, Statement, contradictions, statements
from .duplicates import duplicates
from .hidden import hidden_text, instructions
from .reports import Finding, Place
from .rows import Row, disagreements, rows

_SIBLINGS = 3  # equal paragraphs of two files that have one template


@dataclass
class Corpus:
    """What the checks need of the documents."""

    files: int = 0
    statements: list[Statement] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    paragraphs: list[tuple[str, Place]] = field(default_factory=list)
    blocks: list[Place] = field(default_factory=list)  # also headings and code
    hidden: list[Finding] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)


def read_corpus(paths: Sequence[Path], formats: Formats, rules: Rules) -> Corpus:
    """Read the files at and under `paths` that are of one of `formats`, without what `rules` leave out.

    Raises InputError for a path that is gone.
    """
    for path in paths:
        if is_gone(path):
            raise InputError(f"There is no file or folder {path}.", hint="Check the path.")
    found = find(paths, formats=formats, rules=rules)
    corpus = Corpus(skipped=list(found.skipped))
    for path in found.files:
        file = shown(path)
        try:
            documents = [*read(path, lambda where, why: corpus.skipped.append((where, why)), formats)]
            corpus.hidden += isolated(Call(path, hidden_text, (path,)))
        except (OSError, Unreadable) as error:
            corpus.skipped.append((file, str(error)))
            continue
        corpus.files += 1
        for document in documents:
            corpus.statements += statements(document, file)
            corpus.rows += rows(document, file)
            for block in document.blocks:
                place = Place(document.source, block.line, block.text)
                corpus.blocks.append(place)
                if block.kind not in ("heading", "code"):
                    corpus.paragraphs.append((file, place))
    return corpus


async def lint(corpus: Corpus, least: float, judge: Judge) -> list[Finding]:
    """Return all findings, the most urgent kind first. `least` is the similarity of statements that are judged.

    Disagreements that share a place are one finding, and so are those of two files about the same values.
    """
    copies = duplicates(corpus.paragraphs)
    siblings = {frozenset(each.files) for each in copies if each.times >= _SIBLINGS}
    found = disagreements(corpus.rows, corpus.statements)
    found += await contradictions(corpus.statements, least, siblings, judge)
    return [*instructions(corpus.blocks), *corpus.hidden, *grouped(found), *copies]


def grouped(found: Sequence[Finding]) -> list[Finding]:
    """Return the findings with those about one thing joined, in the order of the first of each."""
    groups: list[list[Finding]] = []
    for each in found:
        alike = [group for group in groups if any(_is_alike(each, other) for other in group)]
        for group in alike[1:]:
            alike[0].extend(group)
            groups.remove(group)
        if alike:
            alike[0].append(each)
        else:
            groups.append([each])
    return list(map(_joined, groups))


def _is_alike(one: Finding, other: Finding) -> bool:
    same = one.message == other.message and set(one.files) == set(other.files)
    return same or not {*one.places}.isdisjoint(other.places)


def _joined(group: Sequence[Finding]) -> Finding:
    first = group[0]
    values = dict.fromkeys(value for each in group for value in each.message.split(" or "))
    message = first.message if len({each.message for each in group}) == 1 else " or ".join(values)
    places = tuple(dict.fromkeys(place for each in group for place in each.places))
    return replace(
        first,
        message=message,
        places=places,
        files=tuple(dict.fromkeys(file for each in group for file in each.files)),
        times=sum(each.times for each in group),
    )
