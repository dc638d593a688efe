"""The training row: a question, a passage, and where the answer stands in it."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from pathlib import Path

import msgspec

from robust_qa import InputError


class Row(msgspec.Struct, frozen=True, omit_defaults=True):
    """One question over one passage.

    `answers` are equally right texts; the first one is learnt. An empty list says that the passage does not answer.
    `start` is the answer's character offset in `context`; without it every occurrence, in the title too, is right.
    `within` (start, end) says instead that the answer stands somewhere in that stretch of `context`, for data that
    names the right sentence but not the words. `untold`: nobody has said whether the passage answers; a teacher does.
    """

    question: str
    context: str
    title: str = ""
    answers: list[str] = []
    start: int | None = None
    within: tuple[int, int] | None = None
    untold: bool = False
    source: str = ""

    @property
    def answerable(self) -> bool:
        """Whether the passage answers the question."""
        return bool(self.answers) or self.within is not None


class _Line(msgspec.Struct):
    """A row as people write it: SQuAD's names and ours."""

    question: str
    context: str
    title: str = ""
    answer: str | msgspec.UnsetType | None = msgspec.UNSET
    answers: list[str] | msgspec.UnsetType | None = msgspec.UNSET
    answer_start: int | None = None


_line = msgspec.json.Decoder(_Line)


def load_rows(path: Path) -> Iterator[Row]:
    """The rows of a JSONL file of {question, context, title?, answer | answers, answer_start?}.

    `"answer": null` (or an empty `answers`) marks a passage without the answer; one of the two must be there. Raises
    InputError, naming the line, for one that is not such an object or whose answer is not in its context.
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
        raise InputError(f'{where}: there is no "answer"; null says that the passage does not answer.', hint=_FORMAT)
    answers = given.answers if isinstance(given.answers, list) else [given.answer] if given.answer else []
    answers = [answer for answer in answers if answer.strip()]
    start = given.answer_start
    if answers and start is not None:
        start += len(answers[0]) - len(answers[0].lstrip())
    answers = [answer.strip() for answer in answers]
    held = (given.title + " " + given.context).lower() if start is None else given.context[start:].lower()
    if answers and not (held.startswith(first := answers[0].lower()) or (start is None and first in held)):
        raise InputError(f"{where}: the answer {answers[0]!r} does not stand in the context.", hint=_FORMAT)
    return Row(given.question, given.context, given.title, answers, start)


_FORMAT = (
    'A row is {"question": ..., "context": ..., "answer": ... or null}, with "answers", "answer_start" and "title" '
    "where known."
)
