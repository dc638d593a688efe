"""The columns of a row that a claim is about: of "Item: Towel; Heron: 2.00; Otter: 3.00", what Otter has."""

from __future__ import annotations

from collections import Counter

from robust_qa.kit import cells_of, content_terms

from .reading import values

_DAYS = ("date", "yearday", "weekday")  # which row is meant, where other values say what is in it
_STATES = frozenset("closed open free none full yes no n/a - – — x ✓ ✗".split())


def of_asked_columns(claim: str, text: str) -> str:
    """Return a row of a table without the values of the columns beside those that `claim` names.

    The first cell, days and words stay, for they tell which row it is. Other text is returned as it is.
    """
    cells = cells_of(text)
    if len(cells) < 3:
        return text
    heads = [{*content_terms(column)} for column, _ in cells]
    counts = Counter(term for head in heads for term in head)
    asked = {*content_terms(claim)}
    named = [bool(own := {term for term in head if counts[term] == 1}) and own <= asked for head in heads]
    told = [_is_told(cell) for _, cell in cells]
    if not any(is_named and is_told for is_named, is_told in zip(named[1:], told[1:], strict=True)):
        return text
    kept = [f"{column}: {cell}" for at, (column, cell) in enumerate(cells) if at == 0 or named[at] or not told[at]]
    return "; ".join(kept)


def _is_told(cell: str) -> bool:
    """Return whether a cell is a value that a column has of every row, such as a price, hours or "closed"."""
    if cell.strip().lower() in _STATES:
        return True
    kinds = {value.kind for value in values(cell)}
    return any(not kind.startswith((*_DAYS, "label", "ordinal")) for kind in kinds)
