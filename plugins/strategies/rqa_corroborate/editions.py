"""The edition of a document that a question asks for. The statements of its other editions are history."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from os.path import commonprefix
from pathlib import PurePath

from robust_qa import PROBABLE
from robust_qa.kit import content_terms, sentences
from rqa_claims import dates, edition_of, versions_in

from .sources import Source, Statement

_HEARD = 0.1  # least confidence of a statement that takes the place of an older one in the same words
_MOST_OTHERS = 3
_LEADING = "in|on|of|for|under|during|before|as of|the|version|release|revision|edition"
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_BEFORE = re.compile(r"\b(?:before|prior to|until)\W+(?:\w+\W+){0,3}$", re.I)
_PAST = re.compile(r"\b(?:previous|former|earlier|original|older|used to|draft|archive)", re.I)


class Editions:
    """The editions of the sources of a question. It may name a date or a version; if not, it asks for the newest.

    `others` are the sources of other editions than the one that the question asks for.
    """

    def __init__(self, question: str, sources: Sequence[Source]) -> None:
        self._sources = sources
        paths = [_parts(source) for source in sources]
        common = len(commonprefix([parts[:-1] for parts in paths]))  # noqa: RUF071 (of parts, not of characters)
        self._of = {
            id(source): edition_of(
                source.passages[0].title,
                str(PurePath(*parts[common:])) if parts else source.passages[0].source,
                max(passage.date for passage in source.passages),
            )
            for source, parts in zip(sources, paths, strict=True)
        }
        own = [edition.version for edition in self._of.values()]
        self._version = next(
            (each for each in versions_in(question) if any(one[: len(each)] == each for one in own)), ()
        )
        named = [(each.iso, each.text, each.start) for each in dates(question)]
        named += [(match[0], match[0], match.start()) for match in _YEAR.finditer(question)]
        self._date, words, start = next(iter(named), ("", "", 0))
        self._before = _BEFORE.search(question[:start]) is not None
        self._past = _PAST.search(question) is not None
        self._named = words or ".".join(map(str, self._version))
        self._question = question
        pairs = [(one, other) for one in sources for other in sources if self._replaces(one, other)]
        self._editions = {id(each) for pair in pairs for each in pair}
        self.others = [older for _, older in pairs]

    def question(self, source: Source) -> str:
        """Return the question for a source, without the date or version that it names if the source is of an edition.

        Its text seldom repeats the date of its title or its name.
        """
        if not self._named or id(source) not in self._editions:
            return self._question
        named = re.sub(rf"(?:\b(?:{_LEADING})\s+)*\bv?{re.escape(self._named)}(?![\w.]*\d)", "", self._question)
        return " ".join(named.split()).replace(" ?", "?")

    def split(self, statements: Iterable[Statement]) -> tuple[list[Statement], list[Statement]]:
        """Return the statements that count, and those whose place is taken by one of the edition that is asked for.

        A statement stays if its sentence names the date or the version of the question, or if the edition that is asked
        for says nothing about it, and was not named.
        """
        kept, history = list[Statement](), list[Statement]()
        said = list(statements)
        for each in said:
            others = (other for other in said if self._replaces(other.source, each.source))
            is_taken = any(self._named or _says(other, each) for other in others) or self._is_told_anew(each)
            old = is_taken and not self._is_named(each)
            (history if old else kept).append(each)
        return kept, history

    def _is_told_anew(self, old: Statement) -> bool:
        """Return whether the edition that is asked for has a sentence with the same words of the question.

        A reader may not understand it, and yet the old sentence is not in force.
        """
        asked = {*content_terms(self._question)}
        own = asked.intersection(*(content_terms(each.quote) for each in old.citations[:1]))
        newer = (source for source in self._sources if len(own) > 1 and self._replaces(source, old.source))
        return any(
            own <= {*content_terms(source.text[first:last])}
            for source in newer
            for first, last in sentences(source.text)
        )

    def is_past(self, statement: Statement) -> bool:
        """Return whether a statement is of an edition that is marked as a draft or as past, beside one that is not."""
        return any(each is statement.source and self._of[id(each)].past for each in self.others)

    def _is_named(self, statement: Statement) -> bool:
        """Return whether a sentence names the year or the version that the question names."""
        value = self._date[:4] or self._named
        sentence = f"{statement.rest} {statement.reading.text}"
        return bool(value) and re.search(rf"(?<![\d.]){re.escape(value)}(?!\.?\d)", sentence) is not None

    def told(self, chosen: Statement, history: Sequence[Statement]) -> str:
        """Return the edition of the answer and what others say, as in "Of 2025-03-01; before: 42 EUR (2023-03-01)."

        If the answer is of a draft or a past edition, it says that the edition in force does not tell.
        """
        own = self._of[id(chosen.source)]
        sides: dict[str, list[str]] = {"before": [], "later": []}
        others = [each for each in history if self._replaces(chosen.source, each.source)]
        for each in sorted(others, key=lambda each: self._of[id(each.source)].order, reverse=True)[:_MOST_OTHERS]:
            other = self._of[id(each.source)]
            is_told = each.confidence >= PROBABLE or chosen.claim.contradicts(each.claim)
            if is_told and not each.agrees(chosen):
                sides["later" if own.is_older(other) else "before"].append(f"{each.reading.text} ({other.label})")
        held = f"of {own.label}" if others and own.label else ""
        if self.is_past(chosen):
            held = f"of {own.label}; the one in force does not say"
        parts = [held, *(f"{name}: {', '.join(texts)}" for name, texts in sides.items() if texts)]
        told = "; ".join(filter(None, parts))
        return f"{told[0].upper()}{told[1:]}." if told else ""

    def _replaces(self, newer: Source, older: Source) -> bool:
        """Return whether the question asks for the edition `newer` rather than for `older`."""
        one, other = self._of[id(newer)], self._of[id(older)]
        if not one.names or not other.names:
            return False
        is_older = other.is_older(one) or other.is_replaced_in(newer.text)
        if self._version and one.names & other.names:
            matches = [each.version[: len(self._version)] == self._version for each in (one, other)]
            return matches[0] and (is_older or not matches[1])
        if self._date and one.date and other.date and one.names & other.names:
            valid = [self._is_valid(each.date) for each in (one, other)]
            return valid[0] and (is_older or not valid[1])
        if not self._date and one.names & other.names and _is_coming(one.date) != _is_coming(other.date):
            return _is_coming(other.date)  # what is not yet valid replaces nothing
        return is_older and not self._date and not self._past

    def _is_valid(self, date: str) -> bool:
        """Return whether an edition of that date was valid at the date of the question."""
        begun = date[: len(self._date)]
        return begun < self._date if self._before else begun <= self._date


def _is_coming(date: str) -> bool:
    return date > datetime.now().isoformat()[: len(date)]


def _says(newer: Statement, older: Statement) -> bool:
    """Return whether `newer` tells what `older` does."""
    alike = newer.confidence >= _HEARD and (newer.claim.contradicts(older.claim) or newer.agrees(older))
    return newer.confidence >= PROBABLE or alike


def _parts(source: Source) -> tuple[str, ...]:
    path = source.passages[0].source
    return () if "://" in path else PurePath(path).parts
