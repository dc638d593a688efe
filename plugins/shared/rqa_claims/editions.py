"""Dates and editions of documents: what a title, a name and the first lines say of date, version and standing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath

from robust_qa.kit import content_terms, iso_date

from .reading import dates, without

_HEAD = 600  # characters in which a document says what it is
_VERSION = re.compile(
    r"(?<![^\W_])(?:version|ver\.?|v|release|revision|rev\.?|edition|issue)[\s._:-]{0,3}(\d+(?:[._]\d+)*)(?![^\W_])"
    r"|(?<=[^\W\d_])[\s._-](\d+(?:\.\d+)+)(?![^\W_]|\.\d)",
    re.IGNORECASE,
)
_VERSION_LINE = re.compile(rf"^[^\w\n]*+(?:document |current )?(?:{_VERSION.pattern})", re.IGNORECASE | re.MULTILINE)
_PAST = re.compile(
    r"(?<![^\W_])(draft|archived?|historical|old|superseded|obsolete|outdated|previous|former|legacy|expired|withdrawn"
    r"|backup)(?![^\W_])",
    re.IGNORECASE,
)
_DRAFT_LINE = re.compile(
    r"^[^\w\n]*+(?:status\W{1,3})?(draft|superseded|archived|obsolete|withdrawn)(?:\W*$| by )", re.I | re.M
)
_NO_NAME = frozenset(content_terms("final current latest new approved version edition revision"))
_NAMED = re.compile(  # 2024, 2024-05, 2024_05_12 or 20240512
    r"(?<![^\W_])((?:19|20)\d\d)(?:[-_](0[1-9]|1[0-2])(?:[-_]([0-3]\d))?|(0[1-9]|1[0-2])([0-3]\d))?(?![^\W_]|-\d)"
)
_FROM = re.compile(  # before a date that the document has
    r"(?:valid|effective|in (?:force|effect)|appl(?:y|ies|icable)|as (?:of|at)|dated?|updated|modified|revised|amended"
    r"|reviewed|changed|issued|published|adopted|approved|status)\W*(?:(?:on|from|as|of|since|at)\W+){0,2}$",
    re.IGNORECASE,
)
_SUFFIX = re.compile(r"\.[a-z]\w{0,5}\Z", re.IGNORECASE)
_REPLACES = re.compile(r"\b(?:replac|supersed|repeal|revok)(?:es?|ing|s)\b([^.;\n]{3,120})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Edition:
    """One edition of a document.

    `names` are what its title and its path are without date, version and standing: those of its other editions have
    one of them. `date` is YYYY, YYYY-MM or YYYY-MM-DD, `past` a word such as "draft" or "archive". All may be empty.
    """

    names: frozenset[tuple[str, ...]] = frozenset()
    date: str = ""
    version: tuple[int, ...] = ()
    past: str = ""

    @property
    def label(self) -> str:
        """What tells it from other editions."""
        version = ".".join(map(str, self.version))
        return ", ".join(filter(None, (f"version {version}" if version else self.date, self.past)))

    @property
    def order(self) -> tuple[bool, tuple[int, ...], str]:
        """A key that sorts the editions of a document, the oldest first."""
        return not self.past, self.version, self.date

    def is_replaced_in(self, text: str) -> bool:
        """Return whether `text` says that it replaces this edition, as in "replaces the rules of 2019"."""
        match = _REPLACES.search(text)
        if match is None or not {term for name in self.names for term in name[1:]} & {*content_terms(match[1])}:
            return False
        date = date_in(match[1])
        return (bool(date) and self.date.startswith(date)) or self.version in versions_in(match[1])

    def is_older(self, other: Edition) -> bool:
        """Return whether `other` is an edition of the same document that says that it is newer, or in force."""
        if not self.names & other.names:
            return False
        if bool(self.past) != bool(other.past):
            return bool(self.past)
        if self.version and other.version:
            return _padded(self.version, other) < _padded(other.version, self)
        return bool(self.date and other.date) and self.date < other.date and not other.date.startswith(self.date)


def _padded(version: tuple[int, ...], other: Edition) -> tuple[int, ...]:
    return version + (0,) * (len(other.version) - len(version))


def edition_of(title: str, path: str = "", date: str = "") -> Edition:
    """Return the edition of a document. `date` is the one that it states, `path` relative or a URL.

    Only files have others: a page of the web may bear the title of another, and two films may share a name.
    """
    if "://" in path:
        return Edition(date=date)
    title = title.partition(" > ")[0]
    parts = PurePath(_SUFFIX.sub("", path)).parts
    version = next((found[0] for text in (title, *reversed(parts)) if (found := versions_in(text))), ())
    past = next((match[1].lower() for text in (title, *parts) if (match := _PAST.search(text))), "")
    names = {("title", *_plain(title)), ("path", *(term for part in parts for term in _plain(part)))}
    for number, part in enumerate(parts[:-1]):
        if versions_in(part) and _plain(part):  # all of this folder is of that version
            names.add(("folder", *(term for each in parts[: number + 1] for term in _plain(each))))
    dated = date or date_in(title) or next(filter(None, map(date_in, reversed(parts))), "")
    return Edition(frozenset(name for name in names if path and len(name) > 1), dated, version, past)


def date_in(name: str) -> str:
    """Return the date in a title or in the name of a file, "" if there is none."""
    for each in dates(name.replace("_", " ")):
        return iso_date(each.iso)
    named = (iso_date("-".join(filter(None, match.groups()))) for match in _NAMED.finditer(name))
    return next(filter(None, named), "")


def stated(text: str) -> tuple[str, str]:
    """Return the date that the first lines of a document state as its own, and its version or standing in words."""
    head = text[:_HEAD]
    date = ""
    for each in dates(head):
        line = head[: each.start].rpartition("\n")[2]
        alone = not line.strip() and not head[each.end :].partition("\n")[0].strip()
        if not date and "-" in each.iso and (alone or _FROM.search(line)):
            date = iso_date(each.iso)
    version, draft = _VERSION_LINE.search(head), _DRAFT_LINE.search(head)
    words = [f"version {version[1]}"] if version else []
    return date, ", ".join([*words, draft[1].lower()] if draft else words)


def versions_in(text: str) -> list[tuple[int, ...]]:
    """Return the versions that a title, a name or a question names."""
    return [tuple(map(int, re.split(r"[._]", match[1] or match[2]))) for match in _VERSION.finditer(text)]


def _plain(text: str) -> Iterable[str]:
    """Yield the words of a title or a name without dates, versions and standing."""
    text = _PAST.sub(" ", _VERSION.sub(" ", text))
    return [term for term in content_terms(_NAMED.sub(" ", without(text, dates(text)))) if term not in _NO_NAME]
