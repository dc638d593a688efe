"""Prepare the questions of a run: sample them, retrieve their passages, apply the conditions."""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from robust_qa import InputError, Passage, Question
from robust_qa.answering import Session
from rqa_rows import unread_passages

from . import items
from .conditions import Condition, PreparedQuestion
from .fakes import with_fakes
from .items import Item
from .sets import read_set


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """The questions to ask from a file, and its description in run.json."""

    name: str
    items: list[Item]
    about: dict[str, Any]


def read_sets(
    paths: Sequence[Path],
    layout: str | None,
    *,
    sample: int | None,
    seed: int,
    negative: bool = False,
    fakes: bool = False,
) -> list[QuestionSet]:
    """Read the sets, each reduced to `sample` random questions in their order.

    Raises InputError like `read_set`, and for a set without any gold answer.

    `negative` replaces the passages of a question by its negative passages, if it has any. `fakes` gives each question
    a fake answer, drawn from the whole set so that it does not depend on the sample.
    """
    sets: list[QuestionSet] = []
    for path in paths:
        questions, found = read_set(path, layout)
        if not any(one.gold or one.relevant or one.unanswerable for one in questions):
            fields = ", ".join(f"`{field}`" for field in questions[0].rest)
            raise InputError(
                f"No question in {path} has a gold answer, so nothing can be measured."
                + (f" Other fields are {fields}." if fields else ""),
                hint="Name the field with the right answers `answers`, see rqa-eval(1). `rqa batch` needs none.",
            )
        full_path = path.resolve()
        name = _unique(full_path.stem, [known.name for known in sets])
        about: dict[str, Any] = {"name": name, "path": str(full_path), "sha256": _digest(path), "format": found}
        about["rows"] = len(questions)
        if fakes:
            questions = with_fakes(questions, seed)
        if sample is not None and sample < len(questions):
            drawn = random.Random(f"{seed} {name}").sample(range(len(questions)), sample)
            questions = [questions[place] for place in sorted(drawn)]
        if negative:
            questions = [replace(one, passages=one.pools.get("negative_passages", one.passages)) for one in questions]
        sets.append(QuestionSet(name, questions, about | {"sampled": len(questions)}))
    return sets


def remarks(one: QuestionSet) -> Iterator[str]:
    """Name the sample, and the field with the gold answers. Warn if passages seem to have another name."""
    about = one.about
    if about["sampled"] < about["rows"]:
        yield f"{one.name}: {about['sampled']:,} of {about['rows']:,} rows, drawn by --seed; `source_row` names each"
    if columns := {f"`{item.gold_column}`" for item in one.items if item.gold} - {"`answers`"}:
        yield f"{one.name}: the gold answers are in {', '.join(sorted(columns))}"
    if not any(item.passages is not None for item in one.items) and (warning := unread_passages(one.items[0].rest)):
        yield f"{one.name}: {warning}"


def _unique(name: str, taken: Sequence[str]) -> str:
    numbered = (name if n == 1 else f"{name}-{n}" for n in range(1, len(taken) + 2))
    return next(candidate for candidate in numbered if candidate not in taken)


def _digest(path: Path) -> str:
    content = hashlib.sha256()
    for file in sorted([*path.glob("*.jsonl"), *path.glob("qrels/*.tsv")]) if path.is_dir() else [path]:
        content.update(file.read_bytes())
    return content.hexdigest()


async def with_passages(session: Session, questions: Sequence[Item], *, jobs: int) -> list[Item]:
    """Return the questions with the passages that the configured retriever finds for them.

    Without a retriever the questions keep their own passages, if any. Raises CallError if a retrieval fails.
    """
    limit = asyncio.Semaphore(jobs)

    async def retrieve(item: Item) -> Item:
        async with limit:
            own = None if item.passages is None else tuple(map(passage_of, item.passages))
            toolbox = session.toolbox_for(Question(item.question, item.id, own))
            if toolbox.retriever is None:
                return item
            found = await toolbox.retrieve()
            return replace(item, passages=[items.passage(asdict(passage)) for passage in found])

    retrieved: list[Item] = []
    for start in range(0, len(questions), 8 * jobs):
        retrieved += await asyncio.gather(*map(retrieve, questions[start : start + 8 * jobs]))
    return retrieved


def passage_of(row: Mapping[str, Any]) -> Passage:
    """Return the Passage of a row."""
    return Passage(**items.passage(row))


def lines(sets: Sequence[QuestionSet], conditions: Sequence[Condition], *, seed: int) -> Iterator[str]:
    """Yield the lines of questions.jsonl: each question of each set under each condition."""
    for one in sets:
        for condition in conditions:
            for item in one.items:
                asked = condition.apply(item, seed=f"{seed} {one.name} {item.number}")
                yield json.dumps(_row(asked, one.name, condition.name), ensure_ascii=False) + "\n"


def _row(asked: PreparedQuestion, name: str, condition: str) -> dict[str, Any]:
    item = asked.item
    row: dict[str, Any] = {"id": item.id} if item.id else {}
    row |= {"set": name, "condition": condition, "source_row": item.number, "question": item.question}
    row["gold"] = item.gold
    if item.unanswerable:
        row["unanswerable"] = True
    if item.fake_answer:
        row["fake_answer"] = item.fake_answer
    if item.fake_source:
        row["fake_source"] = item.fake_source
    if item.relevant:
        row["relevant"] = item.relevant
    if asked.repetition:
        row["repetition"] = asked.repetition
    if asked.planted:
        row |= {"attack": asked.attack, "planted": asked.planted}
    if item.rest:
        row["fields"] = item.rest
    if asked.passages is not None:
        row["passages"] = asked.passages
    return row
