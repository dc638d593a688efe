"""Training rows: a question, a passage and the position of the answer."""

from __future__ import annotations

import codecs
import hashlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from robust_qa import InputError

HELD_OUT = 0.08  # share of contexts, by hash


class Row(msgspec.Struct, frozen=True, omit_defaults=True):
    """One question with one passage.

    `answers` are equally right texts; training uses the first. An empty list means that the passage has no answer.
    `start` is the character offset of the answer in `context`; without it every occurrence is right. `within` (start,
    end) is the sentence with the answer if the words are unknown. `unlabelled` rows have only
    a teacher's scores.
    """

    question: str
    context: str
    title: str = ""
    answers: list[str] = []
    start: int | None = None
    within: tuple[int, int] | None = None
    unlabelled: bool = False
    source: str = ""

    @property
    def answerable(self) -> bool:
        """Return whether the passage answers the question."""
        return bool(self.answers) or self.within is not None


class _Line(msgspec.Struct):
    """A row of an input file."""

    question: str
    context: str
    title: str = ""
    answer: str | msgspec.UnsetType | None = msgspec.UNSET
    answers: list[str] | msgspec.UnsetType | None = msgspec.UNSET
    answer_start: int | None = None
    within: tuple[int, int] | None = None
    source: str = ""


_line = msgspec.json.Decoder(_Line)


def load_rows(path: Path) -> Iterator[Row]:
    """Yield the rows of a JSONL file of {question, context, title?, answer | answers, answer_start?, within?, source?}.

    `"answer": null` or an empty `answers` marks a passage without the answer, unless `within` has the offsets of the
    sentence that answers. Metrics are also reported for each `source`. Raises InputError with the line number
    for an invalid row, and for an answer that is not in its context.
    """
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            text = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
            if not text.strip():
                continue
            try:
                given = _line.decode(text)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise InputError(f"{path}:{number} is not a training row: {error}.", hint=_FORMAT) from error
            yield _checked(given, f"{path}:{number}")


def _checked(given: _Line, where: str) -> Row:
    if given.answer is msgspec.UNSET and given.answers is msgspec.UNSET:
        raise InputError(f'{where} has no "answer". Use null for a passage without the answer.', hint=_FORMAT)
    answers = given.answers if isinstance(given.answers, list) else [given.answer] if given.answer else []
    answers = [answer for answer in answers if answer.strip()]
    start = given.answer_start
    if answers and start is not None:
        start += len(answers[0]) - len(answers[0].lstrip())
    answers = [answer.strip() for answer in answers]
    held = (given.title + " " + given.context).lower() if start is None else given.context[start:].lower()
    if answers and not (held.startswith(first := answers[0].lower()) or (start is None and first in held)):
        raise InputError(f"{where}: the answer {answers[0]!r} is not in the context.", hint=_FORMAT)
    return Row(given.question, given.context, given.title, answers, start, given.within, source=given.source)


def place(text: str) -> float:
    """Return a number from 0 to 1 that depends on the hash of the text."""
    return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) / 2**32


_FORMAT = (
    'Write rows like {"question": ..., "context": ..., "answer": ... or null}, optionally with "answers", '
    '"answer_start" and "title".'
)
