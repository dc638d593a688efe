"""The questions of runs as page data: a searchable index, and compressed chunks that load when needed."""

from __future__ import annotations

import base64
import gzip
import math
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import msgspec

from robust_qa.cli import from_json
from robust_qa.kit import printable
from rqa_eval.report.runs import Run

from ..rows import Row, Rows

_CHUNK = 50  # questions in a compressed chunk
_MAX_TEXT = 4000  # characters of a text

_Member = tuple[int, str]  # index of a run, strategy
_Place = dict[int, int]  # row number by index of a run
_FIELDS = ("reason", "confidence", "citations", "conflicts", "usage", "seconds", "trace", "error")


def questions(runs: Sequence[Run], size: float) -> Iterator[str]:
    """Yield the data of the questions as inert script elements. Runs with the same question share an entry.

    The strategies of all runs are the members of the page. The index has the answer and the mark of each member.
    The data of more than `size` characters lacks questions, and says so.
    """
    members = [(n, name) for n, run in enumerate(runs) for name in run.answered]
    groups: dict[str, int] = {}
    index: list[Any] = []
    with ExitStack() as stack:
        rows_of = [stack.enter_context(Rows(run)) for run in runs]
        places = _places(rows_of, by_condition=any(len(run.plan.conditions) > 1 for run in runs))
        kept = _kept(runs, members, rows_of, places, size)
        for first in range(0, len(kept), _CHUNK):
            details = []
            for place in kept[first : first + _CHUNK]:
                found = _found(rows_of, places[place])
                index.append(_entry(runs, members, found, groups))
                details.append(_details(runs, members, found))
            yield _compressed(f"chunk{first // _CHUNK}", details)
    about = {
        "members": [f"{runs[n].name}: {name}" if len(runs) > 1 else name for n, name in members],
        "metric": runs[0].correctness,
        "groups": list(groups),
        "chunk": _CHUNK,
        "questions": index,
        "numbers": [place + 1 for place in kept],
        "left": f"{len(kept):,} of {len(places):,} questions are here: first those that failed, then those on which "
        "strategies differ, then others at random. All are in questions.jsonl and answers, in the folder of the run. "
        "`rqa report` with --max-size 0 writes a page of all."
        if len(kept) < len(places)
        else "",
    }
    yield _compressed("index", about)


def _kept(
    runs: Sequence[Run], members: Sequence[_Member], rows_of: Sequence[Rows], places: Sequence[_Place], size: float
) -> Sequence[int]:
    """Return the questions whose data fits into `size` characters, those first that a reader will look for."""
    if size == math.inf:
        return range(len(places))

    def rank(place: int) -> tuple[int, int]:
        marks = set(_entry(runs, members, _found(rows_of, places[place]), {})[4])
        notable = ("failed" in marks, len(marks) > 1, marks != {1}, True)
        return notable.index(True), zlib.crc32(str(place).encode())

    kept = []
    for place in sorted(range(len(places)), key=rank):
        found = _found(rows_of, places[place])
        size -= len(_compressed("", [_entry(runs, members, found, {}), _details(runs, members, found)]))
        if size < 0:
            break
        kept.append(place)
    return sorted(kept)


def _found(rows_of: Sequence[Rows], place: _Place) -> dict[int, Row]:
    return {run: rows_of[run][number] for run, number in place.items()}


def _places(rows_of: Sequence[Rows], *, by_condition: bool) -> list[_Place]:
    """Return for each question its row number in each run. `by_condition`: a run asks it under several."""
    found: dict[tuple[str | int, ...], dict[int, int]] = {}
    for run, rows in enumerate(rows_of):
        times: Counter[tuple[str, ...]] = Counter()  # a set may repeat a question
        for number in range(1, len(rows) + 1):
            asked = rows.asked(number)
            key = (asked.set, asked.condition if by_condition else "", asked.id, asked.question)
            found.setdefault((*key, times[key]), {})[run] = number
            times[key] += 1
    return list(found.values())


def _entry(
    runs: Sequence[Run], members: Sequence[_Member], found: Mapping[int, Row], groups: dict[str, int]
) -> list[Any]:
    """Return the entry for the list and the search. A mark is a score, "unanswered", "failed", "undefined" or null."""
    asked = next(iter(found.values())).asked
    names = [("set", asked.set), *(("condition", row.asked.condition) for row in found.values())]
    names += [(view, name) for row in found.values() for view, named in row.scored.slices.items() for name in named]
    numbers = {groups.setdefault(f"{view}: {name}", len(groups)) for view, name in names if name}
    marks: list[float | str | None] = []
    answers: list[str | None] = []
    for run, strategy in members:
        row = found.get(run)
        line = row.answers.get(strategy) if row else None
        answer = line.get("answer") if line else None
        answers.append(answer[:_MAX_TEXT] if isinstance(answer, str) else None)
        if row is None or line is None:
            marks.append(None)
        elif line.get("error"):
            marks.append("failed")
        else:
            mark = row.scored.scores.get(strategy, {}).get(runs[run].correctness)
            unanswered = answer is None and mark == 0
            marks.append("undefined" if mark is None else "unanswered" if unanswered else round(mark, 4))
    gold = [" / ".join(fact) for fact in asked.gold]
    return [asked.id, asked.question[:_MAX_TEXT], gold, sorted(numbers), marks, answers]


def _details(runs: Sequence[Run], members: Sequence[_Member], found: Mapping[int, Row]) -> dict[str, Any]:
    """Return the details of a question for when it is opened. `answers` is by member."""
    return {
        "given": _given(runs, found),
        "answers": [_answer(found[run], strategy) if run in found else None for run, strategy in members],
    }


def _given(runs: Sequence[Run], found: Mapping[int, Row]) -> list[dict[str, Any]]:
    """Return the passages and the planted answer, for each run where runs differ."""
    named: dict[Any, list[str]] = {}
    for run, row in found.items():
        given = tuple(row.asked.passages or ()), frozenset(row.asked.planted), row.asked.fake_answer
        named.setdefault(given, []).append(runs[run].name)
    return [
        {
            "runs": ", ".join(names) if len(named) > 1 else "",
            "passages": [{**msgspec.to_builtins(one), "planted": n in planted} for n, one in enumerate(passages)],
            "fake": fake if planted else None,
        }
        for (passages, planted, fake), names in named.items()
    ]


def _answer(row: Row, strategy: str) -> dict[str, Any] | None:
    line = row.answers.get(strategy)
    if line is None:
        return None
    scores = row.scored.scores.get(strategy, {})
    kept = {name: line[name] for name in _FIELDS if line.get(name) not in (None, "", [], {})}
    guess = from_json(line).lead if line.get("best_guess") else ""
    kept |= {"probable": guess} if guess.startswith("Probably: ") else {}
    return {"answer": line.get("answer"), "scores": {k: v for k, v in scores.items() if v is not None}, **kept}


def _compressed(name: str, data: Any) -> str:
    """Return compressed JSON as Base64, which cannot end the script element."""
    packed = gzip.compress(msgspec.json.encode(_printable(data)), compresslevel=5, mtime=0)
    return f'<script type="text/plain" id="{name}">{base64.b64encode(packed).decode()}</script>\n'


def _printable(data: Any) -> Any:
    """Return the data with every text printable and cut to the maximum length."""
    if isinstance(data, str):
        text = printable(data)
        return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}… ({len(text) - _MAX_TEXT:,} characters more)"
    if isinstance(data, dict):
        return {_printable(str(key)): _printable(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_printable(value) for value in data]
    return data
