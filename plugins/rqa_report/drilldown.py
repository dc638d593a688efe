"""The questions of runs for a page: an index to search, and the rest packed, to be unpacked as it is opened."""

from __future__ import annotations

import base64
import gzip
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import msgspec

from robust_qa.kit import printable

from .rows import Row, Rows
from .runs import Run

_CHUNK = 50  # questions that are unpacked together
_LONGEST = 4000  # characters of a text that the page keeps
_DEEPEST = 20  # levels of data within data

_Member = tuple[int, str]  # a run's position, and a strategy of it
_FIELDS = ("reason", "confidence", "citations", "conflicts", "usage", "seconds", "trace", "error")


def questions(runs: Sequence[Run]) -> Iterator[str]:
    """The data of the questions, as inert script elements. A question that several runs asked stands there once.

    The strategies of each run are the members of the page; the index has each one's answer and verdict.
    """
    members = [(n, name) for n, run in enumerate(runs) for name in run.answered]
    groups: dict[str, int] = {}
    index: list[Any] = []
    with ExitStack() as stack:
        opened = [stack.enter_context(Rows(run)) for run in runs]
        places = _places(opened)
        for first in range(0, len(places), _CHUNK):
            details = []
            for place in places[first : first + _CHUNK]:
                found = {run: opened[run][number] for run, number in place.items()}
                index.append(_entry(runs, members, found, groups))
                details.append(_details(runs, members, found))
            yield _packed(f"chunk{first // _CHUNK}", details)
    about = {
        "members": [f"{runs[n].name}: {name}" if len(runs) > 1 else name for n, name in members],
        "metric": runs[0].verdict,
        "groups": list(groups),
        "chunk": _CHUNK,
        "questions": index,
    }
    yield _packed("index", about)


def _places(opened: Sequence[Rows]) -> list[dict[int, int]]:
    """For each question, the runs that asked it, and which row it is in each."""
    found: dict[tuple[str | int, ...], dict[int, int]] = {}
    for run, rows in enumerate(opened):
        times: Counter[tuple[str, ...]] = Counter()  # a set may ask the same twice
        for number in range(1, len(rows) + 1):
            asked = rows.asked(number)
            key = (asked.set, asked.condition, asked.id, asked.question)
            found.setdefault((*key, times[key]), {})[run] = number
            times[key] += 1
    return list(found.values())


def _entry(
    runs: Sequence[Run], members: Sequence[_Member], found: Mapping[int, Row], groups: dict[str, int]
) -> list[Any]:
    """What the list shows and the search looks through: a mark is a score, "failed", "undefined" or null."""
    asked = next(iter(found.values())).asked
    names = [("set", asked.set), ("condition", asked.condition)]
    names += [(view, name) for row in found.values() for view, named in row.scored.slices.items() for name in named]
    numbers = {groups.setdefault(f"{view}: {name}", len(groups)) for view, name in names if name}
    marks: list[float | str | None] = []
    answers: list[str | None] = []
    for run, strategy in members:
        row = found.get(run)
        line = row.answers.get(strategy) if row else None
        answer = line.get("answer") if line else None
        answers.append(answer[:_LONGEST] if isinstance(answer, str) else None)
        if row is None or line is None:
            marks.append(None)
        elif "error" in line:
            marks.append("failed")
        else:
            mark = row.scored.scores.get(strategy, {}).get(runs[run].verdict)
            marks.append("undefined" if mark is None else round(mark, 4))
    gold = [" / ".join(fact) for fact in asked.gold]
    return [asked.id, asked.question[:_LONGEST], gold, sorted(numbers), marks, answers]


def _details(runs: Sequence[Run], members: Sequence[_Member], found: Mapping[int, Row]) -> dict[str, Any]:
    """What an opened question shows beside its entry; `answers` by member."""
    return {
        "given": _given(runs, found),
        "answers": [_answer(found[run], strategy) if run in found else None for run, strategy in members],
    }


def _given(runs: Sequence[Run], found: Mapping[int, Row]) -> list[dict[str, Any]]:
    """The passages and the planted answer; where runs differ in them those of each, named by `runs`."""
    named: dict[Any, list[str]] = {}
    for run, row in found.items():
        given = tuple(row.asked.passages or ()), frozenset(row.asked.planted), row.asked.fake_answer
        named.setdefault(given, []).append(runs[run].name)
    return [
        {
            "runs": ", ".join(names) if len(named) > 1 else "",
            "passages": [{**msgspec.to_builtins(one), "planted": n in planted} for n, one in enumerate(passages)],
            "fake": fake if planted else None,  # a set may bring one for attacks that this run did not make
        }
        for (passages, planted, fake), names in named.items()
    ]


def _answer(row: Row, strategy: str) -> dict[str, Any] | None:
    line = row.answers.get(strategy)
    if line is None:
        return None
    scores = row.scored.scores.get(strategy, {})
    kept = {name: line[name] for name in _FIELDS if line.get(name) not in (None, "", [], {})}
    return {"answer": line.get("answer"), "scores": {k: v for k, v in scores.items() if v is not None}, **kept}


def _packed(name: str, data: Any) -> str:
    """JSON, compressed, in letters that cannot end the element."""
    packed = gzip.compress(msgspec.json.encode(_harmless(data)), compresslevel=5, mtime=0)
    return f'<script type="text/plain" id="{name}">{base64.b64encode(packed).decode()}</script>\n'


def _harmless(data: Any, depth: int = 0) -> Any:
    """The data with every text printable, and none of it endless."""
    if depth > _DEEPEST:
        return "…"
    if isinstance(data, str):
        text = printable(data)
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text) - _LONGEST:,} characters more)"
    if isinstance(data, dict):
        return {_harmless(str(key)): _harmless(value, depth + 1) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_harmless(value, depth + 1) for value in data]
    return data
