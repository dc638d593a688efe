"""Answer a question that looks up a cell of a table: the budget of Logistics."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import replace

from robust_qa import Answer, Passage, Position, Quote
from robust_qa.kit import cells_of, cite_quote, content_terms, is_row, is_yes_no, sentences
from rqa_claims import says_cell

_SURE = 0.9  # 12 of 13 cells were right that questions by others looked up in tables; the other one wanted yes or no
_UNIT = re.compile(r"\([^()]*\)")  # of "Price (EUR)"
_YES_NO = frozenset("yes no true false".split())


def looked_up(question: str, passages: Sequence[Passage], weighed: Answer) -> Answer | None:
    """Return the cell that a question names by its column and its row, if just one is named.

    Every word of the question has to be of the column, of cells of the row or of the title of the passage. None if
    another source says something else, by what was `weighed`.
    """
    asked = set(content_terms(question))
    found = [
        (quote, value)
        for number, passage in enumerate(passages)
        for quote, value in _cells(question, asked, number, passage)
        if not is_yes_no(question) or value.lower() in _YES_NO
    ]
    if not found and weighed.text is None:
        return _empty(question, asked, passages)
    if not found or len({value for _, value in found}) > 1:
        return None
    citations = tuple(dict.fromkeys(cite_quote(quote, passages) for quote, _ in found))
    value, own = found[0][1], {passages[quote.passage].source for quote, _ in found}
    others = [side for side in (*filter(None, [weighed.best_guess]), *weighed.conflicts) if side.text != value]
    others += [Position(weighed.text, None, weighed.citations)] if weighed.text not in (None, value) else []
    contradicted = any(cited.source not in own for side in others for cited in side.citations)
    return None if contradicted else Answer(value, _SURE, citations)


def asked_cell(question: str, sentence: Answer) -> Answer:
    """Return an answer that is a row of a table as the one cell of it that the question asks for, if there is one."""
    asked = set(content_terms(question))
    found = [
        cell
        for column, cell in cells_of(sentence.text or "")
        if _about(column, asked) and not says_cell(question, cell)
    ]
    if len(found) != 1 or is_yes_no(question) or not sentence.citations:
        return sentence
    cited = sentence.citations[0]
    at = cited.quote.find(found[0])
    return replace(sentence, text=found[0], citations=(replace(cited, highlight=(at, at + len(found[0]))),))


def _cells(question: str, asked: Set[str], number: int, passage: Passage) -> Iterator[tuple[Quote, str]]:
    """Yield the cells of a passage that the question looks up, each with its value."""
    titled = set(content_terms(passage.title))
    for start, end in sentences(passage.text):
        unit = passage.text[start:end]
        row = cells_of(unit) if is_row(unit) else []
        named = [cell for _, cell in row if cell and says_cell(question, cell)]
        columns = [(column, cell) for column, cell in row if cell not in named and _about(column, asked)]
        if not named or len(columns) != 1:
            continue
        ((column, value),) = columns
        known = titled.union(
            content_terms(column), *map(content_terms, named), *(content_terms(c) for c, v in row if v in named)
        )
        if value and asked <= known:
            begin = start + unit.index(f"{column}: {value}") + len(column) + 2
            yield Quote(number, start, end, highlight=(begin, begin + len(value))), value


def _empty(question: str, asked: Set[str], passages: Sequence[Passage]) -> Answer | None:
    """Return that the row that a question names has no cell in the column that it names, if just one row is named."""
    units = {passage.text[slice(*span)]: passage.title for passage in passages for span in sentences(passage.text)}
    rows = [(title, cells) for unit, title in units.items() if is_row(unit) and (cells := cells_of(unit))]
    columns = dict.fromkeys((title, column) for title, cells in rows for column, _ in cells if _about(column, asked))
    named = [
        f"{title} has no {column} for {name}."
        for title, cells in rows
        for table, column in columns
        if table == title and column not in dict(cells)
        for name in [cell for _, cell in cells if says_cell(question, cell)]
    ]
    return Answer(None, reason=named[0]) if len(named) == 1 else None


def _about(column: str, asked: Set[str]) -> bool:
    terms = set(content_terms(_UNIT.sub("", column)))
    return bool(terms) and terms <= asked
