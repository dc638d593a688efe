"""Answers that no passage says in words: worked out from cells, behind a pointer, or dated by their document."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from robust_qa import PROBABLE, Answer, Citation, Passage, Position
from robust_qa.kit import cite, content_terms, is_row, sentences
from rqa_claims import Asked, Relation, operation, relate, values, work_out, worked_out_times

if TYPE_CHECKING:
    from robust_qa import Toolbox

_WORKED = 0.85  # share of such results that were right over 289 held-out questions of TAT-QA
_KIND = r"(?P<kind>clause|section|article|paragraph|chapter|rule|table|appendix)"
_SAID = r"(?:set out|stated|described|specified|defined|given|listed|provided|laid down|fixed)"
_POINTER = re.compile(
    rf"\b(?:(?:in|under|by|see) {_KIND}|{_SAID} (?:in|under|by)) (?P<number>\d+(?:\.\d+)+)(?!\d)", re.IGNORECASE
)


def worked_out(question: str, passages: Sequence[Passage]) -> Answer | None:
    """Return what arithmetic over the cells of a table gives, with every cell cited."""
    found = work_out(question, [passage.text for passage in passages])
    if found is None:
        return None
    cited = dict.fromkeys(cite(passages[cell.place], start=cell.start) for cell in found.cells)
    named = ", ".join(" ".join(filter(None, (cell.row, cell.column))) for cell in found.cells)
    return Answer(found.text, _WORKED, tuple(cited), reason=f"{found.calculation} = {found.text}: {named}.")


def of_arithmetic(question: str, answer: Answer) -> Answer:
    """Return no answer if the question wants a result, and the sentence of `answer` does not say that it is one."""
    wanted = operation(question)
    if not wanted or (answer.text is None and answer.best_guess is None):
        return answer
    cited = answer.citations or (answer.best_guess.citations if answer.best_guess else ())
    if wanted == "count" and not any(is_row(each.quote) for each in cited):
        return answer  # a sentence that has the number
    said = {*content_terms(" ".join(f"{each.quote} {each.title}" for each in cited))}
    if said & {*content_terms(f"{wanted} total average ratio mean")}:
        return answer
    reason = f"The question wants a {wanted}, and the cells for it are not clear."
    return replace(answer, text=None, confidence=None, conflicts=(), reason=reason, best_guess=None)


async def pointed_to(answer: Answer, toolbox: Toolbox) -> Answer:
    """Return the clause that the answer points to, as in "the rent set out in clause 7.3", beside the sentence."""
    if answer.text is None or not answer.citations or not (pointer := _POINTER.search(answer.text)):
        return answer
    first = answer.citations[0]
    line = re.compile(rf"^[^\w\n]*{re.escape(pointer['number'])}\.?[ \t]+(?=\S)", re.MULTILINE)
    named = f"{pointer['kind'] or ''} {pointer['number']} {answer.text}"
    for passage in await toolbox.retrieve(named):
        match = line.search(passage.text) if passage.source == first.source else None
        if match and first.quote not in passage.text[match.start() : match.end() + len(first.quote)]:
            told = passage.text[match.start() :].partition("\n")[0].strip()
            there = cite(passage, start=match.end())
            reason = f"{answer.reason} By way of: {answer.text}".strip()
            return replace(answer, text=told, citations=(there, *answer.citations), reason=reason)
    return replace(answer, text=None, reason=f"It is in {pointer['number']}, which was not found.")


def with_what_is_there(question: str, answer: Answer, passages: Sequence[Passage]) -> Answer:
    """Return an abstention that tells which members of the series that the question names are there instead."""
    texts = [passage.text for passage in passages]
    if answer.text is not None or not (missing := Asked.of(question, texts).missing(texts)):
        return answer
    return replace(answer, reason=missing, best_guess=None, conflicts=())


def of_the_day(question: str, answer: Answer, passages: Sequence[Passage]) -> Answer:
    """Return an abstention with the entry of the day that the question names, in any notation, as best guess."""
    days = [each for each in values(question) if each.kind in ("date", "yearday") and len({*each.spans[0]}) == 1]
    is_told = answer.best_guess is not None and (answer.best_guess.confidence or 0) >= PROBABLE
    if answer.text is not None or is_told or len(days) != 1:
        return answer
    asked = {*content_terms(question[: days[0].start] + question[days[0].end :])}
    entries: list[tuple[int, Citation]] = []
    for passage in passages:
        for start, end in sentences(passage.text):
            told = [relate(days[0], each) for each in values(passage.text[start:end])]
            if Relation.EQUAL in told or Relation.WITHIN in told:
                own = {*content_terms(f"{passage.title} {passage.text[start:end]}".replace("_", " "))}
                entries.append((len(asked & own), cite(passage, start=start)))
    ranked = sorted(entries, key=lambda entry: -entry[0])
    if not ranked or (len(ranked) > 1 and ranked[0][0] == ranked[1][0]):
        return answer
    cited = ranked[0][1]
    return replace(answer, best_guess=Position(cited.quote, PROBABLE, (cited,)), conflicts=())


def with_dates(answer: Answer) -> Answer:
    """Return `answer` with the date of what it says of yesterday or next week, by the date of its document."""
    dated = next((each for each in answer.citations if each.date), None)
    if answer.text is None or dated is None or not (told := worked_out_times(answer.text, dated.date)):
        return answer
    reason = f"{told[0].upper()}{told[1:]}: the text is of {dated.date}."
    return replace(answer, reason=f"{reason} {answer.reason}".strip())
