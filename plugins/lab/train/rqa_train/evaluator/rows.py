"""Read rows for training and calibration: questions with relevant and irrelevant texts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from robust_qa import InputError
from robust_qa.kit import contains_answer, gold_facts, with_title


@dataclass(slots=True)
class Candidate:
    """A passage. `relevant` is None if unknown; `score` in [-1, 1] is a better judge's score, if there is one.

    `bare` is the text without the `title`.
    """

    bare: str
    relevant: bool | None = None
    score: float | None = None
    title: str = ""

    @property
    def text(self) -> str:
        """Return title and text as evaluators read them, or nothing if the text is blank."""
        return with_title(self.title, self.bare) if self.bare.strip() else ""


@dataclass(slots=True)
class Asked:
    """A question with its passages and the `facts` of the gold answer, each a list of alternatives."""

    question: str
    facts: list[list[str]] = field(default_factory=list)
    candidates: list[Candidate] = field(default_factory=list)

    @property
    def answers(self) -> list[str]:
        """Return the alternatives of all facts."""
        return [answer for fact in self.facts for answer in fact]


class _Passage(msgspec.Struct):
    text: str
    title: str | None = None


class _Row(msgspec.Struct):
    question: str
    text: str | None = None
    passage: str | _Passage | None = None
    title: str | None = None
    label: float | None = None
    score: float | None = None
    answers: list[str | list[str]] | None = None
    passages: list[str | _Passage] | None = None
    page: str | None = None


_decode = msgspec.json.Decoder(_Row).decode


def read_rows(paths: Iterable[Path]) -> list[Asked]:
    """Return the questions of JSONL files in order. Pairs of one question are merged.

    A line is one of:

    - a pair {question, passage or text, label} with label 1, 0 or -1, or with a `score` instead;
    - in a file that ends in .tsv: `question [SEP] passage`, a tab, and 1 or 0, as in CRAG's training data;
    - a question {question, answers, passages}. Its passages are relevant if they contain an answer, or with a gold
      `page`, if they have that title.

    Raises InputError for an invalid line and for data without passages.
    """
    found: dict[tuple[str, str], Asked] = {}
    for path in paths:
        try:
            lines = path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")
        except OSError as error:
            raise InputError(f"Cannot read {path}: {error.strerror}.") from error
        for number, line in enumerate(lines, start=1):
            where = f"{path}, line {number}"
            if line.strip():
                _add(found, _pair_row(line, where) if path.suffix == ".tsv" else _json_row(line, where), where)
    asked = [one for one in found.values() if one.candidates]
    if not asked:
        raise InputError(
            "The data has no questions with passages.",
            hint='Write lines like {"question": ..., "passage": ..., "label": 1} or '
            '{"question": ..., "answers": [...], "passages": [...]}.',
        )
    return asked


def without_titles(asked: Iterable[Asked]) -> list[Asked]:
    """Return the questions with the texts of their passages alone."""
    return [replace(one, candidates=[replace(c, title="") for c in one.candidates]) for one in asked]


def judgeable(asked: Iterable[Asked]) -> list[Asked]:
    """Return the questions with their labelled texts, without questions that have none."""
    known = [replace(one, candidates=[c for c in one.candidates if c.relevant is not None]) for one in asked]
    return [one for one in known if one.candidates]


def _json_row(line: bytes, where: str) -> _Row:
    try:
        return _decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{where} is not a valid row: {str(error).replace('`$', '`row')}.") from error


def _pair_row(line: bytes, where: str) -> _Row:
    pair, tab, label = line.decode("utf-8", "replace").rpartition("\t")
    question, mark, passage = pair.partition(" [SEP] ")
    if not (tab and mark and label.strip() in ("0", "1")):
        raise InputError(f"{where} is not `question [SEP] passage`, a tab, and 1 or 0.")
    return _Row(question, passage=passage, label=float(label))


def _add(found: dict[tuple[str, str], Asked], row: _Row, where: str) -> None:
    if not row.question.strip():
        raise InputError(f"{where} has an empty question.")
    # An equal question with other passages may mean something else.
    asked = found.setdefault((row.question, "" if row.passages is None else where), Asked(row.question))
    asked.facts = asked.facts or gold_facts(row.answers or [])
    pair = row.text if row.passage is None else row.passage
    if pair is not None:
        asked.candidates.append(_pair(row, pair, where))
    for passage in row.passages or ():
        title, text = ("", passage) if isinstance(passage, str) else (passage.title or "", passage.text)
        candidate = Candidate(text, title=title)
        if row.page is not None:
            candidate.relevant = bool(candidate.text) and title.strip().lower() == row.page.strip().lower()
        elif asked.facts:
            candidate.relevant = contains_answer(candidate.text, asked.answers)
        asked.candidates.append(candidate)


def _pair(row: _Row, pair: Any, where: str) -> Candidate:
    title, text = (row.title, pair) if isinstance(pair, str) else (pair.title or row.title, pair.text)
    if row.label is None and row.score is None:
        raise InputError(
            f"{where} has neither a `label` nor a `score`.", hint="Add `label`: 1 for relevant, -1 for not relevant."
        )
    if row.label not in (None, 1, 0, -1):
        raise InputError(
            f"{where} has the label {row.label:g}, but labels are 1 (relevant), 0 or -1 (not relevant).",
            hint="Use `score` for values between -1 and 1.",
        )
    if row.score is not None and not -1 <= row.score <= 1:
        raise InputError(f"{where} has the score {row.score}, but scores are from -1 to 1.")
    relevant = None if row.label is None else row.label > 0 and bool(text.strip())
    return Candidate(text, relevant, row.score, title or "")
